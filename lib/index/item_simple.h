/*
 * item_simple.h - simple items, which most items are: a head, the key and the value, and no other
 * field.
 *
 * Shape:  a simple item has no optional field and no chunks; its key begins at body, and its value
 *         follows the key.
 *
 * Thread: pure functions of an item that the caller may read.
 */
#ifndef CLOCKOO_ITEM_SIMPLE_H
#define CLOCKOO_ITEM_SIMPLE_H

#include "item.h"

struct item_lengths {
	uint32_t key_len, value_len;
};

static inline bool
item_is_simple(const struct item *it)
{
	const uint32_t fields = ITEM_HAS_FLAGS | ITEM_HAS_EXPIRY | ITEM_HAS_LONG | ITEM_IS_CHUNKED;

	return (it->cas_form & fields) == 0;
}

/* Returns the lengths of a simple item. */
static inline struct item_lengths
item_simple_lengths(const struct item *it)
{
	/* Relaxed: lengths never change, and nothing is read through a status bit. */
	const uint32_t head = atomic_load_explicit(&it->head, memory_order_relaxed);

	return (struct item_lengths){head & 0xff, head >> 8 & (ITEM_PIN_MIN_BYTES - 1)};
}

/* Makes a simple item in the caller's memory, to be read as the store's items are, but never
 * stored: it belongs to no class. The caller writes key and value into its body. */
static inline struct item *
item_simple_make(void *memory, struct item_lengths lengths)
{
	struct item *it = memory;

	/* Relaxed: no other core sees the item yet. */
	atomic_store_explicit(&it->head, lengths.value_len << 8 | lengths.key_len,
			      memory_order_relaxed);
	it->cas_form = 0;
	return it;
}

#endif

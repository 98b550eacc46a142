/*
 * memory.h - objects for new items.
 *
 * Thread: the core named.
 *
 * Errors: NULL: no memory; memory_is_coming says whether to wait.
 */
#ifndef CLOCKOO_MEMORY_H
#define CLOCKOO_MEMORY_H

#include "store_state.h"

/* An item with its header, key and chunks, its value unwritten. */
struct item *item_new(struct store_core *sc, struct view key, uint32_t value_len, uint32_t form);

/* Makes an item without optional fields, if this core's magazine has an object for it; else NULL.
 * *class: the class of that object. */
static inline struct item *
item_new_fast(struct store_core *sc, struct view key, uint32_t value_len, uint32_t *class)
{
	const uint32_t bytes = (uint32_t)sizeof(struct item) + key.len + value_len;

	if (unlikely(value_len > ITEM_LEN_MAX))
		return NULL;
	*class = slab_class_for(&sc->store->slab, bytes);

	struct magazine *m = &sc->magazines[*class];
	const uint32_t count = magazine_count(m);

	if (unlikely(count == 0))
		return NULL;
	magazine_set(m, count - 1);

	struct item *it = item_at(sc->store, m->ref[count - 1]);

	item_set_head(it, 0, value_len, key.len);
	it->cas_form = 0;
	bytes_copy(it->body, key.data, key.len);
	return it;
}

/* Evicts ahead of need, once in each turn in which this core retired something. */
void memory_turn(struct store_core *sc);
/* True if, after item_new failed, some turns will bring more memory. */
bool memory_is_coming(const struct store_core *sc, uint32_t bytes);
/* Returns the number of chunks that fit into all memory, less the index, the reserve and a page or
 * two. */
uint32_t memory_chunks_max(const struct store_core *sc);
/* Bytes of the item's first object, as item_new takes it. */
uint32_t item_first_bytes(uint32_t form, uint32_t key_len, uint32_t value_len);

#endif

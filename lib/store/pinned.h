/*
 * pinned.h - a list of retired items that replies still send.
 *
 * Thread: the core named.
 */
#ifndef CLOCKOO_PINNED_H
#define CLOCKOO_PINNED_H

#include "store_state.h"

/* True if a pin keeps the item's memory beyond its grace period. */
static inline bool
item_pinned(const struct item *it)
{
	/* Acquire: pairs with the release in store_unpin. An item is pinned only while it can be
	 * found, or by a core that holds another pin of it. So after the grace period a count of 0
	 * is final. */
	return (item_form(it) & ITEM_HAS_LONG) != 0 &&
	       atomic_load_explicit(item_pins_at(it), memory_order_acquire) != 0;
}

/* Takes a pinned item from the retire list at the end of its grace period. */
void pinned_put(struct store_core *sc, struct item *it, uint32_t ref);
/* True if pins hold so much memory that large values must wait until some end. Without that wait a
 * large value would evict the items that replies still send, which frees nothing, and then all
 * others. */
bool pinned_are_many(const struct store *st);
/* Visits some pinned items, and frees those whose last pin has ended. */
void pinned_turn(struct store_core *sc);

#endif

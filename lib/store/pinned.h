/*
 * pinned.h - retired items that somebody is still sent.
 *
 * Private to lib/store; see pinned.c.
 *
 * Thread: as store.h.
 */
#ifndef CLOCKOO_PINNED_H
#define CLOCKOO_PINNED_H

#include "store_state.h"

/* May its memory not be used yet, though all cores have turned? */
static inline bool
item_pinned(const struct item *it)
{
	/* Acquire: pairs with the release in store_unpin. A pin is taken while the item can
	 * still be found, so after the grace period the count can only fall. */
	return (item_form(it) & ITEM_HAS_LONG) != 0 &&
	       atomic_load_explicit(item_pins_at(it), memory_order_acquire) != 0;
}

/* Past its grace period, out of the retire list, and pinned. */
void pinned_put(struct store_core *sc, struct item *it, uint32_t ref);
/* Give back some of those that nobody pins any more. */
void pinned_turn(struct store_core *sc);

#endif

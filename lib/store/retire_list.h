/*
 * retire_list.h - retired items wait for their grace period.
 *
 * Thread: the core named.
 *
 * Bounds: RETIRE_LIST_MAX items a core.
 */
#ifndef CLOCKOO_RETIRE_LIST_H
#define CLOCKOO_RETIRE_LIST_H

#include "store_state.h"

/* Is there space for so many items, if need be after a reclaim? */
bool retire_list_has_space(struct store_core *sc, uint32_t items);
void retire_list_add(struct store_core *sc, struct item *it);
/* The same for one that is not chunked. */
void retire_list_add_unchunked(struct store_core *sc, uint32_t ref);
/* Free the items whose grace period is over, RETIRE_LIST_SLICE at most. */
void retire_list_reclaim(struct store_core *sc);
/* Add this core's retired objects to the shared counts of classes: once a turn, and before those
 * are read. */
void retire_list_publish(struct store_core *sc);

/* Retired objects of a class, as this core sees it. */
static inline uint32_t
retire_list_waiting(const struct store_core *sc, uint32_t class)
{
	const uint32_t published = atomic_load_explicit(
		&sc->store->slab.classes[class].retired_count, memory_order_relaxed);

	return published + (class == sc->unpublished_class ? sc->unpublished : 0);
}

#endif

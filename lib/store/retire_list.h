/*
 * retire_list.h - keeps retired items for their grace period.
 *
 * Thread: the core named.
 *
 * Bounds: RETIRE_LIST_MAX items a core.
 */
#ifndef CLOCKOO_RETIRE_LIST_H
#define CLOCKOO_RETIRE_LIST_H

#include "store_state.h"

static inline uint32_t
retire_list_used(const struct retire_list *list)
{
	return list->tail - list->head;
}

/* Frees retired items until there is space for this many. False: there is still too little. */
bool retire_list_make_space(struct store_core *sc, uint32_t items);

/* True if there is space for this many items, after a reclaim if necessary. */
static inline bool
retire_list_has_space(struct store_core *sc, uint32_t items)
{
	return likely(retire_list_used(&sc->retire_list) + items <= RETIRE_LIST_MAX) ||
	       retire_list_make_space(sc, items);
}

void retire_list_add(struct store_core *sc, struct item *it);
/* Adds an item of the class that has no chunks and no pins. */
void retire_list_add_plain(struct store_core *sc, uint32_t ref, uint32_t class);
/* Frees the items whose grace period is over, RETIRE_LIST_SLICE at most. */
void retire_list_reclaim(struct store_core *sc);
/* Adds this core's retired objects to the shared counts of classes. Called once a turn, and before
 * those counts are read. */
void retire_list_publish(struct store_core *sc);

/* Returns the number of retired objects of a class: those published, and those that this core has
 * not published yet. */
static inline uint32_t
retire_list_waiting(const struct store_core *sc, uint32_t class)
{
	const uint32_t published = atomic_load_explicit(
		&sc->store->slab.classes[class].retired_count, memory_order_relaxed);

	return published + (class == sc->unpublished_class ? sc->unpublished : 0);
}

#endif

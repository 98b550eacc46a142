/*
 * leaving.h - items that wait in memory until the tier has copied them.
 *
 * An eviction to a tier is a copy, and the tier limits what a core copies in a turn (tier.h).
 * Further items wait in a ring, and are offered in the order in which they were named. They stay in
 * the index, so clients read, write and delete them as before. An item with an open offer is
 * pinned. Once its copy is complete, it becomes the tier's and leaves the index under one lock. A
 * set that needs the memory waits, as it does for a grace period. The design is
 * lib/flash/LEAVING.md.
 *
 * Thread: the core named.
 * Errors: an item that has changed, moved or left the index leaves the ring, and stays as it is.
 * Bounds: STORE_LEAVING_MAX items a core. An item that finds the ring full is skipped until the
 *         hand's next round or the evacuation's next turn.
 */
#ifndef CLOCKOO_LEAVING_H
#define CLOCKOO_LEAVING_H

#include "unlink.h"

/* Returns how many more items the ring has space for. */
static inline uint32_t
leaving_space(const struct store_core *sc)
{
	return STORE_LEAVING_MAX - sc->leaving.count;
}

/* Notes that a set waits for memory, if any core's items wait. Returns whether they do. */
static inline bool
leaving_note_need(struct store *st)
{
	if (atomic_load_explicit(&st->leaving, memory_order_relaxed) == 0)
		return false;
	atomic_store_explicit(&st->leaving_needed, epoch_now(&st->epoch), memory_order_relaxed);
	return true;
}

/* Adds the item of a victim, unless it waits already or the ring is full. offer: the item's open
 * offer, which it has only if the ring was empty; otherwise 0. */
void leaving_add(struct store_core *sc, const struct victim *v, enum ghost ghost, uint64_t offer);
/* Ends the open offers without entries. Their items stay in the ring. Called without a lock. */
void leaving_pause(struct store_core *sc);

#endif

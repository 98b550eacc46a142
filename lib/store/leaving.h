/*
 * leaving.h - items that wait in memory until the tier has copied them.
 *
 * To evict an item to a tier is to copy it, and the tier limits how much a core copies in a turn
 * (tier.h). Items beyond the limit wait in a ring, and are offered in the order in which they were
 * chosen. They stay in the index, so clients read, write and delete them as before. An item with an
 * open offer is pinned. Once its copy is complete, it passes to the tier and leaves the index under
 * one lock. A set that needs its memory waits as for a grace period. The design is
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

/* Returns whether items of any core wait for the tier. If so, notes that a set waits for their
 * memory. */
static inline bool
leaving_note_need(struct store *st)
{
	if (atomic_load_explicit(&st->leaving, memory_order_relaxed) == 0)
		return false;
	atomic_store_explicit(&st->leaving_needed, epoch_now(&st->epoch), memory_order_relaxed);
	return true;
}

/* Adds a victim's item, unless it is in the ring already or the ring is full. offer: the item's
 * open offer, or 0. Only an item that finds the ring empty has one. */
void leaving_add(struct store_core *sc, const struct victim *v, enum ghost ghost, uint64_t offer);
/* Withdraws the open offers. Their items stay in the ring. Called without a lock. */
void leaving_pause(struct store_core *sc);

#endif

/*
 * unlink.h - takes items out of the index.
 *
 * Thread: the core named. "Under the lock": the lock of the bucket concerned.
 *
 * Errors: a retire list without space leaves a tombstone (index.h), so nothing here fails.
 */
#ifndef CLOCKOO_UNLINK_H
#define CLOCKOO_UNLINK_H

#include "account.h"
#include "store_state.h"

/* Takes out and retires the item in the slot. Under the lock. */
void unlink_spot(struct store_core *sc, struct spot spot, enum unlink_reason why);
/* Retires the tombstone in the slot. Under the lock; the retire list must have space for it. */
void unlink_tombstone(struct store_core *sc, struct bucket *b, uint32_t slot);
/* Raises the floor, so that new items with this tag get higher numbers. Called under the lock,
 * before an item with this cas is removed. */
void floor_raise(struct store *st, uint16_t tag, uint64_t cas);

enum unlinked {
	/* The item is not in the index any more, or the retire list has no space. */
	UNLINKED_NOT,
	UNLINKED_RETIRED, /* out of the index; waits on the retire list */
	/* Out of the index; waits together with its page (slab_evacuate_retired). */
	UNLINKED_WITH_PAGE,
	/* Stays in the index until the tier takes it in a later turn (leaving.h). */
	UNLINKED_LATER,
};

/* An object whose item is to leave the index, and the place where the item was found. */
struct victim {
	uint64_t hash;   /* hash of the item's key */
	uint32_t ref;    /* the item: the object itself, or the item whose chunk it is */
	uint32_t bucket; /* the primary bucket, unless the item was found in the alternate one */
	uint16_t tag;    /* the item's tag in that bucket */
	uint16_t slot;   /* the item's slot there; 0 if it was not found */
	struct ghost_group *ghosts;
};

/* Most victims located together. A batch waits for memory a few times, not a few times for each
 * victim. */
#define VICTIMS_MAX 32u

/* Locates n objects, VICTIMS_MAX at most, and prefetches their buckets. */
void unlink_look(const struct store *st, const uint32_t *refs, uint32_t n, struct victim *victims);
/* Locates an item that was located in an earlier turn. False: it has left the index. */
bool unlink_look_again(const struct store *st, uint32_t ref, uint64_t hash, struct victim *victim);
/* Evicts a victim that was located in this turn, if it is still in the index. The item leaves a
 * ghost of this kind, and joins the departures or is counted. with_page: its page is being
 * evacuated. */
enum unlinked unlink_victim(struct store_core *sc, const struct victim *v, bool with_page,
			    enum ghost ghost, struct departures *d);

static inline bool
store_has_tombstones(const struct store *st)
{
	return atomic_load_explicit(&st->tombstones, memory_order_relaxed) != 0;
}

/* True if some memory becomes free only by the sweep: the memory of tombstones and, in a store that
 * never evicts, of flushed items. */
static inline bool
store_awaits_sweep(const struct store *st)
{
	const uint32_t oldest = atomic_load_explicit(&st->oldest_generation, memory_order_relaxed);

	return store_has_tombstones(st) || (st->never_evict && oldest != store_generation(st));
}

#endif

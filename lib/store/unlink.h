/*
 * unlink.h - items out of the index.
 *
 * Thread: the core named; "under the lock": of the bucket concerned.
 *
 * Errors: a retire list without space leaves a tombstone (index.h), so nothing here fails.
 */
#ifndef CLOCKOO_UNLINK_H
#define CLOCKOO_UNLINK_H

#include "account.h"
#include "store_state.h"

/* Under the lock: take out and retire the item in the slot. */
void unlink_spot(struct store_core *sc, struct spot spot, enum unlink_reason why);
/* Under the lock: retire the tombstone in the slot; the retire list has space for it. */
void unlink_tombstone(struct store_core *sc, struct bucket *b, uint32_t slot);
/* Under the lock, before an item with this cas is removed: new ones with this tag start above. */
void floor_raise(struct store *st, uint16_t tag, uint64_t cas);

enum unlinked {
	UNLINKED_NOT,       /* it was not in the index any more, or the retire list has no space */
	UNLINKED_RETIRED,   /* it waits on the retire list */
	UNLINKED_WITH_PAGE, /* it is to wait with its page (slab_evacuate_retired) */
	UNLINKED_LATER,     /* the tier takes it in a later turn (leaving.h); until then it stays */
};

/* An object that is to leave the index, and the bucket in which its item is looked for. */
struct victim {
	uint64_t hash;   /* of the item's key */
	uint32_t ref;    /* the item: the object itself, or that whose chunk it is */
	uint32_t bucket; /* the primary one, unless the item was not seen there */
	uint16_t tag;    /* in that bucket */
	uint16_t slot;   /* where it was seen there; 0 if it was not */
	struct ghost_group *ghosts;
};

/* Victims looked for together, so that memory is waited for a few times, not a few times each. */
#define VICTIMS_MAX 32u

/* Locates n objects, VICTIMS_MAX at most, and prefetches their buckets. */
void unlink_look(const struct store *st, const uint32_t *refs, uint32_t n, struct victim *victims);
/* Finds an item again that was looked for in an earlier turn. False: the index no longer has it. */
bool unlink_look_again(const struct store *st, uint32_t ref, uint64_t hash, struct victim *victim);
/* Evict the item of an object looked for in this turn, if it is still in the index; it leaves this
 * ghost, and joins the departures or is counted. with_page: its page is being evacuated. */
enum unlinked unlink_victim(struct store_core *sc, const struct victim *v, bool with_page,
			    enum ghost ghost, struct departures *d);

static inline bool
store_has_tombstones(const struct store *st)
{
	return atomic_load_explicit(&st->tombstones, memory_order_relaxed) != 0;
}

/* True if some memory is freed by the sweep alone: that of tombstones, and in a store that never
 * evicts that of flushed items, since no hand evicts them. */
static inline bool
store_awaits_sweep(const struct store *st)
{
	const uint32_t oldest = atomic_load_explicit(&st->oldest_generation, memory_order_relaxed);

	return store_has_tombstones(st) || (st->never_evict && oldest != store_generation(st));
}

#endif

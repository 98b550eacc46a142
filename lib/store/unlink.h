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
};

/* Evict the item that an object belongs to, if it is still in the index; it leaves this ghost.
 * with_page: the object's page is being evacuated. */
enum unlinked unlink_object(struct store_core *sc, uint32_t ref, bool with_page, enum ghost ghost);
/* Prefetch for unlink_object of the objects after number i; called for each of the n objects in
 * order. */
void unlink_prefetch(const struct store *st, const uint32_t *refs, uint32_t n, uint32_t i);

static inline bool
store_has_tombstones(const struct store *st)
{
	return atomic_load_explicit(&st->tombstones, memory_order_relaxed) != 0;
}

/* Is there memory that only the sweep frees? That of tombstones; in a store that never evicts also
 * that of flushed items, since no hand evicts them. */
static inline bool
store_awaits_sweep(const struct store *st)
{
	const uint32_t oldest = atomic_load_explicit(&st->oldest_generation, memory_order_relaxed);

	return store_has_tombstones(st) || (st->never_evict && oldest != store_generation(st));
}

#endif

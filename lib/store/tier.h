/*
 * tier.h - the calls between the store and a second tier (lib/flash/FLASH.md).
 *
 * A key is in the store or in the tier, never in both. The store reports to the tier: each item
 * that a hand or the evacuation of a page evicts, each key that a write finds without a slot, and
 * each flush. Items removed by the sweep, by expiry, by resizes and for full buckets are not
 * reported, and are lost.
 *
 * Shape:  a claim is the tier's decision about one key, between two calls under the key's locks.
 *
 * Units:  generation: the flush generation, which wraps. Items of another generation than the
 *         present one are dead.
 *
 * Owner:  the tier is the caller's, and outlives the store's last call; its table is not changed.
 *
 * Thread: the core named. "Under the lock": the lock of a bucket that every writer of the key
 *         needs. Such a function may take the tier's locks, which are never held while the store is
 *         called. It may call only functions of the store that read the item. A core makes one call
 *         at a time.
 *
 * Errors: a tier need not keep what it is offered. It must always be able to forget.
 *
 * Bounds: an offer is copied in the call that made it, or over several turns of that core
 *         (copying). Meanwhile the item stays in memory, readable, among STORE_LEAVING_MAX at most.
 *         The tier limits a core's open offers by answering STORE_OFFER_LATER. It may read an item
 *         only during a call, or while the item is pinned.
 */
#ifndef CLOCKOO_TIER_H
#define CLOCKOO_TIER_H

#include "store.h"

/* The tier postpones the item, which stays in memory and is offered again in a later turn. */
#define STORE_OFFER_LATER UINT64_MAX
#define STORE_LEAVING_MAX 256u

struct store_tier {
	void *arg;
	/* Offers a living item that is being evicted. Called without a lock. Returns an offer; 0:
	 * the tier does not want it; STORE_OFFER_LATER. */
	uint64_t (*evicting)(void *arg, struct store_core *sc, const struct item *it,
			     uint64_t hash);
	/* Copies a part of the item's value, or has another thread copy it; the value does not
	 * change. Called without a lock. True: the copy is complete, and evicted() follows in the
	 * same call of the store. False, possible only for values of at least ITEM_PIN_MIN_BYTES:
	 * the store pins the item, and calls again from store_evict_waiting(). By then the item may
	 * have left the index. */
	bool (*copying)(void *arg, struct store_core *sc, uint64_t offer, const struct item *it);
	/* Ends an offer. With an item: called under the lock, while the item is in its slot, alive
	 * and of this generation. From now on the tier has the item, with its present expiry and
	 * status; not if the tier has seen a later generation, or if the item's cas has changed
	 * since the offer. NULL: called without a lock; the tier does not get the item, and no
	 * longer reads its value. */
	void (*evicted)(void *arg, struct store_core *sc, uint64_t offer, const struct item *it,
			uint32_t generation);
	/* Makes the tier forget a key that has no slot: neither the tier nor one that recovers
	 * later finds a copy. Called under the lock, before a new version is published and before a
	 * write reports the key as absent. A caller that wants to change the tier's copy promotes
	 * it first. */
	void (*absent)(void *arg, struct store_core *sc, uint64_t hash, uint32_t generation);
	/* Reports that this generation has begun. Called under the flush lock. */
	void (*flushed)(void *arg, struct store_core *sc, uint32_t generation);
	/* Reports that a flush will be due at this second; 0: no longer. Called under the flush
	 * lock. May be NULL. */
	void (*due)(void *arg, uint32_t at_s);
};

/* Attaches the tier, once, before any core turns. The store must evict. */
void store_tier_attach(struct store *store, const struct store_tier *tier);

uint32_t
store_core_number(const struct store_core *sc); /* the core's number, less than config.cores */

/* Returns the status bits of an item (item.h), as store_promote takes them. */
static inline uint32_t
item_status(const struct item *it)
{
	return atomic_load_explicit(&it->head, memory_order_relaxed) & ITEM_STATUS_MASK;
}

/* ---- from the tier ---- */

struct store_claim {
	void *arg;
	/* True if the copy that was read is still the tier's, and of this generation. Called under
	 * the lock, if no slot has the key. If true, end() follows; the tier may hold its locks
	 * until then. */
	bool (*begin)(void *arg, struct store_core *sc, uint32_t generation);
	/* Makes the tier forget the copy, which the store has taken or dropped. Called under the
	 * same lock. */
	void (*end)(void *arg, struct store_core *sc);
};

struct store_promotion {
	uint64_t cas;
	uint32_t status; /* item_status */
	struct store_claim claim;
};

/* Publishes a copy of the tier: a fill with its flags, expiry and value. OK: *made is the item.
 * STORE_EXISTS: a slot has the key. STORE_NOT_FOUND: the copy was not claimed. STORE_NO_MEMORY. The
 * fill ends in every case. */
enum store_result store_promote(struct store_core *sc, struct fill *f,
				const struct store_promotion *promotion, const struct item **made);

/* Offers the items that wait, in order, until the tier postpones one. Called once a turn on a core
 * with a tier. */
void store_evict_waiting(struct store_core *sc);
/* True if a set on some core waits for memory that will be freed by items waiting for the tier, on
 * any core. */
bool store_evictions_needed(const struct store_core *sc);
/* Returns how many items of this core wait. While any do, the core should turn again soon. */
uint32_t store_evictions_wait(const struct store_core *sc);

/* Makes this core not evict the item with this hash, if it has a tier. The item is promoted for a
 * write, and must not be evicted for that write's memory. 0: no item is spared. */
void store_spare(struct store_core *sc, uint64_t hash);

/* Removes a key from the tier. claim: the copy that was read, which is deleted; NULL: the copy
 * could not be read, and absent() is called. Returns OK; STORE_EXISTS: a slot has the key, so the
 * tier has no copy; STORE_NOT_FOUND: the copy was not claimed. */
enum store_result store_shadow(struct store_core *sc, struct view key, uint64_t hash,
			       const struct store_claim *claim);

#endif

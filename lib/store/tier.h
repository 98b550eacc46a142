/*
 * tier.h - the calls between the store and a second tier (lib/flash/FLASH.md).
 *
 * A key is in the store or in the tier, never in both. The store reports to the tier each item that
 * a hand evicts or that leaves with its page, each key that a write finds without a slot, and each
 * flush. Items that sweeps, expiry, resizes and full buckets take out are forgotten: the tier gets
 * no call for them.
 *
 * Shape:  a claim is the tier's decision about one key, between two calls under the key's locks.
 *
 * Units:  generation: of flush; it wraps. Items of another generation than the present are dead.
 *
 * Owner:  the tier is the caller's, and outlives the store's last call; its table is not changed.
 *
 * Thread: the core named. "Under the lock": of a bucket that every writer of the key needs; the
 *         function may take locks of the tier's, which are never held while the store is called,
 *         and calls nothing of the store's but what reads the item. Never two of a core's at once.
 *
 * Errors: a tier may keep nothing of what it is offered; it never refuses to forget.
 *
 * Bounds: an offer is copied in the call that made it, or until a later turn of that core
 *         (copying); then the item waits in memory, readable, with STORE_LEAVING_MAX others at
 *         most. A core has as many open offers as the tier makes before it answers
 *         STORE_OFFER_LATER. An item is read in the call only, or while it is pinned.
 */
#ifndef CLOCKOO_TIER_H
#define CLOCKOO_TIER_H

#include "store.h"

/* The tier puts the item off: it stays in memory, and is offered again in a later turn. */
#define STORE_OFFER_LATER UINT64_MAX
#define STORE_LEAVING_MAX 256u

struct store_tier {
	void *arg;
	/* Without a lock: this item is evicted, which was alive. Returns an offer; 0: the item is
	 * not wanted; STORE_OFFER_LATER. */
	uint64_t (*evicting)(void *arg, struct store_core *sc, const struct item *it,
			     uint64_t hash);
	/* Without a lock: copies a part of the item's value, which does not change, or has it
	 * copied by another thread. True: the copy is whole, and evicted() follows in this call of
	 * the store. False: the store pins the item and calls again from store_evict_waiting(); the
	 * item may have left the index by then. Only for values of ITEM_PIN_MIN_BYTES or more. */
	bool (*copying)(void *arg, struct store_core *sc, uint64_t offer, const struct item *it);
	/* Ends an offer. Under the lock, with the item still in its slot, alive and of this
	 * generation: the tier has it from now on, with its present expiry and status; unless the
	 * tier has seen a later generation, or the item has another cas than when it was offered.
	 * NULL, without a lock: the item is not the tier's; its value is not read any more. */
	void (*evicted)(void *arg, struct store_core *sc, uint64_t offer, const struct item *it,
			uint32_t generation);
	/* Under the lock: no slot has the key. After the call the tier leads to no copy of it, nor
	 * does one that recovers. Called before a version is published, and before a write answers
	 * that the key is absent. So a caller that wants an effect on the tier's copy promotes it
	 * first. */
	void (*absent)(void *arg, struct store_core *sc, uint64_t hash, uint32_t generation);
	/* Under the lock of flushes: this generation has begun. */
	void (*flushed)(void *arg, struct store_core *sc, uint32_t generation);
	/* Under the lock of flushes: a flush will be due at this second; 0: none will. May be
	 * NULL. */
	void (*due)(void *arg, uint32_t at_s);
};

/* Attaches the tier, once, before any core turns. The store must evict. */
void store_tier_attach(struct store *store, const struct store_tier *tier);

uint32_t store_core_number(const struct store_core *sc); /* below config.cores */

/* The status bits (item.h), which store_promote takes back. */
static inline uint32_t
item_status(const struct item *it)
{
	return atomic_load_explicit(&it->head, memory_order_relaxed) & ITEM_STATUS_MASK;
}

/* ---- from the tier ---- */

struct store_claim {
	void *arg;
	/* Under the lock, if no slot has the key: true if the copy that was read is still the
	 * tier's, and of this generation. Then end() follows, and the tier's locks may be held
	 * until then. */
	bool (*begin)(void *arg, struct store_core *sc, uint32_t generation);
	/* Under the same lock: the copy is the store's, or is dropped; the tier forgets it. */
	void (*end)(void *arg, struct store_core *sc);
};

struct store_promotion {
	uint64_t cas;
	uint32_t status; /* item_status */
	struct store_claim claim;
};

/* Publishes a copy of the tier: a fill with its flags, expiry and value. OK, and *made is the item;
 * STORE_EXISTS: a slot has the key; STORE_NOT_FOUND: it was not claimed; STORE_NO_MEMORY. The fill
 * ends in every case. */
enum store_result store_promote(struct store_core *sc, struct fill *f,
				const struct store_promotion *promotion, const struct item **made);

/* Continues with the items that wait, until the tier postpones one. Once a turn of a core with a
 * tier. */
void store_evict_waiting(struct store_core *sc);
/* True if a set of any core waits for memory that items of any core have until they leave. */
bool store_evictions_needed(const struct store_core *sc);
/* Returns the number of this core's items that wait. The core's next turn comes soon if any do. */
uint32_t store_evictions_wait(const struct store_core *sc);

/* Makes this core's hands spare the item of this hash, if it has a tier: the item is promoted for a
 * write, which must not evict it for its own memory. 0: none. */
void store_spare(struct store_core *sc, uint64_t hash);

/* Removes all of the key from the tier: the copy that was read is deleted, or could not be read
 * (claim NULL: absent() is called). OK; STORE_EXISTS: a slot has the key, and so the tier has
 * nothing of it; STORE_NOT_FOUND: it was not claimed. */
enum store_result store_shadow(struct store_core *sc, struct view key, uint64_t hash,
			       const struct store_claim *claim);

#endif

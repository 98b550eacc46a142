/*
 * link.h - puts items into the index.
 *
 * Thread: the core named, which must not hold a bucket's lock.
 */
#ifndef CLOCKOO_LINK_H
#define CLOCKOO_LINK_H

#include "store_state.h"

struct rmw;

enum link_verdict {
	LINK_DONE,    /* published; the item is the store's */
	LINK_REFUSED, /* result says why; the item is still the caller's */
	LINK_CHANGED, /* another write came first; the item is still the caller's */
};

struct link {
	struct item *item;
	uint64_t hash;
	struct store_conditions conditions;
	const struct store_claim *claim; /* for a copy of the tier; NULL: a client writes */
	struct rmw
		*rmw; /* how the item is made from an old version; NULL: it is not made from one */
	/* With rmw: reference of the old version that the item was made from; 0: the item is made
	 * under the lock, from the version found there. */
	uint32_t expect;
	uint32_t status; /* status bits of the item (enum item_status) */
	/* Status bits to take over from the old version. Without rmw: ITEM_WON if the item is
	 * stored as stale, otherwise 0. */
	uint32_t inherit;
	uint32_t missing; /* optional fields that the item must have and lacks */
	enum store_result result;
	uint32_t generation; /* flush generation in which the old version was checked */
};

enum link_verdict link_item(struct store_core *sc, struct link *link);
/* Publishes a simple item of the class unconditionally, in a third of the instructions of
 * link_item. False: the case is not simple, and nothing was done. */
bool link_simple(struct store_core *sc, struct item *it, uint32_t class, uint64_t hash);

/* For a write whose key has no slot: claims the tier's copy if there is a claim, otherwise makes
 * the tier forget the key. Called under the key's lock. False: the copy was not claimed. */
static inline bool
tier_shadow(struct store_core *sc, uint64_t hash, uint32_t generation,
	    const struct store_claim *claim)
{
	if (claim != NULL)
		return claim->begin(claim->arg, sc, generation);
	sc->tier->absent(sc->tier->arg, sc, hash, generation);
	return true;
}

/* Makes the tier forget a key that a lookup missed. False: the key has been stored since. */
bool tier_shadow_missed(struct store_core *sc, struct view key, uint64_t hash);

/* ---- rmw.c ---- */

/* Reads the old version, makes the new one and links it. Starts again if another write
 * intervened. */
enum store_result rmw_run(struct store_core *sc, struct rmw *rm);

#endif

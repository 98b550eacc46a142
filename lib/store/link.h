/*
 * link.h - items into the index.
 *
 * Thread: the core named, which holds no bucket's lock.
 */
#ifndef CLOCKOO_LINK_H
#define CLOCKOO_LINK_H

#include "store_state.h"

struct rmw;

enum link_verdict {
	LINK_DONE,    /* published; the item is the store's */
	LINK_REFUSED, /* result says why; the item is still the caller's */
	LINK_CHANGED, /* another version came first; the item is still the caller's */
};

struct link {
	struct item *item;
	uint64_t hash;
	struct store_conditions conditions;
	const struct store_claim *claim; /* of a tier's copy; NULL: the write is a client's */
	struct rmw *rmw; /* how the item is made from an old version; NULL: from none */
	uint32_t expect; /* with rmw: reference of the version that the item was made from, and that
			  * it replaces; 0: it is made under the lock, from the version found */
	uint32_t status; /* status bits of the item (enum item_status) */
	uint32_t inherit; /* status bits taken from the old version; without rmw: ITEM_WON if the
			   * item is stored as stale, else 0 */
	uint32_t missing; /* optional fields that the item must have and lacks */
	enum store_result result;
	uint32_t generation; /* flush generation by which the old version was alive or dead */
};

enum link_verdict link_item(struct store_core *sc, struct link *link);
/* Publishes an unconditional set of a simple item of that class, in a third of the instructions of
 * link_item. False: the case is another one, and nothing was done. */
bool link_simple(struct store_core *sc, struct item *it, uint32_t class, uint64_t hash);

/* Under the lock of a key without a slot: the tier forgets it, or its copy is claimed. False: it
 * was not. */
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

/* Read the old version, make the new one, link it; from the start if another came first. */
enum store_result rmw_run(struct store_core *sc, struct rmw *rm);

#endif

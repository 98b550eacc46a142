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
	LINK_CHANGED, /* another version came first; likewise */
};

struct link {
	struct item *item;
	uint64_t hash;
	struct store_conditions conditions;
	struct rmw *rmw;  /* NULL, or the item is a new version of one that was there: */
	uint32_t expect;  /* of this very one; 0: of whichever there is, written under the lock */
	bool fast;        /* an unconditional set */
	uint32_t status;  /* status bits of the new version, enum item_status; */
	uint32_t inherit; /* and which of the old one's it inherits */
	uint32_t lacks;   /* optional fields it must have and has not */
	enum store_result result;
	uint32_t generation; /* flush generation by which the old version was judged */
};

enum link_verdict link_item(struct store_core *sc, struct link *l);

/* ---- rmw.c ---- */

/* Read the old version, make the new one, link it; again if another came first. */
enum store_result rmw_run(struct store_core *sc, struct rmw *rm);

#endif

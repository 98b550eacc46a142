/*
 * evict.h - evicts items that the policy of their class chooses (eviction.h).
 *
 * Thread: the core named.
 */
#ifndef CLOCKOO_EVICT_H
#define CLOCKOO_EVICT_H

#include "unlink.h"

/* Evicts up to max items of a class, EVICT_SLICE at most. Returns how many. */
uint32_t evict_chosen(struct store_core *sc, uint32_t class, uint32_t max);
/* Evicts as evict_chosen, for want of memory: the rebalancer counts these evictions. */
uint32_t evict_for_memory(struct store_core *sc, uint32_t class, uint32_t max);

/* Evicts as unlink_victim does, and offers the item to the tier first. UNLINKED_LATER: the item
 * waits, if there was a place (leaving.h). */
enum unlinked evict_to_tier(struct store_core *sc, const struct victim *v, bool with_page,
			    enum ghost ghost, struct departures *d);
/* Evicts an item with its offer, which is made if *offer is 0. UNLINKED_LATER: the caller keeps the
 * item in the ring, with *offer; if that is not 0 the item is pinned, and the offer is open until
 * tier->copying() says that the copy is whole. */
enum unlinked evict_offered(struct store_core *sc, const struct victim *v, bool with_page,
			    enum ghost ghost, struct departures *d, uint64_t *offer);
/* Ends an open offer without an entry. Called without a lock. */
void evict_offer_end(struct store_core *sc, uint32_t ref, uint64_t *offer);
/* Counts one item of a class that has left after it waited. */
void evict_count_left(struct store_core *sc, uint32_t class, enum ghost ghost);

#endif

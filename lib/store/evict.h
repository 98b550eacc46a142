/*
 * evict.h - evicts the items that the policy of their class chooses (eviction.h).
 *
 * Thread: the core named.
 */
#ifndef CLOCKOO_EVICT_H
#define CLOCKOO_EVICT_H

#include "unlink.h"

/* Evicts up to max items of a class, at most EVICT_SLICE. Returns how many. */
uint32_t evict_chosen(struct store_core *sc, uint32_t class, uint32_t max);
/* Evicts as evict_chosen does, for a set that needs memory. The rebalancer compares classes by
 * these evictions. */
uint32_t evict_for_memory(struct store_core *sc, uint32_t class, uint32_t max);

/* Offers the item to the tier, then evicts it as unlink_victim does. UNLINKED_LATER: the tier
 * postponed the item, which now waits in the ring if that had space (leaving.h). */
enum unlinked evict_to_tier(struct store_core *sc, const struct victim *v, bool with_page,
			    enum ghost ghost, struct departures *d);
/* Evicts an item by its offer; makes one if *offer is 0. UNLINKED_LATER: the item stays in the
 * ring, with *offer. If *offer is then not 0, the item is pinned, and the offer stays open until
 * tier->copying() reports that the copy is complete. */
enum unlinked evict_offered(struct store_core *sc, const struct victim *v, bool with_page,
			    enum ghost ghost, struct departures *d, uint64_t *offer);
/* Withdraws an open offer: the tier does not get the item. Called without a lock. */
void evict_offer_end(struct store_core *sc, uint32_t ref, uint64_t *offer);
/* Counts an item of a class that waited in the ring and has left the index. */
void evict_count_left(struct store_core *sc, uint32_t class, enum ghost ghost);

#endif

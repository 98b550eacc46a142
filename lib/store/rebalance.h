/*
 * rebalance.h - moves pages between classes.
 *
 * Thread: the core named.
 */
#ifndef CLOCKOO_REBALANCE_H
#define CLOCKOO_REBALANCE_H

#include "store_state.h"

/* Moves pages whose grace period is over to the pool. If the pool has less than the reserve,
 * evacuates some objects. Called every turn. */
void rebalance_turn(struct store_core *sc);
/* Evacuates until the pool has this many pages or will get them, or until the limit of work of this
 * kind for the turn is reached. For sets and for large values it is in a hurry: an item that should
 * move but finds no free object is evicted. */
void rebalance_evacuate(struct store_core *sc, enum evacuation_for why, uint32_t pages);
/* Moves a page from the class with the slowest hand to the class with the fastest. Called in some
 * turns. */
void rebalance_step(struct store_core *sc);
/* Returns how many pages must stay in the pool: the reserve, and those set aside for a large
 * value. */
uint32_t rebalance_pool_keep(const struct store *st);
/* True if the pool has no page to give to a class that already owns some. */
bool rebalance_pool_is_low(const struct store *st);

/* True if a core has not turned for so long that pages are no longer evacuated. */
static inline bool
rebalance_is_stalled(const struct store_core *sc)
{
	return sc->stalled_turns >= STALL_TURNS &&
	       sc->stalled_epoch == (uint32_t)epoch_now(&sc->store->epoch);
}

#endif

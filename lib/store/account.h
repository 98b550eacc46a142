/*
 * account.h - what enters and leaves the index, counted in all and by class.
 *
 * A flushed item stays in the index until the sweep finds it, and counts as no item from the flush
 * on. Each core notes its counters before its first change in a generation: the sum of these notes
 * is the number of items that were flushed. Those still in the index are this sum, less the flushed
 * items taken out since.
 *
 * Thread: a core's own, but for account_flushed: any thread. Its figure is exact while no core
 *         writes, and off by what they do meanwhile otherwise.
 */
#ifndef CLOCKOO_ACCOUNT_H
#define CLOCKOO_ACCOUNT_H

#include "store_state.h"

/* Sums one counter over all cores. */
uint64_t store_sum(const struct store *st, enum store_counter what);
/* Returns in less out, summed over all cores; 0 if a count meanwhile would make it negative. */
uint64_t store_balance(const struct store *st, enum store_counter in, enum store_counter out);

/* Note this core's counters as those at the beginning of the generation. */
void account_generation_began(struct store_core *sc, uint32_t generation);

/* Called before this core counts its first change in this generation. */
static inline void
account_generation(struct store_core *sc, uint32_t generation)
{
	if (unlikely(atomic_load_explicit(&sc->counted_generation, memory_order_relaxed) !=
		     generation))
		account_generation_began(sc, generation);
}

struct tally {
	uint64_t items, bytes;
};

/* Items flushed and not reclaimed yet. Of all classes: bytes are class sizes; of a class (from 0
 * on): bytes requested. */
struct tally account_flushed(const struct store *st);
struct tally account_flushed_of(const struct store *st, uint32_t class);

enum unlink_reason {
	UNLINK_REQUESTED, /* deleted, replaced, or dead */
	UNLINK_SWEPT,     /* dead, found by the sweep */
	UNLINK_EVICTED,
};

/* An item enters the index, stored in this generation. */
void account_in(struct store_core *sc, const struct item *it, uint32_t generation);
/* Counts a simple item that enters the index, as account_in does. */
void account_in_simple(struct store_core *sc, uint32_t ref, const struct item *it,
		       uint32_t generation);
/* A simple item replaces a simple one that is alive; account_generation was called before. */
void account_exchange(struct store_core *sc, uint32_t class, const struct item *it,
		      uint32_t old_class, const struct item *old);
/* An item that is alive was replaced. */
void account_replaced(struct store_core *sc, const struct item *it);
/* An item has moved from object to object. */
void account_moved(struct store_core *sc, const struct item *from, const struct item *to);
/* Counts an item that leaves the index; its memory is still readable. A dead item counts as dead
 * for every reason. */
void account_out(struct store_core *sc, const struct item *it, enum unlink_reason why);
/* Simple items of a class that are evicted one after the other, and counted together. */
struct departures {
	uint32_t class, generation, items, unfetched, active;
	uint64_t bytes;
};
/* Count them; none is left to be counted. */
void account_departures(struct store_core *sc, struct departures *d);
/* Before one that is judged in this generation joins them. */
static inline void
account_departures_of(struct store_core *sc, struct departures *d, uint32_t generation)
{
	if (unlikely(d->generation != generation && d->items != 0))
		account_departures(sc, d);
	d->generation = generation;
	account_generation(sc, generation);
}

void account_refused(struct store_core *sc, uint32_t bytes);
/* A dead item was asked for. */
void account_missed(struct store_core *sc, const struct item *it, uint32_t generation);

#endif

/*
 * account.h - what comes into the index and what leaves it, in all and by class.
 *
 * What is flushed stays in the index until the walk comes by, and counts for nothing from the
 * flush on. Each core keeps what its counters said before its first change in the present
 * generation: all that was in the index then is flushed. What of it is left is the sum of that,
 * less the flushed items taken out since.
 *
 * Thread: a core's own, but for account_flushed: any thread. Its figure is exact while no core
 *         writes, and off by what they do meanwhile otherwise.
 */
#ifndef CLOCKOO_ACCOUNT_H
#define CLOCKOO_ACCOUNT_H

#include "store_state.h"

/* Of all cores. */
uint64_t store_sum(const struct store *st, enum store_counter what);
/* What came in less what went out; other cores go on meanwhile, so never below 0. */
uint64_t store_balance(const struct store *st, enum store_counter in, enum store_counter out);

/* This core's counters, as they are now, are what was there when the generation began. */
void account_generation_began(struct store_core *sc, uint32_t generation);

/* Before something is counted that was judged in this generation. */
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

/* Flushed, and not taken out yet; of all items in class sizes, of a class (from 0 on) as
 * they were asked for. */
struct tally account_flushed(const struct store *st);
struct tally account_flushed_of(const struct store *st, uint32_t class);

enum unlink_reason {
	UNLINK_REQUESTED, /* deleted, replaced, or dead */
	UNLINK_SWEPT,     /* dead, and in no hurry */
	UNLINK_EVICTED,
};

/* generation: that it is stored in; account_exchange is told of it before. */
void account_in(struct store_core *sc, const struct item *it, uint32_t generation);
/* One comes in for another; both have no chunks and are alive. */
void account_exchange(struct store_core *sc, uint32_t ref, const struct item *it, uint32_t old,
		      const struct item *there);
/* Out, told to go, and not dead. */
void account_replaced(struct store_core *sc, const struct item *it);
/* The same item, from object to object. */
void account_moved(struct store_core *sc, const struct item *from, const struct item *to);
/* While it can still be looked at. What is dead goes for that, whatever else is the matter. */
void account_out(struct store_core *sc, const struct item *it, enum unlink_reason why);
void account_refused(struct store_core *sc, uint32_t bytes);
/* A dead item was asked for. */
void account_missed(struct store_core *sc, const struct item *it, uint32_t generation);

#endif

/*
 * account.h - what enters and leaves the index, counted in all and by class.
 *
 * A flushed item stays in the index until the sweep comes by, and counts for nothing from the flush
 * on. Each core notes its counters before its first change in a generation: what was in the index
 * then is flushed. What is left of it is the sum of those notes, less the flushed items taken out
 * since.
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

/* Note this core's counters as those of the beginning of the generation. */
void account_generation_began(struct store_core *sc, uint32_t generation);

/* To be called before anything judged in this generation is counted. */
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

/* Flushed and not reclaimed yet: all items in class sizes; those of a class (from 0 on) in bytes
 * requested. */
struct tally account_flushed(const struct store *st);
struct tally account_flushed_of(const struct store *st, uint32_t class);

enum unlink_reason {
	UNLINK_REQUESTED, /* deleted, replaced, or dead */
	UNLINK_SWEPT,     /* dead, found by the sweep */
	UNLINK_EVICTED,
};

/* An item comes in, stored in this generation. */
void account_in(struct store_core *sc, const struct item *it, uint32_t generation);
/* A simple item replaces a simple one that is alive; account_generation was called before. */
void account_exchange(struct store_core *sc, uint32_t ref, const struct item *it, uint32_t old_ref,
		      const struct item *old);
/* An item that is alive was replaced. */
void account_replaced(struct store_core *sc, const struct item *it);
/* An item has moved from object to object. */
void account_moved(struct store_core *sc, const struct item *from, const struct item *to);
/* An item leaves, and can still be looked at. A dead one counts as dead, whatever the reason. */
void account_out(struct store_core *sc, const struct item *it, enum unlink_reason why);
void account_refused(struct store_core *sc, uint32_t bytes);
/* A dead item was asked for. */
void account_missed(struct store_core *sc, const struct item *it, uint32_t generation);

#endif

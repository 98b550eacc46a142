/*
 * account.h - counts what enters and leaves the index, in total and by class.
 *
 * A flushed item stays in the index until the sweep finds it, but is not counted as an item after
 * the flush. Each core notes its balance (items in less items out) before its first change in a
 * generation. The sum of these notes is the number of items that the flush made dead. Subtracting
 * the flushed items taken out since leaves those still in the index.
 *
 * Thread: the core named. account_flushed: any thread. Its figure is exact while no core writes;
 *         otherwise it may miss what the cores do during the sum.
 */
#ifndef CLOCKOO_ACCOUNT_H
#define CLOCKOO_ACCOUNT_H

#include "store_state.h"

/* Sums one counter over all cores. */
uint64_t store_sum(const struct store *st, enum store_counter what);
/* Returns the sum of counter `in` less that of `out`, over all cores. 0 if counts made meanwhile
 * would make it negative. */
uint64_t store_balance(const struct store *st, enum store_counter in, enum store_counter out);

/* Notes this core's counters as those at the beginning of the generation. */
void account_generation_began(struct store_core *sc, uint32_t generation);

/* Notes the counters if this is the core's first change in this generation. To be called before a
 * change is counted. */
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

/* Returns the items that are flushed and not reclaimed yet. account_flushed covers all classes, and
 * its bytes are class sizes. account_flushed_of covers one class, numbered from 0, and its bytes
 * are those requested. */
struct tally account_flushed(const struct store *st);
struct tally account_flushed_of(const struct store *st, uint32_t class);

enum unlink_reason {
	UNLINK_REQUESTED, /* deleted, replaced, or dead */
	UNLINK_SWEPT,     /* dead, found by the sweep */
	UNLINK_EVICTED,
};

/* Counts an item, stored in this generation, that enters the index. */
void account_in(struct store_core *sc, const struct item *it, uint32_t generation);
/* Counts a simple item that enters the index, as account_in does. */
void account_in_simple(struct store_core *sc, uint32_t ref, const struct item *it,
		       uint32_t generation);
/* Counts a simple item that replaces a living simple item. The caller has called
 * account_generation. */
void account_exchange(struct store_core *sc, uint32_t class, const struct item *it,
		      uint32_t old_class, const struct item *old);
/* Counts the replacement of a living item. */
void account_replaced(struct store_core *sc, const struct item *it);
/* Counts an item that has moved from one object to another. */
void account_moved(struct store_core *sc, const struct item *from, const struct item *to);
/* Counts an item that leaves the index; its memory is still readable. A dead item is counted as
 * dead, for whichever reason it leaves. */
void account_out(struct store_core *sc, const struct item *it, enum unlink_reason why);
/* Simple items of one class that are evicted in a row and counted together. */
struct departures {
	uint32_t class, generation, items, unfetched, active;
	uint64_t bytes;
};
/* Counts the departures and empties the batch. */
void account_departures(struct store_core *sc, struct departures *d);
/* Counts the batch if its items are of another generation. Called before an item of this generation
 * joins it. */
static inline void
account_departures_of(struct store_core *sc, struct departures *d, uint32_t generation)
{
	if (unlikely(d->generation != generation && d->items != 0))
		account_departures(sc, d);
	d->generation = generation;
	account_generation(sc, generation);
}

void account_refused(struct store_core *sc, uint32_t bytes);
/* Counts a request for a dead item. */
void account_missed(struct store_core *sc, const struct item *it, uint32_t generation);

#endif

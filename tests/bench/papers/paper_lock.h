/*
 * paper_lock.h - spin locks, single and striped.
 *
 * Shape:  a lock is a word: 0 free, 1 taken. Stripe i of PAPER_STRIPES guards all objects with
 *         hash i.
 * Thread: any.
 */
#ifndef CLOCKOO_PAPER_LOCK_H
#define CLOCKOO_PAPER_LOCK_H

#include "base/pause.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PAPER_STRIPES 8192u /* the number of MemC3's version counters */
#define PAPER_SPINS_MAX                                                                            \
	4096u /* before the holder, who may have lost its CPU, is given this one                   \
	       */

struct spin_word {
	_Atomic uint32_t taken;
};

static inline bool
spin_try(struct spin_word *l)
{
	return atomic_load_explicit(&l->taken, memory_order_relaxed) == 0 &&
	       atomic_exchange_explicit(&l->taken, 1, memory_order_acquire) == 0;
}

static inline void
spin_take(struct spin_word *l)
{
	for (uint32_t i = 1; !spin_try(l); i++) {
		cpu_pause();
		if (i % PAPER_SPINS_MAX == 0)
			sched_yield();
	}
}

static inline void
spin_give(struct spin_word *l)
{
	atomic_store_explicit(&l->taken, 0, memory_order_release);
}

static inline struct spin_word *
spin_stripe(struct spin_word *stripes, uint64_t of)
{
	return &stripes[of % PAPER_STRIPES];
}

/* Takes two stripes in the order of their addresses, or one if they are the same. */
static inline void
spin_take_two(struct spin_word *a, struct spin_word *b)
{
	spin_take(a < b ? a : b);
	if (a != b)
		spin_take(a < b ? b : a);
}

static inline void
spin_give_two(struct spin_word *a, struct spin_word *b)
{
	spin_give(a);
	if (a != b)
		spin_give(b);
}

#endif

/*
 * spin.h - a lock held for some hundred nanoseconds, by writers only.
 *
 * Thread: any. A holder waits only for a lock further down the order: resize, index buckets (by
 *         address), slab class, page pool.
 *
 * Bounds: a thread waits as long as those before it hold the lock. No get takes such a lock.
 */
#ifndef CLOCKOO_SPIN_H
#define CLOCKOO_SPIN_H

#include "gap.h"
#include "base/pause.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct spin {
	_Atomic uint32_t held;
};

static inline void
spin_pause(void)
{
	cpu_pause();
	protocol_gap();
}

/* Exchanges without a load before: a lock is mostly free, and the exchange fetches its cache line
 * once, for writing. */
static inline bool
spin_try(struct spin *s)
{
	/* Acquire: pairs with the release in spin_unlock. */
	return atomic_exchange_explicit(&s->held, 1, memory_order_acquire) == 0;
}

static inline void
spin_lock(struct spin *s)
{
	while (!spin_try(s))
		do
			spin_pause();
		while (atomic_load_explicit(&s->held, memory_order_relaxed) != 0);
}

static inline void
spin_unlock(struct spin *s)
{
	/* Release: pairs with the acquire in spin_try. */
	atomic_store_explicit(&s->held, 0, memory_order_release);
}

#endif

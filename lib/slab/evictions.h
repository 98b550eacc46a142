/*
 * evictions.h - counts of a class's evictions, and of evicted keys that returned.
 *
 * A key returns if it is stored again while its ghost is kept (ghost.h). The counts are common to
 * all policies: the rebalancer reads them, and a policy may (probation.h).
 *
 * Thread: any core. Relaxed: no count orders other memory.
 */
#ifndef CLOCKOO_EVICTIONS_H
#define CLOCKOO_EVICTIONS_H

#include <stdatomic.h>
#include <stdint.h>

/* Counts of items of one kind that were evicted, and of those whose keys returned. */
struct eviction_count {
	_Atomic uint32_t evicted, returned;
};

struct evictions {
	struct eviction_count of_new, of_kept; /* evicted in state NEW; in state KEPT */
};

static inline void
evictions_add(struct eviction_count *n, uint32_t evicted)
{
	if (evicted != 0)
		atomic_fetch_add_explicit(&n->evicted, evicted, memory_order_relaxed);
}

static inline void
evictions_returned(struct eviction_count *n)
{
	atomic_fetch_add_explicit(&n->returned, 1, memory_order_relaxed);
}

static inline uint32_t
evictions_counted(const _Atomic uint32_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

/* Takes 1/part of both counts away. */
static inline void
evictions_forget(struct eviction_count *n, uint32_t part)
{
	const uint32_t evicted = evictions_counted(&n->evicted);
	const uint32_t returned = evictions_counted(&n->returned);

	atomic_fetch_sub_explicit(&n->evicted, evicted / part, memory_order_relaxed);
	/* Rounded to the nearest, so that the last few are forgotten, too. */
	atomic_fetch_sub_explicit(&n->returned, (returned + part / 2) / part, memory_order_relaxed);
}

#endif

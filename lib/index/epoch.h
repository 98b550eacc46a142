/*
 * epoch.h - grace periods: retired memory may still have readers; says when it may be reused.
 *
 * Quiescent-state reclamation (McKenney and Slingwine, Read-copy update, 1998; Hart et al., IPDPS
 * 2006): a core reports once a turn that it holds no reference. Memory taken out of the index in
 * epoch e is free once every core has reported epoch e + EPOCH_GRACE.
 *
 * Why EPOCH_GRACE is 2: a core unlinks an item and then reads the epoch, e, without a fence in
 * between. So another core may report e + 1 and still find the item. But the epoch becomes e + 2
 * only after the first core has reported e + 1, by a release that comes after the unlinking. So a
 * core that reports e + 2 no longer finds the item.
 *
 * Shape:  one shared epoch number, and for each core a cache line with the last epoch it reported.
 *
 * Thread: epoch_quiescent, _offline and _online: the core named. All others: any core.
 *
 * Bounds: STORE_CORES_MAX cores; epochs are compared within 2^31.
 */
#ifndef CLOCKOO_EPOCH_H
#define CLOCKOO_EPOCH_H

#include "base/check.h"
#include "base/region.h"

#include <stdatomic.h>
#include <stdbool.h>

#define EPOCH_GRACE   2u
#define EPOCH_OFFLINE UINT64_MAX

struct epoch_core {
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t quiescent;
};

struct epoch {
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t now;
	struct epoch_core *cores;
	uint32_t core_count;
};

size_t epoch_bytes(uint32_t cores);
void epoch_init(struct epoch *e, struct region *region, uint32_t cores);

/* Reports the epoch, and that this core holds no reference. */
static inline void
epoch_quiescent(struct epoch *e, uint32_t core)
{
	/* Acquire: pairs with the release in epoch_advance, so a core that reports an epoch sees
	 * all that was unlinked before the epoch began. Release: pairs with the acquire there, so
	 * that this core has read all its items before its quiescent state. */
	const uint64_t now = atomic_load_explicit(&e->now, memory_order_acquire);

	atomic_store_explicit(&e->cores[core].quiescent, now, memory_order_release);
}

static inline uint64_t
epoch_now(const struct epoch *e)
{
	return atomic_load_explicit(&e->now, memory_order_relaxed);
}

/* Returns the oldest epoch among the last reports of all online cores. If all have reported the
 * present epoch, begins the next one. */
uint64_t epoch_advance(struct epoch *e);

void epoch_offline(struct epoch *e, uint32_t core);
void epoch_online(struct epoch *e, uint32_t core);

/* True if memory unlinked in epoch `then` is free. oldest: from epoch_advance. */
static inline bool
epoch_passed(uint32_t then, uint64_t oldest)
{
	return (int32_t)((uint32_t)oldest - then) >= (int32_t)EPOCH_GRACE;
}

/* Does what epoch_passed does, given the lower 31 bits of the epoch. */
static inline bool
epoch_passed_31(uint32_t then, uint64_t oldest)
{
	return (int32_t)(((uint32_t)oldest - then) << 1) >= (int32_t)(EPOCH_GRACE << 1);
}

#endif

/*
 * epoch.c - begins the next epoch once every online core has reported the present one.
 */
#include "epoch.h"

size_t
epoch_bytes(uint32_t cores)
{
	return cores * sizeof(struct epoch_core);
}

void
epoch_init(struct epoch *e, struct region *region, uint32_t cores)
{
	e->cores = region_take(region, epoch_bytes(cores), CACHE_LINE_BYTES);
	e->core_count = cores;
	atomic_init(&e->now, 1);
	/* A core is offline until its first turn, so no grace period waits for one that never
	 * runs. */
	for (uint32_t i = 0; i < cores; i++)
		atomic_init(&e->cores[i].quiescent, EPOCH_OFFLINE);
}

uint64_t
epoch_advance(struct epoch *e)
{
	uint64_t now = atomic_load_explicit(&e->now, memory_order_relaxed);
	uint64_t oldest = EPOCH_OFFLINE;

	/* Pairs with the fence in epoch_online: either this core sees that the other one is online,
	 * or the other one sees everything that this core has unlinked. */
	atomic_thread_fence(memory_order_seq_cst);
	for (uint32_t i = 0; i < e->core_count; i++) {
		/* Acquire: pairs with the release in epoch_quiescent. */
		const uint64_t quiescent =
			atomic_load_explicit(&e->cores[i].quiescent, memory_order_acquire);

		if (quiescent < oldest)
			oldest = quiescent;
	}
	if (oldest == EPOCH_OFFLINE)
		oldest = now;
	/* Release: pairs with the acquire in epoch_quiescent, and passes on what the cores unlinked
	 * before their reports. */
	if (oldest == now)
		atomic_compare_exchange_strong_explicit(&e->now, &now, now + 1,
							memory_order_release, memory_order_relaxed);
	return oldest;
}

void
epoch_offline(struct epoch *e, uint32_t core)
{
	/* Release, as in a quiescent state: this core has read all its items before. */
	atomic_store_explicit(&e->cores[core].quiescent, EPOCH_OFFLINE, memory_order_release);
}

void
epoch_online(struct epoch *e, uint32_t core)
{
	epoch_quiescent(e, core);
	/* The report must be visible before this core reads the index, since until then no grace
	 * period waits for it. Pairs with the fence in epoch_advance. */
	atomic_thread_fence(memory_order_seq_cst);
}

/*
 * heartbeat.c - reads the clocks at one moment, and keeps the reading in one of two slots.
 */
#include "heartbeat.h"

bool
beat_read_clocks(struct beat *beat, const struct clocks *clocks)
{
	for (uint32_t i = 0; i < BEAT_TRIES_MAX; i++) {
		beat->boot_ns = clocks->boot_ns(clocks->arg);
		beat->wall_ns = clocks->wall_ns(clocks->arg);
		beat->store_ns = clocks->store_ns(clocks->arg);
		if (clocks->boot_ns(clocks->arg) - beat->boot_ns <= BEAT_APART_NS)
			return true;
	}
	return false;
}

static uint64_t
count_of(const struct heartbeat *h, uint32_t slot)
{
	/* Acquire: pairs with the release in heartbeat_write. */
	return atomic_load_explicit(&h->slots[slot].count, memory_order_acquire);
}

void
heartbeat_write(struct heartbeat *h, const struct beat *beat)
{
	const uint64_t counts[] = {count_of(h, 0), count_of(h, 1)};
	const uint32_t older = counts[0] > counts[1];

	h->slots[older].beat = *beat;
	atomic_store_explicit(&h->slots[older].count, counts[!older] + 1, memory_order_release);
}

bool
heartbeat_last(const struct heartbeat *h, struct beat *beat)
{
	const uint32_t last = count_of(h, 1) > count_of(h, 0);

	*beat = h->slots[last].beat;
	return count_of(h, last) != 0;
}

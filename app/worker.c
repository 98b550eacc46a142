#include "worker.h"
#include "appliance.h"
#include "dpdk/lcore_run.h"

/* Say goodbye to every connection; what a dead peer does not answer in time is dropped. */
static void
drain(const struct worker *w)
{
	uint64_t now_ns = tsc_clock_ns(w->clock);
	const uint64_t deadline_ns = now_ns + DRAIN_NS;
	bool empty;

	do {
		empty = stack_drain(w->core->stack, now_ns);
		core_turn(w->core, now_ns);
		now_ns = tsc_clock_ns(w->clock);
	} while (!empty && now_ns < deadline_ns);
}

int
worker_run(void *arg)
{
	const struct worker *w = arg;
	struct core *core = w->core;

	/* Pairs with the store in control.c; the flag carries no data, so relaxed is enough. */
	while (!atomic_load_explicit(w->stop, memory_order_relaxed)) {
		core_turn(core, tsc_clock_ns(w->clock));
		if (!core->was_busy)
			lcore_idle(w->yield);
	}
	drain(w);
	store_offline(core->store);
	return 0;
}

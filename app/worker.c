/*
 * worker.c - a core's loop: turn, wait while idle, and the drain once it shall stop.
 */
#include "worker.h"
#include "appliance.h"
#include "core/idle.h"
#include "dpdk/lcore_run.h"
#include "dpdk/port_wait.h"

/* Say goodbye to every connection; what a dead peer does not answer in time is dropped. Whoever
 * carries the frames of others stays until they must have done so too. */
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
	} while ((!empty || w->forwards_frames) && now_ns < deadline_ns);
}

/* The store counts without a core that waits for long; its next turn brings it back. */
static void
wait_for_frame(const struct worker *w, enum wait_kind kind, uint64_t wait_ns)
{
	const uint64_t from_ns = tsc_clock_ns(w->clock);

	if (wait_ns >= IDLE_OFFLINE_NS)
		store_offline(w->core->store);
	port_wait(w->port, kind, wait_ns);
	core_waited(w->core, tsc_clock_ns(w->clock) - from_ns);
}

/* After a turn, which began at now_ns. */
static void
idle_wait(const struct worker *w, struct idle *idle, enum wait_kind kind, uint64_t now_ns)
{
	uint64_t wait_ns = 0;

	if (w->core->was_busy) {
		idle_busy(idle, now_ns);
		return;
	}
	/* Who waits for memory, say, is looked at from turn to turn: nothing would wake us. */
	if (w->adaptive && !stack_has_work(w->core->stack))
		wait_ns = idle_wait_ns(idle, now_ns, stack_next_timer(w->core->stack));
	if (wait_ns == 0)
		lcore_idle(w->yield);
	else
		wait_for_frame(w, kind, wait_ns);
}

int
worker_run(void *arg)
{
	const struct worker *w = arg;
	const enum wait_kind kind = w->adaptive ? port_wait_begin(w->port) : WAIT_SLEEP;
	struct core *core = w->core;
	struct idle idle = {.since_ns = tsc_clock_ns(w->clock)};

	/* Pairs with the store in control.c; the flag carries no data, so relaxed is enough. */
	while (!atomic_load_explicit(w->stop, memory_order_relaxed)) {
		const uint64_t now_ns = tsc_clock_ns(w->clock);

		core_turn(core, now_ns);
		idle_wait(w, &idle, kind, now_ns);
	}
	drain(w);
	store_offline(core->store);
	return 0;
}

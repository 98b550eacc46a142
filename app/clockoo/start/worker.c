/*
 * worker.c - the loop of one core: turns until the order to stop, then a drain of DRAIN_NS at most.
 */
#include "worker.h"
#include "backend/backend.h"
#include "core/idle.h"
#include "dpdk/lcore_run.h"
#include "dpdk/port_wait.h"
#include "dpdk/run_delay.h"
#include "process/last_words.h"

/* Ends the core's service. Pending requests get half of the time; then they fail. Closes every
 * connection, and resets those whose peers do not answer in time: this frees the values that their
 * replies pin, since a pin would outlive the process in --memory-file. A core that forwards other
 * cores' frames stays for the whole time. A core that sleeps when idle also sleeps between these
 * turns. */
static void
drain(const struct worker *w)
{
	struct core *core = w->core;
	uint64_t now_ns = process_now_ns(w->process);
	const uint64_t hurry_ns = now_ns + DRAIN_NS / 2, deadline_ns = now_ns + DRAIN_NS;
	bool empty;

	do {
		empty = backend_drain(core->serve, now_ns >= hurry_ns) &&
			stack_drain(core->stack, now_ns);
		core_turn(core, now_ns);
		if (!core->was_busy)
			lcore_idle(w->yield || w->adaptive);
		now_ns = process_now_ns(w->process);
	} while ((!empty || w->forwards_frames) && now_ns < deadline_ns);
	stack_abort_all(core->stack, now_ns);
	core_turn(core, now_ns); /* sends the resets */
	serve_drop_messages(core->serve);
}

/* Returns the time at which a turn is due even if no frame arrives. */
static uint64_t
next_timer(const struct core *core)
{
	const uint64_t stack_ns = stack_next_timer(core->stack);
	const uint64_t serve_ns = backend_next_timer(core->serve);

	return stack_ns < serve_ns ? stack_ns : serve_ns;
}

/* Sleeps. If the core sleeps for long, the store's grace periods do not wait for it until its next
 * turn. */
static void
wait_for_frame(const struct worker *w, enum wait_kind kind, uint64_t wait_ns)
{
	const uint64_t from_ns = process_now_ns(w->process);

	if (wait_ns >= IDLE_OFFLINE_NS)
		store_offline(w->core->store);
	port_wait(w->port, kind, wait_ns);
	core_waited(w->core, process_now_ns(w->process) - from_ns);
}

/* Returns the time that the core may sleep. now_ns is the begin of its last turn. */
static uint64_t
wait_ns_of(const struct worker *w, const struct idle *idle, enum wait_kind kind, uint64_t now_ns)
{
	/* No event would wake the core for such work: a connection that waits for memory is
	 * tried in each turn. And other cores wait until this one frees the memory that it has
	 * retired. */
	if (stack_has_work(w->core->stack) || store_has_retired(w->core->store))
		return 0;
	/* A backend's answer wakes no core: with pending requests it polls. */
	if (kind == WAIT_EVENT && backend_next_timer(w->core->serve) == UINT64_MAX)
		return idle_event_wait_ns(now_ns, next_timer(w->core));
	return w->adaptive ? idle_wait_ns(idle, now_ns, next_timer(w->core)) : 0;
}

/* Waits after a turn that began at now_ns, if the turn had no work. */
static void
idle_wait(const struct worker *w, struct idle *idle, enum wait_kind kind, uint64_t now_ns)
{
	uint64_t wait_ns;

	if (w->core->was_busy) {
		idle_busy(idle, now_ns);
		return;
	}
	wait_ns = wait_ns_of(w, idle, kind, now_ns);
	if (wait_ns == 0)
		lcore_idle(w->yield || kind == WAIT_EVENT);
	else
		wait_for_frame(w, kind, wait_ns);
}

/* Leaves the port to the control thread. The store's grace periods do not wait for this core
 * meanwhile. False if the core must stop. */
static bool
leave_port(const struct worker *w)
{
	if (process_is_stopping(w->process))
		return false;
	store_offline(w->core->store);
	return process_wait_paused(w->process);
}

int
worker_run(void *arg)
{
	struct worker *w = arg;
	const enum wait_kind kind = w->adaptive ? port_wait_begin(w->port) : WAIT_SLEEP;
	struct core *core = w->core;
	struct idle idle = {.since_ns = process_now_ns(w->process)};
	struct run_delay delay;

	last_words_core(w->number, core, w->process->clock);
	run_delay_begin(&delay, idle.since_ns);
	while (likely(!process_is_interrupted(w->process)) || leave_port(w)) {
		const uint64_t now_ns = process_now_ns(w->process);

		if (unlikely(run_delay_is_due(&delay, now_ns, core->last_ns)))
			core_host_waited(core, run_delay_since_ns(&delay, now_ns));
		core_turn(core, now_ns);
		idle_wait(w, &idle, kind, now_ns);
	}
	run_delay_end(&delay);
	core_host_waited(core, 0);
	drain(w);
	store_offline(core->store);
	return 0;
}

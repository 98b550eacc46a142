/*
 * worker.c - the loop of one core: turns until the stop flag, then a drain of at most DRAIN_NS.
 */
#include "worker.h"
#include "backend/backend.h"
#include "core/idle.h"
#include "dpdk/lcore_run.h"
#include "dpdk/port_wait.h"
#include "dpdk/run_delay.h"
#include "process/last_words.h"

/* Ends the core's service. Pending requests have half of the time, then they fail. Every connection
 * is closed; one whose peer does not answer in time is reset, which frees what its replies pin: a
 * pin would outlive the process in --memory-file. A core that forwards frames of other cores stays
 * until those must have ended. */
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
		now_ns = process_now_ns(w->process);
	} while ((!empty || w->forwards_frames) && now_ns < deadline_ns);
	stack_abort_all(core->stack, now_ns);
	core_turn(core, now_ns); /* the resets go out */
	serve_drop_messages(core->serve);
}

/* Returns when a turn is due even if no frame arrives. */
static uint64_t
next_timer(const struct core *core)
{
	const uint64_t stack_ns = stack_next_timer(core->stack);
	const uint64_t serve_ns = backend_next_timer(core->serve);

	return stack_ns < serve_ns ? stack_ns : serve_ns;
}

/* Sleeps. The store's grace periods exclude a core that waits for long; its next turn includes it
 * again. */
static void
wait_for_frame(const struct worker *w, enum wait_kind kind, uint64_t wait_ns)
{
	const uint64_t from_ns = process_now_ns(w->process);

	if (wait_ns >= IDLE_OFFLINE_NS)
		store_offline(w->core->store);
	port_wait(w->port, kind, wait_ns);
	core_waited(w->core, process_now_ns(w->process) - from_ns);
}

/* Returns how long the core may wait. now_ns: when its turn began. */
static uint64_t
wait_ns_of(const struct worker *w, const struct idle *idle, enum wait_kind kind, uint64_t now_ns)
{
	/* A connection that waits for memory, for example, is tried again in every turn, as no
	 * event would wake the core. Also, other cores wait for this one to free what it has
	 * retired. */
	if (stack_has_work(w->core->stack) || store_has_retired(w->core->store))
		return 0;
	/* A backend's answer wakes no core, so a core with pending requests polls. */
	if (kind == WAIT_EVENT && backend_next_timer(w->core->serve) == UINT64_MAX)
		return idle_event_wait_ns(now_ns, next_timer(w->core));
	return w->adaptive ? idle_wait_ns(idle, now_ns, next_timer(w->core)) : 0;
}

/* Waits after a turn that began at now_ns. */
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

/* Leaves the port to the control thread, which resets it. The store's grace periods exclude the
 * core meanwhile. False if the core is to stop. */
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

/*
 * idle.h - computes how long a core without work may wait before its next turn.
 *
 * A spinning core costs power, a sleeping one latency. So a core spins while frames arrive. Without
 * frames each wait is at most a fixed share of the quiet time so far: a request that arrives then
 * is late by at most that share, and by at most IDLE_WAIT_MAX_NS.
 *
 * Shape:  pure functions of the times passed in; the caller does the waiting.
 * Units:  ns on the caller's clock, which never goes back.
 * Thread: core-local.
 * Bounds: a wait ends before the stack's next timer is due, and within IDLE_WAIT_MAX_NS; the time
 *         to wake up is added (lib/dpdk/port_wait.h).
 */
#ifndef CLOCKOO_IDLE_H
#define CLOCKOO_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#define IDLE_SPIN_NS 50000ull /* the core keeps polling this long after a frame */
/* A wait is at most 1/IDLE_SHARE of the quiet time so far. */
#define IDLE_SHARE       8u
#define IDLE_WAIT_MIN_NS 5000ull   /* a shorter wait is not worth the call */
#define IDLE_WAIT_MAX_NS 500000ull /* longer waits would delay timers and other cores */
/* For a core that frames wake: a hundred turns a second take 0.1 % of a CPU. */
#define IDLE_EVENT_WAIT_MAX_NS 10000000ull

/* A core goes offline in the store for waits of at least this length, so that no writer waits for
 * it; that costs about a microsecond. For shorter waits it stays online, and a grace period waits
 * for it. */
#define IDLE_OFFLINE_NS 50000ull

struct idle {
	uint64_t since_ns; /* when a frame last arrived or left */
};

static inline void
idle_busy(struct idle *idle, uint64_t now_ns)
{
	idle->since_ns = now_ns;
}

/* Returns how long a core may wait after a turn without a frame; 0: not at all. timer_ns: when the
 * stack needs its next turn. */
static inline uint64_t
idle_wait_ns(const struct idle *idle, uint64_t now_ns, uint64_t timer_ns)
{
	const uint64_t quiet_ns = now_ns - idle->since_ns;
	uint64_t wait_ns = quiet_ns / IDLE_SHARE;

	if (quiet_ns < IDLE_SPIN_NS)
		return 0;
	if (wait_ns > IDLE_WAIT_MAX_NS)
		wait_ns = IDLE_WAIT_MAX_NS;
	if (timer_ns <= now_ns)
		return 0;
	if (wait_ns > timer_ns - now_ns)
		wait_ns = timer_ns - now_ns;
	return wait_ns < IDLE_WAIT_MIN_NS ? 0 : wait_ns;
}

/* Returns the wait of a core that each frame wakes. The wait need end only for timers and for the
 * store's work. */
static inline uint64_t
idle_event_wait_ns(uint64_t now_ns, uint64_t timer_ns)
{
	if (timer_ns <= now_ns)
		return 0;
	return timer_ns - now_ns < IDLE_EVENT_WAIT_MAX_NS ? timer_ns - now_ns
							  : IDLE_EVENT_WAIT_MAX_NS;
}

#endif

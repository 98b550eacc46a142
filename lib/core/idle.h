/*
 * idle.h - how long a core that has nothing to do may wait before its next turn.
 *
 * Power is what a spinning core costs, latency what a sleeping one does. So a core spins while
 * frames come, waits the longer the longer none came, and never for more than a share of that: a
 * client that asks after a silence waits at most that share of it, and IDLE_WAIT_MAX_NS at most.
 *
 * Shape:  pure functions of times that are passed in; waiting itself is the caller's.
 * Units:  ns on the caller's clock, which never goes back.
 * Thread: core-local.
 * Bounds: a wait ends before the stack's next timer is due, IDLE_WAIT_MAX_NS later at most; what it
 *         takes to wake up comes on top (lib/dpdk/port_wait.h).
 */
#ifndef CLOCKOO_IDLE_H
#define CLOCKOO_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#define IDLE_SPIN_NS           50000ull  /* so long after a frame a core goes on turning */
#define IDLE_SHARE             8u        /* a wait is at most this part of the quiet time so far */
#define IDLE_WAIT_MIN_NS       5000ull   /* less is not worth a call */
#define IDLE_WAIT_MAX_NS       500000ull /* timers and other cores may need the core */
#define IDLE_EVENT_WAIT_MAX_NS 10000000ull /* a hundred turns a second take 0.1 % of a CPU */

/* Before a wait of this length or more the core goes offline in the store, so that no writer waits
 * for it; that costs about a microsecond. A grace period takes shorter waits along. */
#define IDLE_OFFLINE_NS 50000ull

struct idle {
	uint64_t since_ns; /* when a frame last moved */
};

static inline void
idle_busy(struct idle *idle, uint64_t now_ns)
{
	idle->since_ns = now_ns;
}

/* How long it may wait now, a turn that moved nothing behind it; 0: not at all. timer_ns is when
 * the stack wants its next turn. */
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

/* The same of a core that each frame wakes: only timers and work for the store are waited for. */
static inline uint64_t
idle_event_wait_ns(uint64_t now_ns, uint64_t timer_ns)
{
	if (timer_ns <= now_ns)
		return 0;
	return timer_ns - now_ns < IDLE_EVENT_WAIT_MAX_NS ? timer_ns - now_ns
							  : IDLE_EVENT_WAIT_MAX_NS;
}

#endif

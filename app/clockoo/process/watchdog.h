/*
 * watchdog.h - heartbeats to the service manager, sent only while every core turns.
 *
 * A core never waits. If its number of turns stands still, it is stuck: in a driver, in a loop, or
 * without a CPU. From outside the process looks alive then, while some of the flows get no answer.
 *
 * Shape:  each core's number of turns at the last heartbeat. Two heartbeats are due in the
 *         manager's time limit.
 * Units:  ns on the caller's clock.
 * Thread: the control thread. Reading the counters does not disturb the cores.
 * Bounds: CORES_MAX cores.
 */
#ifndef CLOCKOO_WATCHDOG_H
#define CLOCKOO_WATCHDOG_H

#include "config/lcores.h"
#include "telemetry/telemetry.h"

struct watchdog {
	uint64_t heartbeat_ns;     /* time between two heartbeats; 0: the manager expects none */
	uint64_t due_ns;           /* time of the next heartbeat */
	uint64_t turns[CORES_MAX]; /* each core's turns at the last heartbeat */
	uint32_t cores;
};

enum watchdog_status {
	WATCHDOG_NOT_DUE,
	WATCHDOG_ALIVE, /* every core has turned since the last heartbeat */
	WATCHDOG_STUCK, /* core *core has not turned since then */
};

/* Begins. manager_waits_ns is the manager's time limit; 0: it expects no heartbeats. */
void watchdog_begin(struct watchdog *w, uint64_t manager_waits_ns, uint32_t cores, uint64_t now_ns);
enum watchdog_status watchdog_check(struct watchdog *w, const struct telemetry *t, uint64_t now_ns,
				    uint32_t *core);

#endif

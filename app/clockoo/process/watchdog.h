/*
 * watchdog.h - heartbeats to the service manager, sent only while every core turns.
 *
 * A core never waits, so one whose count of turns stands still is stuck: in a driver, in a loop,
 * or without a CPU. The process then looks alive from outside while part of the flows gets no
 * answer.
 *
 * Shape:  the turns of each core at the last heartbeat; one is due twice in the time that the
 *         manager waits.
 * Units:  ns on the caller's clock.
 * Thread: the control thread; reading the counters disturbs no core.
 * Bounds: CORES_MAX cores.
 */
#ifndef CLOCKOO_WATCHDOG_H
#define CLOCKOO_WATCHDOG_H

#include "config/lcores.h"
#include "telemetry/telemetry.h"

struct watchdog {
	uint64_t heartbeat_ns; /* 0 = the manager expects no heartbeat */
	uint64_t due_ns;
	uint64_t turns[CORES_MAX];
	uint32_t cores;
};

enum watchdog_status {
	WATCHDOG_NOT_DUE,
	WATCHDOG_ALIVE, /* every core has turned since the last such result */
	WATCHDOG_STUCK, /* *core has not */
};

/* Begins. manager_waits_ns is 0 if the manager expects no heartbeats. */
void watchdog_begin(struct watchdog *w, uint64_t manager_waits_ns, uint32_t cores, uint64_t now_ns);
enum watchdog_status watchdog_check(struct watchdog *w, const struct telemetry *t, uint64_t now_ns,
				    uint32_t *core);

#endif

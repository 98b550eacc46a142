/*
 * watchdog.c - compares each core's number of turns at two heartbeats.
 */
#include "watchdog.h"

#define HEARTBEATS 2u /* per time limit of the manager, as sd_watchdog_enabled(3) advises */

void
watchdog_begin(struct watchdog *w, uint64_t manager_waits_ns, uint32_t cores, uint64_t now_ns)
{
	*w = (struct watchdog){.heartbeat_ns = manager_waits_ns / HEARTBEATS, .cores = cores};
	w->due_ns = now_ns + w->heartbeat_ns;
}

enum watchdog_status
watchdog_check(struct watchdog *w, const struct telemetry *t, uint64_t now_ns, uint32_t *core)
{
	uint64_t now[CORES_MAX];

	if (w->heartbeat_ns == 0 || now_ns < w->due_ns)
		return WATCHDOG_NOT_DUE;
	w->due_ns = now_ns + w->heartbeat_ns;
	for (uint32_t i = 0; i < w->cores; i++) {
		now[i] = telemetry_sum(t, "CORE_TURNS", i);
		if (now[i] == w->turns[i]) {
			*core = i;
			return WATCHDOG_STUCK;
		}
	}
	for (uint32_t i = 0; i < w->cores; i++)
		w->turns[i] = now[i];
	return WATCHDOG_ALIVE;
}

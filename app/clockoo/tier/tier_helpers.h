/*
 * tier_helpers.h - threads that read records while the tier is recovered.
 *
 * Shape:  as many as there are other CPUs, TIER_HELPERS_MAX at most, on any of the process's: no
 *         core turns yet. With none, or without memory, the recovery does without.
 * Owner:  the caller, from start to stop.
 * Thread: main.
 */
#ifndef CLOCKOO_TIER_HELPERS_H
#define CLOCKOO_TIER_HELPERS_H

#include "flash/flash_workers.h"

#include <pthread.h>
#include <sched.h>

#define TIER_HELPERS_MAX 3u

struct tier_helpers {
	struct flash_workers workers;
	struct flash_change *changes;
	pthread_t threads[TIER_HELPERS_MAX];
	uint32_t count;
};

/* Returns the helpers for a recovery on these CPUs, NULL if there are none. */
struct flash_workers *tier_helpers_start(struct tier_helpers *h, const cpu_set_t *cpus);
/* Ends the helpers, after the last recovery. */
void tier_helpers_stop(struct tier_helpers *h);

#endif

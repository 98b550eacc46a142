/*
 * tier_helpers.h - threads that read records while the tier is recovered.
 *
 * Shape:  one thread per other CPU of the process, TIER_HELPERS_MAX at most: no core turns yet.
 *         Without other CPUs or memory, the recovery reads all records itself.
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

/* Starts helpers for a recovery, on these CPUs. NULL: there are none. */
struct flash_workers *tier_helpers_start(struct tier_helpers *h, const cpu_set_t *cpus);
/* Ends the helpers. Called after the last recovery. */
void tier_helpers_stop(struct tier_helpers *h);

#endif

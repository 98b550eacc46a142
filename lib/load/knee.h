/*
 * knee.h - the highest rate that still keeps a promise: average (the Intel paper of 2014 on
 * memcached: average round trip of 1 ms) or 99th percentile (the memtier studies) within a limit.
 *
 * Shape:  the rate is doubled until the promise is broken, then halves the gap between the highest
 *         rate that kept it and the lowest that did not. A run is asked for by knee_next, and its
 *         verdict told by knee_tell.
 * Thread: pure functions over the struct.
 * Bounds: KNEE_RUNS_MAX runs.
 */
#ifndef CLOCKOO_KNEE_H
#define CLOCKOO_KNEE_H

#include <stdbool.h>
#include <stdint.h>

#define KNEE_RUNS_MAX 40u

struct knee {
	double kept;   /* the highest rate that kept the promise; 0: none did yet */
	double broken; /* the lowest that did not; 0: none yet */
	double next;
	double close; /* ends when broken / kept is below this */
	uint32_t runs;
};

void knee_start(struct knee *k, double from, double close);
/* False: found. */
bool knee_next(const struct knee *k, double *rate);
void knee_tell(struct knee *k, bool kept);

#endif

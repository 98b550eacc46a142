/*
 * knee.h - the highest rate that meets an SLO: average or 99th percentile of latency within a
 * limit.
 *
 * The Intel paper of 2014 on memcached uses the average within 1 ms, studies with memtier use the
 * 99th percentile.
 *
 * Shape:  the rate is doubled until the SLO is violated. Then the gap between the highest rate
 *         that met it and the lowest that did not is halved. knee_next names the rate of the next
 *         run, knee_record takes its result.
 * Thread: pure functions over the struct.
 * Bounds: KNEE_RUNS_MAX runs.
 */
#ifndef CLOCKOO_KNEE_H
#define CLOCKOO_KNEE_H

#include <stdbool.h>
#include <stdint.h>

#define KNEE_RUNS_MAX 40u

struct knee {
	double met;      /* the highest rate that met the SLO; 0: none yet */
	double violated; /* the lowest rate that did not; 0: none yet */
	double next;
	double close; /* the search ends when violated / met is below this */
	uint32_t runs;
};

void knee_start(struct knee *k, double from, double close);
/* Sets the rate of the next run. False if the knee is found. */
bool knee_next(const struct knee *k, double *rate);
void knee_record(struct knee *k, bool met);

#endif

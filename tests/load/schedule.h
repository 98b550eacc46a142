/*
 * schedule.h - the time when the next request of an open loop is due.
 *
 * The schedule does not wait for the server. A request that could not be sent when it was due is
 * sent late, and its latency counts from when it was due. If latency counted from the time of
 * sending, a stall's delay of later requests would not be seen: "coordinated omission" (G. Tene,
 * "How NOT to Measure Latency").
 *
 * Shape:  a cursor; requests not sent yet follow from it, so a backlog needs no memory.
 * Units:  ns; rate in requests a second. Fractions of a ns are kept.
 * Thread: core-local.
 */
#ifndef CLOCKOO_SCHEDULE_H
#define CLOCKOO_SCHEDULE_H

#include "load_rng.h"

#include <stdbool.h>

enum arrivals { ARRIVALS_CONSTANT, ARRIVALS_POISSON };

#define SCHEDULE_STEP_BITS 8u
#define SCHEDULE_STEPS     (1u << SCHEDULE_STEP_BITS)

struct schedule {
	enum arrivals arrivals;
	double gap_ns; /* mean gap */
	double next_ns;
	uint64_t due_ns; /* next_ns, as a whole number */
	struct load_rng rng;
	float minus_ln[SCHEDULE_STEPS + 1]; /* table of -ln for 1/2 to 1 */
};

void schedule_start(struct schedule *s, enum arrivals arrivals, double rate, uint64_t now_ns,
		    uint64_t seed);

/* Returns when the next request is, or was, due. */
static inline uint64_t
schedule_due_ns(const struct schedule *s)
{
	return s->due_ns;
}

/* Advances the schedule: the request that was due has been sent. */
void schedule_pop(struct schedule *s);

/* Returns how many requests are due before end_ns and were not popped: an
 * estimate for Poisson arrivals. */
uint64_t schedule_unsent(const struct schedule *s, uint64_t end_ns);

#endif

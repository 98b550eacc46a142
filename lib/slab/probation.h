/*
 * probation.h - the length of probation in a class, and the share of new objects that it applies
 * to.
 *
 * New objects are on probation until they are used (2Q, Johnson and Shasha 1994; S3-FIFO, Yang et
 * al. 2023). A separate hand evicts those that are not used in time, so that items read once do not
 * evict items read repeatedly. The price is a second miss of an item that is read again later.
 * Ghosts measure how often that happens. Where items evicted from probation return more often than
 * items evicted by the CLOCK hand, probation becomes longer and then more new objects skip it. At
 * the last step all but one object in fifty skip it, so CLOCK alone decides.
 *
 * Shape:  at step 0 all new objects are on probation, which is shortest: a 33rd of the class. At
 *         PROBATION_STEPS it is a 5th of the class, and one object in fifty is on it.
 *
 * Thread: under the class's lock; counts of evictions are atomic.
 */
#ifndef CLOCKOO_PROBATION_H
#define CLOCKOO_PROBATION_H

#include "asked.h"
#include "evictions.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PROBATION_STEPS 40u
/* At this step no object is on probation. Only reads that miss without a following set (asked.h)
 * lead to it. */
#define PROBATION_NONE (PROBATION_STEPS + 1)
/* A flag in the step: reads that missed led to it. */
#define PROBATION_ASKED 0x100u
/* Up to this step each step makes probation longer; beyond it each lets more objects skip it. */
#define PROBATION_KNEE 8u
#define STEP_UP        2u
#define STEP_DOWN      1u
/* The step is reconsidered each time a 20th of the class was evicted, but at least 64 objects. */
#define PROBATION_PARTS 20u
#define WINDOW_MIN      64u
/* Each time all counts lose a tenth. */
#define FORGET_PART 10u

/* A class's probation, under its lock. */
struct probation {
	uint32_t due;    /* the count of evictions at which the step is reconsidered next */
	uint32_t credit; /* objects that the hand of new objects may still pass */
};

/* Returns how many objects the hand of new objects may pass for each object evicted from the
 * class. */
static inline uint32_t
probation_pace(uint32_t step)
{
	return 33 - (step < PROBATION_KNEE ? step : PROBATION_KNEE) * 28 / PROBATION_KNEE;
}

/* True if a new object with this hash skips probation. */
static inline bool
probation_skips(uint32_t step, uint64_t hash)
{
	const uint32_t of_256 = step <= PROBATION_KNEE ? 0
						       : (step - PROBATION_KNEE) * 251 /
								 (PROBATION_STEPS - PROBATION_KNEE);

	return (hash >> 20 & 0xff) < of_256 || step == PROBATION_NONE;
}

/* Fewer returns are no evidence: in a stream of new keys some match ghosts of others by chance. */
#define RETURNS_MIN  4u
#define RETURNS_PART 256u

/* True if items evicted from probation return more than twice as often as others. A few returns are
 * added to those of the CLOCK hand, so that a small number of evictions decides nothing. */
static inline bool
probation_is_too_short(const struct evictions *e, uint32_t window)
{
	const uint64_t few = window / 50 + 1;
	const uint64_t kept_evicted = evictions_counted(&e->of_kept.evicted) + few;
	const uint64_t kept_returned = evictions_counted(&e->of_kept.returned) + few;
	const uint64_t evicted = evictions_counted(&e->of_new.evicted);
	const uint64_t returned = evictions_counted(&e->of_new.returned);

	return returned >= RETURNS_MIN + evicted / RETURNS_PART &&
	       returned * kept_evicted > 2 * kept_returned * (evicted + 1);
}

/* Returns the next step of a class with these evictions and this number of objects. asked: the
 * counts of reads that missed. */
static inline uint32_t
probation_consider(struct probation *p, struct evictions *e, struct asked_class *asked,
		   uint32_t step, uint32_t objects)
{
	const uint32_t part = objects / PROBATION_PARTS;
	const uint32_t window = part > WINDOW_MIN ? part : WINDOW_MIN;
	const uint32_t evicted =
		evictions_counted(&e->of_new.evicted) + evictions_counted(&e->of_kept.evicted);

	/* A trial of a shorter probation ends as soon as reads refute it. */
	if (evicted < p->due && !(asked->fell && asked_for(asked)))
		return step;
	if (asked_for(asked)) {
		step = asked_rises(asked, step);
		step = step + STEP_UP < PROBATION_NONE ? step + STEP_UP : PROBATION_NONE;
	} else if (probation_is_too_short(e, window)) {
		step = step + STEP_UP < PROBATION_STEPS ? step + STEP_UP : PROBATION_STEPS;
	} else if (asked_lets_fall(asked, step)) {
		step -= step < STEP_DOWN ? step : STEP_DOWN;
	}
	asked_forget(asked);
	evictions_forget(&e->of_new, FORGET_PART);
	evictions_forget(&e->of_kept, FORGET_PART);
	p->due = evicted - evicted / FORGET_PART + window;
	return step;
}

#endif

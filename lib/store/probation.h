/*
 * probation.h - the length of probation in a class, and the share of new objects that it applies
 * to.
 *
 * New objects are on probation until they are used (2Q, Johnson and Shasha 1994; S3-FIFO, Yang et
 * al. 2023). A separate hand evicts those that are not used in time, so that items read once do not
 * evict items read repeatedly. The price is a second miss of an item that is read again later.
 * Ghosts measure how often that happens. Where items evicted from probation return more often than
 * items evicted by the CLOCK hand, probation becomes longer, and more new objects skip it: at the
 * last step the class is under CLOCK alone, but for one object in fifty.
 *
 * Shape:  step 0 is the shortest probation, of a 33rd of the class, for all; PROBATION_STEPS is
 *         one of a 5th, for one object in fifty.
 *
 * Thread: under the class's lock, but for counts of evictions, which are atomic.
 */
#ifndef CLOCKOO_PROBATION_H
#define CLOCKOO_PROBATION_H

#include "asked.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PROBATION_STEPS 40u
/* At this step no object is on probation. Only reads that miss, and store nothing (asked.h), lead
 * to it. */
#define PROBATION_NONE (PROBATION_STEPS + 1)
/* A flag beside the step: reads that missed led to it. */
#define PROBATION_ASKED 0x100u
/* Up to this step probation becomes longer; beyond it more objects skip probation. */
#define PROBATION_KNEE 8u
#define STEP_UP        2u
#define STEP_DOWN      1u
/* The step changes each time a 20th of the class was evicted, and no less than 64 objects. */
#define PROBATION_PARTS 20u
#define WINDOW_MIN      64u
/* At each change all counts lose a tenth. */
#define FORGET_PART 10u

/* Counts of evicted items of one kind, and of those whose keys returned while their ghosts were
 * kept. */
struct evictions {
	_Atomic uint32_t left, returned;
};

struct probation {
	struct evictions young, kept; /* evicted from probation; by the CLOCK hand */
	uint32_t due;                 /* evictions counted when the step changes next */
	uint32_t credit;              /* objects that the hand of new objects may pass */
};

/* Objects that the hand of new objects may pass for each object evicted, new or not. */
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

static inline void
evictions_add(struct evictions *l, uint32_t left)
{
	if (left != 0)
		atomic_fetch_add_explicit(&l->left, left, memory_order_relaxed);
}

static inline void
evictions_returned(struct evictions *l)
{
	atomic_fetch_add_explicit(&l->returned, 1, memory_order_relaxed);
}

static inline void
evictions_forget(struct evictions *l)
{
	const uint32_t left = atomic_load_explicit(&l->left, memory_order_relaxed);
	const uint32_t returned = atomic_load_explicit(&l->returned, memory_order_relaxed);

	atomic_fetch_sub_explicit(&l->left, left / FORGET_PART, memory_order_relaxed);
	/* Rounded to the nearest: the last few are forgotten, too. */
	atomic_fetch_sub_explicit(&l->returned, (returned + FORGET_PART / 2) / FORGET_PART,
				  memory_order_relaxed);
}

/* A stream of new keys finds a few ghosts of other keys by chance: fewer returns are no
 * evidence. */
#define RETURNS_MIN  4u
#define RETURNS_PART 256u

/* True if items evicted from probation return twice as often as others. A few returns are added to
 * those of the CLOCK hand, so that little evidence changes nothing. */
static inline bool
probation_is_too_short(const struct probation *p, uint32_t window)
{
	const uint64_t few = window / 50 + 1;
	const uint64_t kept_left = atomic_load_explicit(&p->kept.left, memory_order_relaxed) + few;
	const uint64_t kept_returned =
		atomic_load_explicit(&p->kept.returned, memory_order_relaxed) + few;

	const uint64_t left = atomic_load_explicit(&p->young.left, memory_order_relaxed);
	const uint64_t returned = atomic_load_explicit(&p->young.returned, memory_order_relaxed);

	return returned >= RETURNS_MIN + left / RETURNS_PART &&
	       returned * kept_left > 2 * kept_returned * (left + 1);
}

/* Returns the step from now on, of a class with this number of objects. asked is the class's. */
static inline uint32_t
probation_consider(struct probation *p, struct asked_class *asked, uint32_t step, uint32_t objects)
{
	const uint32_t part = objects / PROBATION_PARTS;
	const uint32_t window = part > WINDOW_MIN ? part : WINDOW_MIN;
	const uint32_t left = atomic_load_explicit(&p->young.left, memory_order_relaxed) +
			      atomic_load_explicit(&p->kept.left, memory_order_relaxed);

	/* A trial that fails ends at once. */
	if (left < p->due && !(asked->fell && asked_for(asked)))
		return step;
	if (asked_for(asked)) {
		step = asked_rises(asked, step);
		step = step + STEP_UP < PROBATION_NONE ? step + STEP_UP : PROBATION_NONE;
	} else if (probation_is_too_short(p, window)) {
		step = step + STEP_UP < PROBATION_STEPS ? step + STEP_UP : PROBATION_STEPS;
	} else if (asked_lets_fall(asked, step)) {
		step -= step < STEP_DOWN ? step : STEP_DOWN;
	}
	asked_forget(asked);
	evictions_forget(&p->young);
	evictions_forget(&p->kept);
	p->due = left - left / FORGET_PART + window;
	return step;
}

#endif

/*
 * probation.h - how long new objects of a class stay on probation, and which of them do.
 *
 * New objects are on probation until they are used (2Q, Johnson and Shasha 1994; S3-FIFO, Yang et
 * al. 2023). A hand of their own evicts those that were not used within a small part of the class,
 * so that what is asked for once does not push out what is asked for again. That costs a second
 * miss of what is asked for again later. Ghosts say how often that is so: where what was evicted
 * from probation comes back more often than what the CLOCK hand evicted, what is new is worth more
 * than what is old. Probation is longer then, and more objects pass it by: in the end it is CLOCK.
 *
 * Shape:  step 0 is the shortest probation, of a 33rd of the class, for all; PROBATION_STEPS is
 *         one of a 5th, for one object in fifty.
 *
 * Thread: under the class's lock, but for counts of evictions and the step, which are atomic. Only
 *         the lock's holder writes the step.
 */
#ifndef CLOCKOO_PROBATION_H
#define CLOCKOO_PROBATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PROBATION_STEPS 40u
/* Up to this step probation becomes longer, from here on rarer. */
#define PROBATION_KNEE 8u
#define STEP_UP        2u
#define STEP_DOWN      1u
/* A step is considered once so much of the class was evicted; then all counts lose a part. */
#define PROBATION_PARTS 20u
#define FORGET_PART     10u
#define WINDOW_MIN      64u

/* Counts of one kind of eviction. */
struct evictions {
	_Atomic uint32_t left, returned;
};

struct probation {
	struct evictions young, kept; /* evicted from probation; by the CLOCK hand */
	uint32_t due;                 /* evictions counted when the step is considered next */
	uint32_t credit;              /* objects that the hand of the new ones may pass */
	_Atomic uint32_t step;
};

static inline uint32_t
probation_step(const struct probation *p)
{
	return atomic_load_explicit(&p->step, memory_order_relaxed);
}

/* Objects that the hand of the new ones passes for every object evicted, new or not. */
static inline uint32_t
probation_pace(const struct probation *p)
{
	const uint32_t step = probation_step(p);

	return 33 - (step < PROBATION_KNEE ? step : PROBATION_KNEE) * 28 / PROBATION_KNEE;
}

/* Does a new object with this hash go past probation? */
static inline bool
probation_skips(const struct probation *p, uint64_t hash)
{
	const uint32_t step = probation_step(p);
	const uint32_t of_256 = step <= PROBATION_KNEE ? 0
						       : (step - PROBATION_KNEE) * 251 /
								 (PROBATION_STEPS - PROBATION_KNEE);

	return (hash >> 20 & 0xff) < of_256;
}

static inline void
evictions_add(struct evictions *l, uint32_t left)
{
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
	atomic_fetch_sub_explicit(&l->returned, returned / FORGET_PART, memory_order_relaxed);
}

/* Does what was on probation return more often, by a fourth? Of what the CLOCK hand evicted a few
 * are taken to have returned, so that little evidence changes nothing. */
static inline bool
probation_is_too_short(const struct probation *p, uint32_t window)
{
	const uint64_t few = window / 50 + 1;
	const uint64_t kept_left = atomic_load_explicit(&p->kept.left, memory_order_relaxed) + few;
	const uint64_t kept_returned =
		atomic_load_explicit(&p->kept.returned, memory_order_relaxed) + few;

	return 4 * atomic_load_explicit(&p->young.returned, memory_order_relaxed) * kept_left >
	       5 * kept_returned *
		       (atomic_load_explicit(&p->young.left, memory_order_relaxed) + 1ull);
}

/* Change the step if it is time, for a class of so many objects. */
static inline void
probation_consider(struct probation *p, uint32_t objects)
{
	const uint32_t part = objects / PROBATION_PARTS;
	const uint32_t window = part > WINDOW_MIN ? part : WINDOW_MIN;
	const uint32_t left = atomic_load_explicit(&p->young.left, memory_order_relaxed) +
			      atomic_load_explicit(&p->kept.left, memory_order_relaxed);
	uint32_t step = probation_step(p);

	if (left < p->due)
		return;
	if (probation_is_too_short(p, window))
		step = step + STEP_UP < PROBATION_STEPS ? step + STEP_UP : PROBATION_STEPS;
	else
		step -= step < STEP_DOWN ? step : STEP_DOWN;
	atomic_store_explicit(&p->step, step, memory_order_relaxed);
	evictions_forget(&p->young);
	evictions_forget(&p->kept);
	p->due = left - left / FORGET_PART + window;
}

#endif

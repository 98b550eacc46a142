/*
 * gaps.h - what happens between two steps of a store compiled with STORE_GAPS (gap.h): now and
 * then another thread comes in.
 *
 * Thread: each has its own random numbers.
 */
#ifndef CLOCKOO_GAPS_H
#define CLOCKOO_GAPS_H

#include <stdint.h>

/* Which gaps are used follows from this. */
void gaps_begin(uint64_t random);

/* Every gap calls this instead; NULL: it gives the processor away as before. */
typedef void gap_fn(void);
void gaps_call(gap_fn *fn);

/* The test's own: give the processor away one time in so many. */
void gaps_yield(uint32_t one_of);

#endif

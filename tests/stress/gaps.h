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

/* The test's own: give the processor away one time in so many. */
void gaps_yield(uint32_t one_of);

#endif

/*
 * gaps.h - events between two steps of a store compiled with STORE_GAPS (gap.h): now and then
 * another thread runs.
 *
 * Thread: each has its own random numbers.
 */
#ifndef CLOCKOO_GAPS_H
#define CLOCKOO_GAPS_H

#include <stdint.h>

/* Seeds the choice of gaps that are used. */
void gaps_begin(uint64_t random);

/* Makes every gap call fn; NULL: gaps yield the processor as before. */
typedef void gap_fn(void);
void gaps_call(gap_fn *fn);

/* Makes a gap of the test's own, which yields the processor one time in one_of. */
void gaps_yield(uint32_t one_of);

#endif

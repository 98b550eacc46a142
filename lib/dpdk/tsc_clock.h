/*
 * tsc_clock.h - nanoseconds from the CPU's time stamp counter; one read a turn.
 *
 * The rate is measured against the kernel's raw monotonic clock between tsc_clock_begin and
 * tsc_clock_finish, which starting EAL puts some tenths of a second apart: about one part in a
 * million. EAL's own figure is rounded to 10 MHz, wrong by minutes a day.
 *
 * Units:  ns since an arbitrary start; never goes back on one core, and between cores only as
 *         the counters differ (invariant TSC assumed).
 * Thread: immutable after tsc_clock_finish; tsc_clock_ns by any thread.
 */
#ifndef CLOCKOO_TSC_CLOCK_H
#define CLOCKOO_TSC_CLOCK_H

#include <stdint.h>

struct tsc_clock {
	uint64_t tsc_begin;
	uint64_t ns_begin;
	uint64_t ns_per_tick; /* times 2^32 */
};

void tsc_clock_begin(struct tsc_clock *clock);
void tsc_clock_finish(struct tsc_clock *clock);
uint64_t tsc_clock_ns(const struct tsc_clock *clock);

#endif

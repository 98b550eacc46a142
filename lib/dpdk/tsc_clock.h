/*
 * tsc_clock.h - nanoseconds from the CPU's counter (base/ticks.h), which is read once in a turn.
 *
 * The rate is measured against CLOCK_MONOTONIC between tsc_clock_begin and tsc_clock_finish, some
 * tenths of a second apart: the error is about one part in a million. (EAL's own figure is
 * rounded to 10 MHz, an error of minutes a day.) While the program runs, tsc_clock_correct
 * measures the rate over minutes. It steers the clock to the kernel's by the rate alone, from a
 * future moment on, so that the clock neither jumps nor goes back. Expiry times depend on this
 * clock, so it follows the clock that NTP disciplines, as memcached's does.
 *
 * Units:  ns, approximately of CLOCK_MONOTONIC. The clock never goes back on one core; between
 *         cores it differs as much as their counters (an invariant TSC is assumed).
 * Thread: one thread calls begin, finish and correct; after tsc_clock_finish any thread calls
 *         tsc_clock_ns, without waiting.
 */
#ifndef CLOCKOO_TSC_CLOCK_H
#define CLOCKOO_TSC_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TSC_CLOCK_LEAD_NS 100000000ull /* a correction begins this much later */
/* Rates are measured over at least this time, and at most twice as long. */
#define TSC_CLOCK_WINDOW_NS 64000000000ull
#define TSC_CLOCK_SLEW      1000u /* the rate is adjusted by at most 1/TSC_CLOCK_SLEW */
/* An error of the time is removed within this interval. */
#define TSC_CLOCK_CORRECTION_NS 16000000000ll

/* Readings of both clocks at the same time. */
struct tsc_sample {
	uint64_t tsc;
	uint64_t ns;
};

/* Two straight lines that meet at a moment. Rates are in ns for a tick, times 2^32. */
struct tsc_line {
	_Atomic uint64_t tsc, ns, rate_before, rate;
};

struct tsc_clock {
	/* Readers take the copy that is not being written: lines[version & 1]. */
	_Alignas(64) _Atomic uint32_t version;
	struct tsc_line lines[2];
	_Alignas(64) struct tsc_sample base, next_base,
		last; /* of measurements; only the writer uses them */
	bool outlier; /* the last sample was an outlier */
};

void tsc_clock_begin(struct tsc_clock *clock);
void tsc_clock_finish(struct tsc_clock *clock);
/* Corrects the clock; called about every second. */
void tsc_clock_correct(struct tsc_clock *clock);
uint64_t tsc_clock_ns(const struct tsc_clock *clock);
/* Returns this CPU's counter, for spans within a turn. */
uint64_t tsc_cycles(void);

/* Variants for tests, with given samples. */
void tsc_clock_start_at(struct tsc_clock *clock, struct tsc_sample begin, struct tsc_sample end);
void tsc_clock_correct_at(struct tsc_clock *clock, struct tsc_sample now);
uint64_t tsc_clock_ns_at(const struct tsc_clock *clock, uint64_t tsc);

#endif

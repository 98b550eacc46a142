/*
 * tsc_clock.h - nanoseconds from the CPU's time stamp counter; one read a turn.
 *
 * The rate is measured against CLOCK_MONOTONIC between tsc_clock_begin and
 * tsc_clock_finish, some tenths of a second apart: the error is about one part in a million. (EAL's
 * own figure is rounded to 10 MHz, an error of minutes a day.) While the program runs,
 * tsc_clock_correct measures the rate over minutes. It brings the clock back to the kernel's by the
 * rate alone, from a future moment on, so the clock neither jumps nor goes back. Dates of expiry
 * are told by it, so it keeps to the clock that NTP disciplines, as memcached's does.
 *
 * Units:  ns of CLOCK_MONOTONIC, about; never goes back on one core, and between cores only as
 *         the counters differ (invariant TSC assumed).
 * Thread: begin, finish and correct by one thread; after tsc_clock_finish, tsc_clock_ns by any,
 *         without waiting.
 */
#ifndef CLOCKOO_TSC_CLOCK_H
#define CLOCKOO_TSC_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TSC_CLOCK_LEAD_NS       100000000ull   /* a correction begins so much later */
#define TSC_CLOCK_WINDOW_NS     64000000000ull /* rates are measured over so long, to twice that */
#define TSC_CLOCK_SLEW          1000u /* the clock is off its rate by a part in this at most, */
#define TSC_CLOCK_CORRECTION_NS 16000000000ll /* and by what it takes to be right after so long */

/* Both clocks at one time. */
struct tsc_sample {
	uint64_t tsc;
	uint64_t ns;
};

/* Two straight lines that meet at a moment; rates are ns a tick, times 2^32. */
struct tsc_line {
	_Atomic uint64_t tsc, ns, rate_before, rate;
};

struct tsc_clock {
	/* Readers take the one that is not being written: lines[version & 1]. */
	_Alignas(64) _Atomic uint32_t version;
	struct tsc_line lines[2];
	_Alignas(64) struct tsc_sample base, next_base, last; /* of measurements; the writer's */
	bool outlier;                                         /* the last one was */
};

void tsc_clock_begin(struct tsc_clock *clock);
void tsc_clock_finish(struct tsc_clock *clock);
/* About every second. */
void tsc_clock_correct(struct tsc_clock *clock);
uint64_t tsc_clock_ns(const struct tsc_clock *clock);
/* Of this CPU; for spans within a turn. */
uint64_t tsc_cycles(void);

/* The same for tests, with the samples given. */
void tsc_clock_start_at(struct tsc_clock *clock, struct tsc_sample begin, struct tsc_sample end);
void tsc_clock_correct_at(struct tsc_clock *clock, struct tsc_sample now);
uint64_t tsc_clock_ns_at(const struct tsc_clock *clock, uint64_t tsc);

#endif

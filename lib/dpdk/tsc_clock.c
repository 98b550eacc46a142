/*
 * tsc_clock.c - computes time from the CPU's counter. The counter's rate is measured, and corrected
 * by the kernel's clock.
 */
#include "tsc_clock.h"

#include "base/ticks.h"
#include "base/time_units.h"

#include <stdbool.h>
#include <time.h>

#include <rte_cycles.h>

#define SAMPLES      8u
#define WINDOW_NS    50000000ull /* least time between begin and finish */
#define TICK_SHIFT   32
#define OUTLIER_PART 500u /* a rate that is off by more than 1/OUTLIER_PART is an outlier */

/* Reads both clocks at one moment: makes several tries, and uses the one with the least time
 * between its reads. The kernel's clock is the one that NTP disciplines; its slew at the moment of
 * the start is an error of the rate until the first corrections. */
static struct tsc_sample
sample(void)
{
	struct tsc_sample m = {0};
	uint64_t best = UINT64_MAX;

	for (uint32_t i = 0; i < SAMPLES; i++) {
		const uint64_t before = ticks_read_after();
		const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
		const uint64_t gap = ticks_read_after() - before;

		if (gap < best) {
			best = gap;
			m = (struct tsc_sample){before + gap / 2, now_ns};
		}
	}
	return m;
}

/* The values of one line of the clock, as readers and writers handle them. */
struct line {
	uint64_t tsc, ns, rate_before, rate;
};

static uint64_t
line_ns(const struct line *l, uint64_t tsc)
{
	const int64_t ticks = (int64_t)(tsc - l->tsc);
	const uint64_t rate = ticks < 0 ? l->rate_before : l->rate;

	return l->ns + (uint64_t)((__int128)ticks * (int64_t)rate >> TICK_SHIFT);
}

static struct line
line_read(const struct tsc_line *from)
{
	return (struct line){
		.tsc = atomic_load_explicit(&from->tsc, memory_order_relaxed),
		.ns = atomic_load_explicit(&from->ns, memory_order_relaxed),
		.rate_before = atomic_load_explicit(&from->rate_before, memory_order_relaxed),
		.rate = atomic_load_explicit(&from->rate, memory_order_relaxed),
	};
}

static void
line_write(struct tsc_line *to, const struct line *l)
{
	atomic_store_explicit(&to->tsc, l->tsc, memory_order_relaxed);
	atomic_store_explicit(&to->ns, l->ns, memory_order_relaxed);
	atomic_store_explicit(&to->rate_before, l->rate_before, memory_order_relaxed);
	atomic_store_explicit(&to->rate, l->rate, memory_order_relaxed);
}

/* Publishes a line. Each copy is written while readers use the other one. A late reader notices
 * that the version has changed, and reads again. */
static void
publish(struct tsc_clock *clock, const struct line *l)
{
	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t version =
			atomic_load_explicit(&clock->version, memory_order_relaxed) + 1;

		/* Release: the copy that readers will use now is complete. */
		atomic_store_explicit(&clock->version, version, memory_order_release);
		/* Release: the version is visible before the other copy changes. Pairs with the
		 * fence in current_line. */
		atomic_thread_fence(memory_order_release);
		line_write(&clock->lines[(version & 1) ^ 1], l);
	}
}

static struct line
current_line(const struct tsc_clock *clock)
{
	uint32_t version, after;
	struct line l;

	do {
		/* Acquire: pairs with the release in publish. */
		version = atomic_load_explicit(&clock->version, memory_order_acquire);
		l = line_read(&clock->lines[version & 1]);
		atomic_thread_fence(memory_order_acquire);
		after = atomic_load_explicit(&clock->version, memory_order_relaxed);
	} while (version != after);
	return l;
}

/* Returns the rate between two samples. */
static uint64_t
rate_between(struct tsc_sample a, struct tsc_sample b)
{
	return (uint64_t)(((unsigned __int128)(b.ns - a.ns) << TICK_SHIFT) / (b.tsc - a.tsc));
}

void
tsc_clock_start_at(struct tsc_clock *clock, struct tsc_sample begin, struct tsc_sample end)
{
	const uint64_t rate = rate_between(begin, end);
	const struct line l = {.tsc = begin.tsc, .ns = begin.ns, .rate_before = rate, .rate = rate};

	clock->base = clock->next_base = clock->last = begin;
	publish(clock, &l);
}

void
tsc_clock_begin(struct tsc_clock *clock)
{
	clock->base = sample();
}

void
tsc_clock_finish(struct tsc_clock *clock)
{
	struct tsc_sample m = sample();

	if (m.ns - clock->base.ns < WINDOW_NS) {
		rte_delay_us_sleep((unsigned int)(WINDOW_NS / 1000));
		m = sample();
	}
	tsc_clock_start_at(clock, clock->base, m);
}

uint64_t
tsc_clock_ns_at(const struct tsc_clock *clock, uint64_t tsc)
{
	const struct line l = current_line(clock);

	return line_ns(&l, tsc);
}

uint64_t
tsc_clock_ns(const struct tsc_clock *clock)
{
	return tsc_clock_ns_at(clock, ticks_read());
}

/* ---- while it runs ---- */

/* True if the rate since the last measurement differs from the line's rate by more than its
 * error. */
static bool
is_outlier(const struct tsc_clock *clock, const struct line *l, struct tsc_sample now)
{
	const uint64_t rate = rate_between(clock->last, now), off = l->rate / OUTLIER_PART;

	return rate < l->rate - off || rate > l->rate + off;
}

/* Returns the rate of the counter since the base. 0: it is not known, and measuring starts again,
 * since the machine was stopped or migrated, which affected one of the clocks only. If that happens
 * twice in a row, the counter itself has another rate. */
static uint64_t
measured(struct tsc_clock *clock, const struct line *l, struct tsc_sample now)
{
	const bool forward = now.tsc > clock->last.tsc && now.ns > clock->last.ns;
	const bool outlier = !forward || is_outlier(clock, l, now), again = clock->outlier;
	uint64_t rate;

	clock->last = now;
	clock->outlier = outlier;
	if (outlier && !(forward && again)) {
		clock->base = clock->next_base = now;
		return 0;
	}
	rate = rate_between(clock->base, now);
	if (now.ns - clock->next_base.ns >= TSC_CLOCK_WINDOW_NS) {
		clock->base = clock->next_base;
		clock->next_base = now;
	}
	return rate;
}

/* Returns the rate that removes an error of `ahead` ns within the correction interval. */
static uint64_t
slewed(uint64_t rate, int64_t ahead)
{
	const int64_t most = TSC_CLOCK_CORRECTION_NS / TSC_CLOCK_SLEW;
	const int64_t correction = ahead > most ? most : ahead < -most ? -most : ahead;

	return rate - (uint64_t)((__int128)(int64_t)rate * correction / TSC_CLOCK_CORRECTION_NS);
}

void
tsc_clock_correct_at(struct tsc_clock *clock, struct tsc_sample now)
{
	const struct line l = current_line(clock);
	const uint64_t rate = measured(clock, &l, now);
	struct line next;

	/* The moment at which the two present lines meet is not reached yet. */
	if (rate == 0 || (int64_t)(now.tsc - l.tsc) < 0)
		return;
	next.tsc =
		now.tsc + (uint64_t)(((unsigned __int128)TSC_CLOCK_LEAD_NS << TICK_SHIFT) / rate);
	/* 1 is added since both values are rounded down, so that the clock never goes back. */
	next.ns = line_ns(&l, next.tsc) + 1;
	next.rate_before = l.rate;
	next.rate = slewed(rate, (int64_t)(line_ns(&l, now.tsc) - now.ns));
	publish(clock, &next);
}

void
tsc_clock_correct(struct tsc_clock *clock)
{
	tsc_clock_correct_at(clock, sample());
}

uint64_t
tsc_cycles(void)
{
	return ticks_read();
}

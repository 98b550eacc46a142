#include "tsc_clock.h"

#include <time.h>

#include <rte_cycles.h>

#define SAMPLES    8u
#define WINDOW_NS  50000000ull /* at least this long between begin and finish */
#define TICK_SHIFT 32

struct moment {
	uint64_t tsc;
	uint64_t ns;
};

/* As the kernel counts it without NTP's hand on it: a rate that is measured while the clock is
 * slewed would stay wrong by that. */
static uint64_t
monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* Both clocks at one moment: of some tries, the one with the least time between its reads. */
static struct moment
sample(void)
{
	struct moment m = {0};
	uint64_t best = UINT64_MAX;

	for (uint32_t i = 0; i < SAMPLES; i++) {
		const uint64_t before = rte_rdtsc_precise();
		const uint64_t now_ns = monotonic_ns();
		const uint64_t gap = rte_rdtsc_precise() - before;

		if (gap < best) {
			best = gap;
			m = (struct moment){before + gap / 2, now_ns};
		}
	}
	return m;
}

void
tsc_clock_begin(struct tsc_clock *clock)
{
	const struct moment m = sample();

	clock->tsc_begin = m.tsc;
	clock->ns_begin = m.ns;
}

void
tsc_clock_finish(struct tsc_clock *clock)
{
	struct moment m = sample();

	if (m.ns - clock->ns_begin < WINDOW_NS) {
		rte_delay_us_sleep((unsigned int)(WINDOW_NS / 1000));
		m = sample();
	}
	clock->ns_per_tick =
		(uint64_t)(((unsigned __int128)(m.ns - clock->ns_begin) << TICK_SHIFT) /
			   (m.tsc - clock->tsc_begin));
}

uint64_t
tsc_clock_ns(const struct tsc_clock *clock)
{
	const uint64_t ticks = rte_rdtsc() - clock->tsc_begin;

	return clock->ns_begin +
	       (uint64_t)((unsigned __int128)ticks * clock->ns_per_tick >> TICK_SHIFT);
}

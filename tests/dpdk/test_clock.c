/*
 * The clock that is corrected while it runs. Goal: the clock reaches the kernel's time and stays
 * there, and no reader ever sees it jump or go back. Method: a counter and a kernel's clock of
 * our own; a correction each second, and a reading each millisecond that is compared with the one
 * before. One reading of the machine's own clocks.
 */
#include "base/time_units.h"
#include "dpdk/tsc_clock.h"
#include "support/test.h"

#include <pthread.h>
#include <time.h>

#define TSC_BEGIN (1ull << 62) /* large; the value does not matter */
#define NS_BEGIN  (77 * NS_PER_S)

/* A counter of 25 MHz to 4 GHz, with its real rate. */
struct world {
	uint64_t tsc, ns; /* ns: the kernel's */
	double hz;
	struct tsc_clock clock;
	uint64_t last_ns; /* the clock's last reading */
};

static struct tsc_sample
now_in(const struct world *w)
{
	return (struct tsc_sample){w->tsc, w->ns};
}

/* Returns a world whose clock measured its rate wrong by this much. */
static struct world
world_begin(double hz, double wrong_ppm)
{
	struct world w = {.tsc = TSC_BEGIN, .ns = NS_BEGIN, .hz = hz};
	const struct tsc_sample begin = now_in(&w),
				end = {TSC_BEGIN + (uint64_t)(hz * (1 + wrong_ppm / 1e6)),
				       NS_BEGIN + NS_PER_S};

	tsc_clock_start_at(&w.clock, begin, end);
	w.last_ns = tsc_clock_ns_at(&w.clock, w.tsc);
	check_eq(w.last_ns, NS_BEGIN);
	return w;
}

/* Runs a second. A millisecond's step of the clock is off by at most off_ns. */
static void
second(struct world *w, uint64_t off_ns)
{
	const uint64_t tsc = w->tsc;

	for (uint32_t ms = 1; ms <= 1000; ms++) {
		uint64_t ns;

		w->tsc = tsc + (uint64_t)(w->hz / 1000 * ms);
		w->ns += NS_PER_MS;
		ns = tsc_clock_ns_at(&w->clock, w->tsc);
		check(ns >= w->last_ns + NS_PER_MS - off_ns);
		check(ns <= w->last_ns + NS_PER_MS + off_ns);
		w->last_ns = ns;
	}
}

/* Corrects the clock. It must read the same before and after, except for a ns: anything else
 * would be a jump. */
static void
correct(struct world *w)
{
	const uint64_t before = tsc_clock_ns_at(&w->clock, w->tsc);
	uint64_t after;

	tsc_clock_correct_at(&w->clock, now_in(w));
	after = tsc_clock_ns_at(&w->clock, w->tsc);
	check(after >= before);
	check(after <= before + 2);
}

static void
seconds(struct world *w, uint32_t count, uint64_t off_ns)
{
	for (uint32_t i = 0; i < count; i++) {
		second(w, off_ns);
		correct(w);
	}
}

static int64_t
ahead_ns(const struct world *w)
{
	return (int64_t)(tsc_clock_ns_at(&w->clock, w->tsc) - w->ns);
}

static void
check_right(const struct world *w, int64_t within_ns)
{
	check(ahead_ns(w) <= within_ns);
	check(ahead_ns(w) >= -within_ns);
}

/* The most that a millisecond may be off: a part in TSC_CLOCK_SLEW, and the error of the rate. */
#define OFF_NS 1600u

TEST(it_comes_to_the_kernels_time_and_stays_there)
{
	static const struct {
		double hz, wrong_ppm, then_ppm; /* a later change of the counter's rate */
	} rows[] = {
		{2.4e9, 0, 0},       {2.4e9, 1, 0},      {2.4e9, -500, 0},    {3.9999e9, 500, 0},
		{2.0e9, 20, 50},     {2.6e9, -100, -50}, {1.0000001e9, 3, 1}, {25e6, 20, 0},
		{62.5e6, -100, -50}, /* arm64, before Armv8.6 */
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct world w = world_begin(rows[i].hz, rows[i].wrong_ppm);

		seconds(&w, 200, OFF_NS);
		check_right(&w, 100);
		w.hz *= 1 + rows[i].then_ppm / 1e6;
		seconds(&w, 400, OFF_NS);
		check_right(&w, 100);
	}
}

/* Without corrections the clock drifts by the error of its rate: otherwise the test would show no
 * correction. */
TEST(without_corrections_it_goes_astray)
{
	struct world w = world_begin(2.4e9, 20);

	for (uint32_t i = 0; i < 200; i++)
		second(&w, OFF_NS);
	check(ahead_ns(&w) < -3900000);
}

/* After a stop of the machine the kernel's clock has advanced and the counter has not, or the
 * other way round. The clock follows slowly. */
TEST(a_jump_of_either_clock_is_made_good_without_one)
{
	static const int64_t jumps_ms[] = {30, -30};

	for (size_t i = 0; i < sizeof jumps_ms / sizeof *jumps_ms; i++) {
		struct world w = world_begin(2.4e9, 1);

		seconds(&w, 100, OFF_NS);
		w.ns += (uint64_t)(jumps_ms[i] * (int64_t)NS_PER_MS);
		seconds(&w, 10, OFF_NS);
		check(ahead_ns(&w) * (jumps_ms[i] > 0 ? -1 : 1) > 15 * (int64_t)NS_PER_MS);
		seconds(&w, 600, OFF_NS);
		check_right(&w, 100);
	}
}

/* A machine that moves to another one may find a counter of another rate. */
TEST(another_rate_is_believed_when_it_is_measured_twice)
{
	struct world w = world_begin(2.4e9, 1);

	seconds(&w, 100, OFF_NS);
	w.hz = 3.0e9;
	seconds(&w, 4, NS_PER_MS / 3);
	seconds(&w, 1200, OFF_NS);
	check_right(&w, 100);
}

/* ---- the kernel's clock ---- */

#define NEAR_NS (10 * NS_PER_MS)

/* CLOCK_MONOTONIC_RAW drifts from CLOCK_MONOTONIC by seconds a day, and dates of expiry would
 * drift with it. On a machine whose two clocks agree so far, the test finds nothing. */
TEST(it_is_the_clock_that_ntp_disciplines)
{
	struct tsc_clock clock;
	uint64_t before, ns, after;

	tsc_clock_begin(&clock);
	tsc_clock_finish(&clock);
	before = clock_ns(CLOCK_MONOTONIC);
	ns = tsc_clock_ns(&clock);
	after = clock_ns(CLOCK_MONOTONIC);
	check(ns >= before - NEAR_NS);
	check(ns <= after + NEAR_NS);
}

/* ---- readers beside the writer ---- */

#define CORRECTIONS 200000u

struct race {
	struct tsc_clock clock;
	_Atomic bool over;
	_Atomic uint64_t since;
	uint64_t wrong, readings;
};

/* Reads on while the clock is corrected. Counter and kernel's clock run at one rate here, so any
 * whole line gives the right time. A mixture of two is off by the time between corrections. */
static void *
read_on(void *arg)
{
	struct race *r = arg;

	while (!atomic_load(&r->over)) {
		const uint64_t since = atomic_load(&r->since);
		const uint64_t ns = tsc_clock_ns_at(&r->clock, TSC_BEGIN + since);

		const bool late = atomic_load(&r->since) - since > NS_PER_S;

		/* A late reader asks for a time before the line's own. */
		r->wrong += !late && (ns < NS_BEGIN + since - 1000 || ns > NS_BEGIN + since + 1000);
		r->readings++;
	}
	return NULL;
}

TEST(a_reader_never_sees_half_of_a_correction)
{
	static struct race r;
	const struct tsc_sample begin = {TSC_BEGIN, NS_BEGIN};
	const struct tsc_sample end = {TSC_BEGIN + NS_PER_S, NS_BEGIN + NS_PER_S};
	pthread_t reader;

	tsc_clock_start_at(&r.clock, begin, end);
	check_eq(pthread_create(&reader, NULL, read_on, &r), 0);
	for (uint64_t i = 1; i <= CORRECTIONS; i++) {
		const uint64_t since = 200 * NS_PER_MS * i;

		tsc_clock_correct_at(&r.clock,
				     (struct tsc_sample){TSC_BEGIN + since, NS_BEGIN + since});
		atomic_store(&r.since, since);
	}
	atomic_store(&r.over, true);
	pthread_join(reader, NULL);
	check_eq(r.wrong, 0);
}

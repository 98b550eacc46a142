/*
 * test_front_level.c - tests that the bound holds with the product's placement and admission.
 *
 * Goal: an admission that admits everything, nothing, or keys requested long ago is detected.
 * Method: fleets of 10 to 85 servers before loads of one seed; the figures of front_level.c with
 *         fewer requests, against limits that its mutants break (meson.build).
 */
#include "level_run.h"

#include "support/test.h"

#include <math.h>

#define ROUNDS   100u /* requests relative to c, before they are counted */
#define REQUESTS 400000u

static struct level_fleet
even(uint32_t n)
{
	return (struct level_fleet){n, FRONT_MODULA, FRONT_HASH_MD5, 1};
}

static struct level_loads
simulate(uint32_t n, enum level_cache cache, enum level_load load, double by_c)
{
	const struct level_fleet fleet = even(n);
	const uint32_t c = admission_items(1.0 / n), x = (uint32_t)(c * by_c);
	const struct level_run run = {.cache = cache,
				      .load = load,
				      .items = c,
				      .keys = x,
				      .warm = (uint64_t)ROUNDS * c,
				      .requests = REQUESTS};
	struct level_world w;
	struct level_loads l;

	level_open(&w, &fleet, x, 1);
	l = level_simulate(&w, &run);
	level_close(&w);
	return l;
}

TEST(an_adversary_finds_no_x_above_the_bound)
{
	static const uint32_t n[] = {10, 30, 85};
	static const double by_c[] = {1.1, 3, 20};

	for (size_t i = 0; i < 9; i++)
		check(simulate(n[i / 3], LEVEL_FRONT, LEVEL_UNIFORM, by_c[i % 3]).busiest <= 1.10);
}

/* CLOCK alone must break the bound, or this test would prove nothing. */
TEST(a_scan_finds_none_either)
{
	static const double by_c[] = {1.02, 1.3, 3};

	for (size_t i = 0; i < 3; i++) {
		check(simulate(85, LEVEL_FRONT, LEVEL_SCAN, by_c[i]).busiest <= 1.05);
		check(simulate(85, LEVEL_CLOCK, LEVEL_SCAN, by_c[i]).busiest >= 1.20);
	}
}

/* Has 302,200 keys; without admission by frequency 0.59 of the requests are hits. */
TEST(what_is_asked_most_is_kept)
{
	const struct level_loads l = simulate(85, LEVEL_FRONT, LEVEL_ZIPF101, 100);

	check(l.busiest <= 0.50);
	check(l.hits >= 0.62);
}

/* The x keys change every 100 c requests. */
TEST(what_was_asked_long_ago_is_not)
{
	const struct level_fleet fleet = even(30);
	const uint32_t c = admission_items(1.0 / 30);
	const struct level_run run = {.load = LEVEL_UNIFORM,
				      .items = c,
				      .keys = c + c / 20,
				      .warm = 200ull * c,
				      .requests = 1000ull * c,
				      .shift_every = 100ull * c};
	struct level_world w;
	struct level_loads l;

	level_open(&w, &fleet, 20 * run.keys, 1);
	l = level_simulate(&w, &run);
	level_close(&w);
	check(l.busiest <= 0.80);
	check(l.hits >= 0.40);
}

TEST(the_same_seed_gives_the_same_figures)
{
	const struct level_loads a = simulate(10, LEVEL_FRONT, LEVEL_ZIPF101, 20),
				 b = simulate(10, LEVEL_FRONT, LEVEL_ZIPF101, 20);

	check_bytes(&a, &b, sizeof a);
}

/* Each key counts once for its server; the cached ones do not. */
TEST(a_perfect_cache_is_computed_right)
{
	const struct level_fleet fleet = even(10);
	struct level_world w;
	struct level_loads l;
	double loads[10], sum = 0;

	level_open(&w, &fleet, 1000, 1);
	l = level_perfect(&w, LEVEL_UNIFORM, 400, 1000);
	check(l.hits > 0.3999 && l.hits < 0.4001);
	level_nodes(&w, 1000, loads);
	for (uint32_t s = 0; s < 10; s++)
		sum += loads[s];
	check(sum > 9.999 && sum < 10.001);
	check(fabs(level_perfect(&w, LEVEL_UNIFORM, 0, 1000).busiest - loads[9]) < 1e-9);
	check(level_perfect(&w, LEVEL_UNIFORM, 1000, 1000).busiest == 0);
	level_close(&w);
}

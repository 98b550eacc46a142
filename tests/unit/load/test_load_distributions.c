/*
 * The distributions of a workload. Goal: keys are drawn with the chances their distribution
 * states, sizes have the paper's means and medians, arrivals come at the requested rate. Method:
 * chi-square against the distribution's own chances, fixed seeds; sums against closed forms.
 */
#include "load/key_distribution.h"
#include "load/schedule.h"
#include "load/size_distribution.h"
#include "support/test.h"

#include <math.h>
#include <stdlib.h>

#define DRAWS 400000u
#define CELLS 100u

/* The limit of the sum over the cells. With CELLS - 1 degrees of freedom it is above 160 with a
 * chance of 1 in 10,000, and the seeds are fixed. */
#define CHI_SQUARE_MAX 160.0

static double
chi_square(const uint32_t seen[CELLS], const double chance[CELLS])
{
	double sum = 0;

	for (uint32_t i = 0; i < CELLS; i++) {
		const double want = chance[i] * DRAWS, off = seen[i] - want;

		sum += off * off / want;
	}
	return sum;
}

/* Returns the cell of a rank: each of the first CELLS - 1 ranks has its
 * own, the others share one. */
static uint32_t
cell_of_rank(uint32_t rank)
{
	return rank < CELLS - 1 ? rank : CELLS - 1;
}

TEST(zipf_follows_its_law)
{
	static const struct {
		uint32_t n;
		double s;
	} rows[] = {{1000, 0.5}, {1000, 0.99}, {100000, 0.99}, {1000, 1}, {5000, 1.2}, {200, 3}};

	for (uint32_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
		struct load_rng rng = {100 + row};
		double chance[CELLS] = {0}, all = 0;
		uint32_t seen[CELLS] = {0};
		struct zipf z;

		for (uint32_t rank = 1; rank <= rows[row].n; rank++)
			all += pow(rank, -rows[row].s);
		for (uint32_t rank = 1; rank <= rows[row].n; rank++)
			chance[cell_of_rank(rank - 1)] += pow(rank, -rows[row].s) / all;
		zipf_init(&z, rows[row].n, rows[row].s);
		for (uint32_t i = 0; i < DRAWS; i++) {
			const uint32_t rank = zipf_draw(&z, &rng);

			check(rank >= 1 && rank <= rows[row].n);
			seen[cell_of_rank(rank - 1)]++;
		}
		if (rows[row].s < 2) /* with larger s the cells are too thin for the test */
			check(chi_square(seen, chance) < CHI_SQUARE_MAX);
		else
			check(fabs(seen[0] - chance[0] * DRAWS) < 4 * sqrt(DRAWS));
	}
}

TEST(one_key_is_always_drawn)
{
	static const enum key_distribution_kind kinds[] = {KEYS_UNIFORM, KEYS_ZIPF, KEYS_HOT};

	for (uint32_t i = 0; i < 3; i++) {
		struct key_distribution dist = {.kind = kinds[i],
						.n = 1,
						.zipf_s = 1.1,
						.hot_requests = 0.5,
						.hot_keys = 0.5};
		struct load_rng rng = {3};

		key_distribution_init(&dist);
		for (uint32_t k = 0; k < 100; k++)
			check_eq(key_distribution_draw(&dist, &rng), 0);
	}
}

TEST(uniform_keys_are_alike)
{
	struct key_distribution dist = {.kind = KEYS_UNIFORM, .n = 5000};
	double chance[CELLS];
	uint32_t seen[CELLS] = {0};
	struct load_rng rng = {11};

	key_distribution_init(&dist);
	for (uint32_t i = 0; i < DRAWS; i++)
		seen[key_distribution_draw(&dist, &rng) * CELLS / dist.n]++;
	for (uint32_t i = 0; i < CELLS; i++)
		chance[i] = 1.0 / CELLS;
	check(chi_square(seen, chance) < CHI_SQUARE_MAX);
}

TEST(a_hot_set_gets_its_share_and_no_two_ranks_are_one_key)
{
	struct key_distribution dist = {
		.kind = KEYS_HOT, .n = 1000, .hot_requests = 0.9, .hot_keys = 0.1};
	static uint32_t seen[1000];
	struct load_rng rng = {12};
	uint32_t hot = 0, hot_keys = 0;

	key_distribution_init(&dist);
	for (uint32_t i = 0; i < DRAWS; i++)
		seen[key_distribution_draw(&dist, &rng)]++;
	for (uint32_t i = 0; i < dist.n; i++) {
		check(seen[i] != 0);
		if (seen[i] < DRAWS / dist.n)
			continue;
		hot += seen[i];
		hot_keys++;
	}
	check_eq(hot_keys, 100);
	check(fabs(hot - 0.9 * DRAWS) < 5 * sqrt(DRAWS));
}

TEST(etc_sizes_have_the_papers_means)
{
	static struct size_distribution dist;
	/* The table's mean of values below 15, and 15 + sigma / (1 - k) for the tail. */
	static const double table[] = {0.00536, 0.00047, 0.17820, 0.09239, 0.00018,
				       0.02740, 0.00065, 0.00606, 0.00023, 0.00837,
				       0.00837, 0.08989, 0.00092, 0.00326, 0.01980};
	double mean = 0, tail = 1;

	for (uint32_t i = 0; i < 15; i++) {
		mean += i * table[i];
		tail -= table[i];
	}
	mean += tail * (15 + 214.476 / (1 - 0.348238));
	size_distribution_etc_values(&dist, 0, 1u << 20);
	check(dist.mean > 0.98 * mean && dist.mean < 1.01 * mean);
	check_eq(dist.least, 0);
	check(dist.most > 8000);
	/* The share of 2-byte values is 8 in 45 of the small ones. */
	uint32_t twos = 0;
	for (uint32_t i = 0; i < SIZE_STEPS; i++)
		twos += dist.at[i] == 2;
	check(abs((int)twos - (int)(0.17820 * SIZE_STEPS)) <= 1);

	/* A generalized extreme value's mean: mu + sigma * (gamma(1 - k) - 1) / k. */
	size_distribution_etc_keys(&dist, 8, 250);
	mean = 30.7984 + 8.20449 * (tgamma(1 - 0.078688) - 1) / 0.078688;
	check(dist.mean > mean - 1 && dist.mean < mean + 0.5); /* whole bytes: 0.5 less */
	check(dist.least >= 8 && dist.most <= 250);
}

TEST(usr_and_uniform_sizes_are_what_they_say)
{
	static struct size_distribution dist;

	size_distribution_usr_keys(&dist);
	check_eq(dist.least, 16);
	check_eq(dist.most, 21);
	check(dist.mean == 18.5);
	size_distribution_usr_values(&dist);
	check(dist.mean == 2 && dist.least == 2 && dist.most == 2);
	size_distribution_uniform(&dist, 10, 1009);
	check_eq(dist.least, 10);
	check_eq(dist.most, 1009);
	check(fabs(dist.mean - 509.5) < 1);
	size_distribution_uniform(&dist, 32, 32);
	check(dist.least == 32 && dist.most == 32 && dist.mean == 32);
}

TEST(arrivals_come_at_the_rate_asked_for)
{
	static const enum arrivals kinds[] = {ARRIVALS_CONSTANT, ARRIVALS_POISSON};
	const uint64_t start_ns = 5000000000ull;
	const double rate = 3e6;

	for (uint32_t i = 0; i < 2; i++) {
		uint64_t last_ns = start_ns, n = 0, long_ones = 0;
		double squares = 0;
		struct schedule s;

		schedule_start(&s, kinds[i], rate, start_ns, 17);
		for (; schedule_due_ns(&s) < start_ns + 1000000000ull; n++) {
			const double gap = (double)(schedule_due_ns(&s) - last_ns) * rate / 1e9;

			squares += (gap - 1) * (gap - 1);
			long_ones += gap > 6;
			last_ns = schedule_due_ns(&s);
			schedule_pop(&s);
		}
		check(fabs((double)n - rate) < (i == 0 ? 2 : 5 * sqrt(rate)));
		/* Constant gaps have no variance; Poisson gaps have that of an exponential
		 * distribution. */
		if (kinds[i] == ARRIVALS_CONSTANT)
			check(squares / (double)n < 0.01);
		else
			check(fabs(squares / (double)n - 1) < 0.02);
		/* Poisson gaps also have the exponential tail. */
		if (kinds[i] == ARRIVALS_POISSON)
			check(fabs((double)long_ones - rate * exp(-6)) < 5 * sqrt(rate * exp(-6)));
	}
}

TEST(requests_that_were_not_sent_are_counted)
{
	struct schedule s;

	schedule_start(&s, ARRIVALS_CONSTANT, 1e6, 0, 1);
	check_eq(schedule_due_ns(&s), 1000);
	check_eq(schedule_unsent(&s, 1000000), 1000);
	for (uint32_t i = 0; i < 600; i++)
		schedule_pop(&s);
	check_eq(schedule_unsent(&s, 1000000), 400);
	check_eq(schedule_unsent(&s, 1000), 0);
}

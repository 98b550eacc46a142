/*
 * Latencies are recorded to three significant digits. Goal: every value is read back within a
 * part in HISTOGRAM_HALF, quantiles are those of the sorted values, and merged histograms equal
 * one that has recorded all values. Method: values of every magnitude, and a plain sorted array
 * beside the histogram.
 */
#include "load/histogram.h"
#include "load/load_rng.h"
#include "support/sorted.h"
#include "support/test.h"

#include <stdlib.h>

#define VALUES 20000u

static struct histogram *
made(void)
{
	struct histogram *h = malloc(sizeof *h);

	check_ptr(h);
	histogram_clear(h);
	return h;
}

TEST(a_value_comes_back_within_a_part_in_a_thousand)
{
	struct histogram *h = made();

	for (uint64_t base = 1; base < HISTOGRAM_END; base *= 3) {
		for (uint64_t v = base > 4 ? base - 4 : 1; v < base + 4; v++) {
			uint64_t got;

			histogram_clear(h);
			histogram_add(h, v);
			h->most = UINT64_MAX; /* the bucket itself answers */
			got = histogram_quantile(h, 0.5);
			check(got >= v);
			check((got - v) * HISTOGRAM_HALF <= v);
		}
	}
	free(h);
}

TEST(buckets_grow_with_values_and_none_is_beyond_the_last)
{
	uint32_t before = 0;

	for (uint64_t v = 0; v < HISTOGRAM_END; v += 1 + v / 5000) {
		const uint32_t i = histogram_bucket(v);

		check(i == before || i == before + 1);
		check(i < HISTOGRAM_BUCKETS);
		before = i;
	}
	check_eq(histogram_bucket(HISTOGRAM_END - 1), HISTOGRAM_BUCKETS - 1);
	check_eq(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
}

TEST(quantiles_are_those_of_the_sorted_values)
{
	static const double shares[] = {0, 0.01, 0.5, 0.9, 0.99, 0.999, 1};
	static uint64_t values[VALUES];
	struct histogram *h = made(), *half[2] = {made(), made()};
	struct load_rng rng = {7};
	double sum = 0;

	for (uint32_t i = 0; i < VALUES; i++) {
		values[i] = load_random(&rng) >> (24 + load_below(&rng, 30));
		sum += (double)values[i];
		histogram_add(half[i % 2], values[i]);
	}
	histogram_merge(h, half[0]);
	histogram_merge(h, half[1]);
	sort_u64(values, VALUES);
	for (uint32_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
		const double rank = shares[i] * VALUES;
		const uint32_t at = rank < 1 ? 0 : (uint32_t)(rank + 0.999999) - 1;
		const uint64_t got = histogram_quantile(h, shares[i]);

		check(got >= values[at]);
		check(got - values[at] <= values[at] / HISTOGRAM_HALF);
	}
	check_eq(h->count, VALUES);
	check_eq(h->most, values[VALUES - 1]);
	check_eq(h->least, values[0]);
	check_eq(histogram_quantile(h, 1), h->most);
	check(histogram_mean(h) > sum / VALUES * 0.999999);
	check(histogram_mean(h) < sum / VALUES * 1.000001);
	free(h);
	free(half[0]);
	free(half[1]);
}

TEST(an_empty_one_answers_zero)
{
	struct histogram *h = made();

	check_eq(histogram_quantile(h, 0.99), 0);
	check(histogram_mean(h) == 0);
	free(h);
}

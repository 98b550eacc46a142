/*
 * histogram.c - values into log-linear buckets, and quantiles out of them.
 */
#include "histogram.h"

#include <math.h>
#include <string.h>

void
histogram_clear(struct histogram *h)
{
	memset(h, 0, sizeof *h);
	h->least = UINT64_MAX;
}

void
histogram_merge(struct histogram *into, const struct histogram *from)
{
	into->count += from->count;
	into->sum += from->sum;
	into->least = from->least < into->least ? from->least : into->least;
	into->most = from->most > into->most ? from->most : into->most;
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
}

/* Returns the largest value of bucket i. */
static uint64_t
bucket_end(uint32_t i)
{
	const uint32_t shift = i < 2 * HISTOGRAM_HALF ? 0 : i / HISTOGRAM_HALF - 1;
	const uint64_t top = i - shift * HISTOGRAM_HALF;

	return ((top + 1) << shift) - 1;
}

uint64_t
histogram_quantile(const struct histogram *h, double share)
{
	const double rank = ceil(share * (double)h->count);
	const uint64_t want = rank < 1 ? 1 : (uint64_t)rank;
	uint64_t seen = 0;

	if (h->count == 0)
		return 0;
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen >= want)
			return bucket_end(i) < h->most ? bucket_end(i) : h->most;
	}
	return h->most;
}

double
histogram_mean(const struct histogram *h)
{
	return h->count == 0 ? 0 : (double)h->sum / (double)h->count;
}

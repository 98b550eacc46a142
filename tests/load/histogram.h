/*
 * histogram.h - counts of latencies, to three significant digits, in constant time.
 *
 * Shape:  log-linear, as Tene's HdrHistogram: HISTOGRAM_HALF buckets of equal width for each
 *         power of two. Below 2 * HISTOGRAM_HALF every value has a bucket of its own; above, a
 *         bucket is at most one part in HISTOGRAM_HALF wide. One histogram a core, merged at the
 *         end.
 * Units:  those of the recorded values; here ns. least, most and sum are exact.
 * Thread: one writer; readers after it stopped.
 * Bounds: values from HISTOGRAM_END up count in the last bucket.
 */
#ifndef CLOCKOO_HISTOGRAM_H
#define CLOCKOO_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_HALF    1024u /* 1/1024 is below half a unit of the third digit's place */
#define HISTOGRAM_BITS    40u
#define HISTOGRAM_END     (1ull << HISTOGRAM_BITS) /* 1100 s in ns */
#define HISTOGRAM_BUCKETS ((HISTOGRAM_BITS - 9u) * HISTOGRAM_HALF)

struct histogram {
	uint64_t count, sum, least, most;
	uint64_t bucket[HISTOGRAM_BUCKETS];
};

static inline uint32_t
histogram_bucket(uint64_t value)
{
	const uint64_t v = value < HISTOGRAM_END ? value : HISTOGRAM_END - 1;
	const uint32_t shift = v < 2 * HISTOGRAM_HALF ? 0 : 53u - (uint32_t)__builtin_clzll(v | 1);

	return shift * HISTOGRAM_HALF + (uint32_t)(v >> shift);
}

static inline void
histogram_add(struct histogram *h, uint64_t value)
{
	h->bucket[histogram_bucket(value)]++;
	h->count++;
	h->sum += value;
	h->least = value < h->least ? value : h->least;
	h->most = value > h->most ? value : h->most;
}

void histogram_clear(struct histogram *h);
void histogram_merge(struct histogram *into, const struct histogram *from);

/* Returns the value that a share of 0..1 of all values does not exceed: the upper end of its
 * bucket, at most `most`; 0 if there is none. */
uint64_t histogram_quantile(const struct histogram *h, double share);
double histogram_mean(const struct histogram *h);

#endif

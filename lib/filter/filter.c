/*
 * filter.c - the fingerprint and the two buckets of a hash.
 */
#include "filter.h"

#include "filter_codes.h"

#define DIGIT_BITS (FILTER_CODE_BITS / FILTER_QUAD) /* bits of a slot that are its digit */

uint32_t
filter_values(const struct filter_shape *s)
{
	return s->sorted ? FILTER_DIGITS << (s->bits - DIGIT_BITS) : 1u << s->bits;
}

static uint32_t
scaled(uint32_t number, uint32_t below)
{
	return (uint32_t)((uint64_t)number * below >> 32);
}

static uint32_t
fingerprint_of(uint32_t values, uint64_t hash)
{
	return 1 + scaled((uint32_t)hash, values - 1);
}

static uint32_t
first_bucket(const struct filter_shape *s, uint64_t hash)
{
	return scaled((uint32_t)(hash >> 32), s->buckets);
}

/* Returns the sum of a fingerprint's two buckets, modulo their number. It applies Knuth's
 * multiplier and folds the high bits down, twice. */
static uint32_t
sum_of(const struct filter_shape *s, uint32_t fingerprint)
{
	uint32_t h = fingerprint * 0x9e3779b1u;

	h = (h ^ h >> 15) * 0x85ebca77u;
	return scaled(h ^ h >> 13, s->buckets);
}

uint32_t
filter_other_bucket(const struct filter_shape *s, uint32_t bucket, uint32_t fingerprint)
{
	const uint32_t sum = sum_of(s, fingerprint);

	return sum >= bucket ? sum - bucket : sum + (s->buckets - bucket);
}

struct filter_place
filter_place(const struct filter_shape *s, uint64_t hash)
{
	const uint32_t fingerprint = fingerprint_of(filter_values(s), hash),
		       first = first_bucket(s, hash);

	return (struct filter_place){
		.fingerprint = fingerprint,
		.buckets = {first, filter_other_bucket(s, first, fingerprint)},
	};
}

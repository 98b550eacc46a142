/*
 * key_distribution.c - a drawn rank becomes a key number by a fixed shuffle of all numbers.
 */
#include "key_distribution.h"

#define STEP_SHARE 0.6180339887 /* of n: the golden section spreads neighbours best */
#define STEP_TRIES 64u

static uint32_t
common_divisor(uint32_t a, uint32_t b)
{
	while (b != 0) {
		const uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static uint32_t
shuffle_step(uint32_t n)
{
	const uint32_t from = (uint32_t)(STEP_SHARE * n);

	/* Among 64 neighbours at least one is prime to n: no 32-bit number has enough prime
	 * factors to hit all (Jacobsthal's function is 40 at most for nine of them). */
	for (uint32_t i = 0; i < STEP_TRIES; i++)
		if (common_divisor(n, from + i) == 1)
			return from + i;
	return 1;
}

void
key_distribution_init(struct key_distribution *dist)
{
	const double hot = dist->hot_keys * dist->n;

	dist->step = shuffle_step(dist->n);
	if (dist->kind == KEYS_ZIPF)
		zipf_init(&dist->zipf, dist->n, dist->zipf_s);
	dist->hot_n = hot < 1 ? 1 : (uint32_t)hot;
	dist->hot_below =
		dist->hot_requests >= 1 ? UINT32_MAX : (uint32_t)(dist->hot_requests * 0x1p32);
}

/* Returns the number of the key with this rank, 0 the most popular. */
static inline uint32_t
key_of_rank(const struct key_distribution *dist, uint32_t rank)
{
	return (uint32_t)((uint64_t)rank * dist->step % dist->n);
}

uint32_t
key_distribution_draw(const struct key_distribution *dist, struct load_rng *r)
{
	switch (dist->kind) {
	case KEYS_ZIPF:
		return key_of_rank(dist, zipf_draw(&dist->zipf, r) - 1);
	case KEYS_HOT:
		if ((uint32_t)load_random(r) < dist->hot_below || dist->hot_n == dist->n)
			return key_of_rank(dist, load_below(r, dist->hot_n));
		return key_of_rank(dist, dist->hot_n + load_below(r, dist->n - dist->hot_n));
	case KEYS_UNIFORM:
		break;
	}
	return load_below(r, dist->n);
}

#include "key_law.h"

#define STEP_SHARE 0.6180339887 /* of n: the golden section spreads neighbours widest */
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

	/* Among 64 neighbours one is prime to n: no 32-bit number has prime factors enough to
	 * hit all (Jacobsthal's function is 40 at most for nine of them). */
	for (uint32_t i = 0; i < STEP_TRIES; i++)
		if (common_divisor(n, from + i) == 1)
			return from + i;
	return 1;
}

void
key_law_init(struct key_law *law)
{
	const double hot = law->hot_keys * law->n;

	law->step = shuffle_step(law->n);
	if (law->kind == KEYS_ZIPF)
		zipf_init(&law->zipf, law->n, law->zipf_s);
	law->hot_n = hot < 1 ? 1 : (uint32_t)hot;
	law->hot_below =
		law->hot_requests >= 1 ? UINT32_MAX : (uint32_t)(law->hot_requests * 0x1p32);
}

/* The number of the key with this rank, 0 the most popular. */
static inline uint32_t
key_of_rank(const struct key_law *law, uint32_t rank)
{
	return (uint32_t)((uint64_t)rank * law->step % law->n);
}

uint32_t
key_law_draw(const struct key_law *law, struct load_rng *r)
{
	switch (law->kind) {
	case KEYS_ZIPF:
		return key_of_rank(law, zipf_draw(&law->zipf, r) - 1);
	case KEYS_HOT:
		if ((uint32_t)load_random(r) < law->hot_below || law->hot_n == law->n)
			return key_of_rank(law, load_below(r, law->hot_n));
		return key_of_rank(law, law->hot_n + load_below(r, law->n - law->hot_n));
	case KEYS_UNIFORM:
		break;
	}
	return load_below(r, law->n);
}

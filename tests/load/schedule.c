/*
 * schedule.c - gaps between requests: constant, or exponential from a table of the logarithm.
 */
#include "schedule.h"

#include <math.h>

#define LN_2      0.69314718055994530942
#define FRAC_BITS 24u /* bits of a mantissa */
#define REST_BITS (FRAC_BITS - SCHEDULE_STEP_BITS)

/*
 * Draws from the exponential distribution with mean 1: the negative logarithm of a share u of 1.
 * The leading zeros of random bits are u's exponent; the bits after the first one are its
 * mantissa from 1/2 to 1, whose logarithm a table has, to two parts in a million. A call of log1p
 * costs as much as the request.
 */
static inline double
exponential(struct schedule *s)
{
	const uint64_t bits = load_random(&s->rng);
	const uint32_t zeros = (uint32_t)__builtin_clzll(bits | 1);
	const uint32_t frac = (uint32_t)(bits << zeros << 1 >> (64 - FRAC_BITS));
	const uint32_t step = frac >> REST_BITS;
	const float part = (float)(frac & ((1u << REST_BITS) - 1)) / (1u << REST_BITS);
	const float from = s->minus_ln[step];

	return zeros * LN_2 + (double)(from + part * (s->minus_ln[step + 1] - from));
}

void
schedule_start(struct schedule *s, enum arrivals arrivals, double rate, uint64_t now_ns,
	       uint64_t seed)
{
	s->arrivals = arrivals;
	s->gap_ns = 1e9 / rate;
	s->next_ns = (double)now_ns;
	s->rng.state = seed;
	for (uint32_t i = 0; i <= SCHEDULE_STEPS; i++)
		s->minus_ln[i] = (float)-log(0.5 + 0.5 * i / SCHEDULE_STEPS);
	schedule_pop(s);
}

void
schedule_pop(struct schedule *s)
{
	/* Poisson arrivals have exponential gaps. */
	s->next_ns += s->arrivals == ARRIVALS_POISSON ? s->gap_ns * exponential(s) : s->gap_ns;
	s->due_ns = (uint64_t)(int64_t)s->next_ns;
}

uint64_t
schedule_unsent(const struct schedule *s, uint64_t end_ns)
{
	const double left = (double)end_ns - s->next_ns;

	return left <= 0 ? 0 : (uint64_t)(left / s->gap_ns) + 1;
}

/*
 * zipf.c - ranks by rejection-inversion.
 */
#include "zipf.h"

#include <math.h>

/* If s is closer to 1 than this, the logarithm is used as the integral of x^-s: both then differ by
 * less than a part in 10^7 over 32 bits of ranks. */
#define S_IS_ONE 1e-8

static double
hat(const struct zipf *z, double x)
{
	return exp(-z->s * log(x));
}

/* Returns the integral of the hat from 1 to x. */
static double
area(const struct zipf *z, double x)
{
	const double e = 1 - z->s;

	return fabs(e) < S_IS_ONE ? log(x) : expm1(e * log(x)) / e;
}

static double
area_inverse(const struct zipf *z, double a)
{
	const double e = 1 - z->s;
	double t;

	if (fabs(e) < S_IS_ONE)
		return exp(a);
	t = e * a;
	/* Rounding may lead past the end of the integral, which is finite above s = 1. */
	return t <= -1 ? z->n + 0.5 : exp(log1p(t) / e);
}

void
zipf_init(struct zipf *z, uint32_t n, double s)
{
	double high;

	*z = (struct zipf){.s = s, .n = n};
	z->low = area(z, 1.5) - 1;
	high = area(z, n + 0.5);
	z->span = high - z->low;
	z->squeeze = 2 - area_inverse(z, area(z, 2.5) - hat(z, 2));
}

uint32_t
zipf_draw(const struct zipf *z, struct load_rng *r)
{
	for (uint32_t i = 0; i < ZIPF_TRIES_MAX; i++) {
		const double a = z->low + load_unit(r) * z->span;
		const double x = area_inverse(z, a);
		const double rounded = x + 0.5;
		const uint32_t k = rounded < 1 ? 1 : rounded > z->n ? z->n : (uint32_t)rounded;

		if (k - x <= z->squeeze || a >= area(z, k + 0.5) - hat(z, k))
			return k;
	}
	return 1;
}

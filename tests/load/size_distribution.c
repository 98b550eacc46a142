/*
 * size_distribution.c - quantiles of the sizes that Facebook measured, and of uniform ones.
 */
#include "size_distribution.h"

#include <math.h>

/* Frequencies of ETC values from 0 to 14 bytes: the paper's section 5. */
static const double etc_small[] = {
	0.00536, 0.00047, 0.17820, 0.09239, 0.00018, 0.02740, 0.00065, 0.00606,
	0.00023, 0.00837, 0.00837, 0.08989, 0.00092, 0.00326, 0.01980,
};
#define ETC_SMALL (sizeof etc_small / sizeof etc_small[0])

#define ETC_VALUE_SIGMA 214.476
#define ETC_VALUE_K     0.348238
#define ETC_KEY_MU      30.7984
#define ETC_KEY_SIGMA   8.20449
#define ETC_KEY_K       0.078688
#define USR_KEY_SHORT   16u
#define USR_KEY_LONG    21u
#define USR_VALUE       2u

/* Returns the size that a share u of all values does not exceed. */
static double
etc_value_quantile(double u)
{
	double small = 0;

	for (uint32_t i = 0; i < ETC_SMALL; i++) {
		small += etc_small[i];
		if (u < small)
			return i;
	}
	/* The tail is the generalized Pareto distribution, inverted at the share within it. */
	return ETC_SMALL +
	       ETC_VALUE_SIGMA / ETC_VALUE_K * (pow((1 - u) / (1 - small), -ETC_VALUE_K) - 1);
}

static double
etc_key_quantile(double u)
{
	return ETC_KEY_MU + ETC_KEY_SIGMA / ETC_KEY_K * (pow(-log(u), -ETC_KEY_K) - 1);
}

/* Fills the table: each step's size is the quantile of its middle. */
static void
fill(struct size_distribution *dist, double (*quantile)(double u), uint32_t least, uint32_t most)
{
	double sum = 0;

	dist->least = most;
	dist->most = least;
	for (uint32_t i = 0; i < SIZE_STEPS; i++) {
		const double q = quantile((i + 0.5) / SIZE_STEPS);
		const uint32_t size = q < least ? least : q > most ? most : (uint32_t)q;

		dist->at[i] = size;
		dist->least = size < dist->least ? size : dist->least;
		dist->most = size > dist->most ? size : dist->most;
		sum += size;
	}
	dist->mean = sum / SIZE_STEPS;
}

void
size_distribution_uniform(struct size_distribution *dist, uint32_t least, uint32_t most)
{
	double sum = 0;

	for (uint32_t i = 0; i < SIZE_STEPS; i++) {
		dist->at[i] = least + (uint32_t)((uint64_t)(most - least + 1) * i / SIZE_STEPS);
		sum += dist->at[i];
	}
	dist->least = dist->at[0];
	dist->most = dist->at[SIZE_STEPS - 1];
	dist->mean = sum / SIZE_STEPS;
}

void
size_distribution_etc_keys(struct size_distribution *dist, uint32_t least, uint32_t most)
{
	fill(dist, etc_key_quantile, least, most);
}

void
size_distribution_etc_values(struct size_distribution *dist, uint32_t least, uint32_t most)
{
	fill(dist, etc_value_quantile, least, most);
}

static double
usr_key_quantile(double u)
{
	return u < 0.5 ? USR_KEY_SHORT : USR_KEY_LONG;
}

void
size_distribution_usr_keys(struct size_distribution *dist)
{
	fill(dist, usr_key_quantile, USR_KEY_SHORT, USR_KEY_LONG);
}

void
size_distribution_usr_values(struct size_distribution *dist)
{
	size_distribution_uniform(dist, USR_VALUE, USR_VALUE);
}

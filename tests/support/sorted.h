/*
 * sorted.h - numbers in ascending order, for percentiles.
 *
 * Thread: pure functions.
 */
#ifndef CLOCKOO_SORTED_H
#define CLOCKOO_SORTED_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static inline int
u64_compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static inline int
double_compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static inline void
sort_u64(uint64_t *values, size_t count)
{
	qsort(values, count, sizeof *values, u64_compare);
}

static inline void
sort_doubles(double *values, size_t count)
{
	qsort(values, count, sizeof *values, double_compare);
}

#endif

/*
 * size_units.h - bytes in megabytes (2^20).
 */
#ifndef CLOCKOO_SIZE_UNITS_H
#define CLOCKOO_SIZE_UNITS_H

#include <stdint.h>

#define MB_SHIFT 20

/* Returns megabytes, rounded up. */
static inline unsigned long long
mb_of(uint64_t bytes)
{
	return (bytes + (1u << MB_SHIFT) - 1) >> MB_SHIFT;
}

#endif

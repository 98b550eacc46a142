/*
 * time_units.h - nanoseconds in other units of time, and a clock of the kernel's in nanoseconds.
 *
 * Of the rooms of lib only dpdk reads a clock here, to make the cores' clock. The others are given
 * the time.
 *
 * Thread: any.
 */
#ifndef CLOCKOO_TIME_UNITS_H
#define CLOCKOO_TIME_UNITS_H

#include <stdint.h>
#include <time.h>

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_S  1000000000ull
#define US_PER_S  1000000ull

static inline uint64_t
timespec_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * NS_PER_S + (uint64_t)t->tv_nsec;
}

static inline uint64_t
clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return timespec_ns(&t);
}

#endif

/*
 * load_rng.h - random numbers of the load generator: splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
 *
 * Shape:  one word of state; the same seed gives the same run.
 * Thread: one stream, one thread. load_mix is pure.
 */
#ifndef CLOCKOO_LOAD_RNG_H
#define CLOCKOO_LOAD_RNG_H

#include <stdint.h>

#define LOAD_GOLDEN 0x9e3779b97f4a7c15ull

struct load_rng {
	uint64_t state;
};

/* Returns the image of z under a one-to-one map of 64 bits to 64 random-looking ones. */
static inline uint64_t
load_mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline uint64_t
load_random(struct load_rng *r)
{
	return load_mix(r->state += LOAD_GOLDEN);
}

/* Returns a number of 0 .. n-1, n below 2^32; the bias is below 2^-32 (Lemire, TOMACS 2019,
 * without his rejection). */
static inline uint32_t
load_below(struct load_rng *r, uint32_t n)
{
	return (uint32_t)((load_random(r) >> 32) * n >> 32);
}

/* Returns u with 0 <= u < 1. */
static inline double
load_unit(struct load_rng *r)
{
	return (double)(load_random(r) >> 11) * 0x1p-53;
}

#endif

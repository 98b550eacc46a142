/*
 * sim_rng.h - the only source of random numbers in a simulation: splitmix64, seeded (Steele, Lea,
 * Flood, OOPSLA 2014).
 *
 * Thread: one stream, one thread.
 */
#ifndef CLOCKOO_SIM_RNG_H
#define CLOCKOO_SIM_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct sim_rng {
	uint64_t state;
};

static inline uint64_t
sim_random(struct sim_rng *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* Returns a number from 0 to n - 1; 0 if n is 0. */
static inline uint32_t
sim_below(struct sim_rng *r, uint32_t n)
{
	return n == 0 ? 0 : (uint32_t)(sim_random(r) % n);
}

static inline bool
sim_chance(struct sim_rng *r, uint32_t permille)
{
	return sim_below(r, 1000) < permille;
}

#endif

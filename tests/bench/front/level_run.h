/*
 * level_run.h - requests through a front's placement and admission, counted by server.
 *
 * Shape:  a world has n servers in a ring of lib/front and the hashes of some keys. A run asks for
 *         keys as a load has it, and finds which server has most of what the cache did not have.
 * Units:  loads by the mean: 1 is a server's part if all requests, hits too, were shared evenly.
 * Owner:  a world: its memory, until level_close().
 * Thread: one a world. The same seed gives the same figures.
 */
#ifndef CLOCKOO_LEVEL_RUN_H
#define CLOCKOO_LEVEL_RUN_H

#include "front/front_ring.h"
#include "front/front_slots.h"

#define LEVEL_ZIPF 1.01

enum level_cache {
	LEVEL_FRONT, /* the product's slots */
	LEVEL_CLOCK, /* what misses enters */
	LEVEL_CACHES_COUNT
};

enum level_load {
	LEVEL_UNIFORM, /* any of x keys */
	LEVEL_SCAN,    /* x keys, round and round */
	LEVEL_ZIPF101,
	LEVEL_LOADS_COUNT
};

struct level_fleet {
	uint32_t nservers;
	enum front_distribution distribution;
	enum front_hash hash;
	uint32_t heaviest; /* weights 1, 2, ... heaviest, 1, 2, ... */
};

struct level_world {
	uint32_t nservers, nkeys;
	uint64_t seed;
	struct front_ring *ring;
	double *share;    /* of a server */
	uint16_t *server; /* of a key */
	uint64_t *hash;
};

struct level_run {
	enum level_cache cache;
	enum level_load load;
	uint32_t items;          /* c */
	uint32_t keys;           /* x */
	uint64_t warm, requests; /* the latter are counted */
	uint64_t shift_every;    /* requests, after which x other keys are asked; 0: never */
};

struct level_loads {
	double busiest;  /* with shifts: the mean over the times between two */
	double by_share; /* likewise, of each server by its share of the ring */
	double overall;  /* with shifts: of all times together */
	double hits;     /* 0..1 */
};

/* Keys are "SEED-NUMBER", the number in decimal. */
void level_open(struct level_world *w, const struct level_fleet *fleet, uint32_t nkeys,
		uint64_t seed);
void level_close(struct level_world *w);

struct level_loads level_simulate(const struct level_world *w, const struct level_run *run);

/* The same of a cache that always has the c likeliest keys, and of none (c = 0): computed. */
struct level_loads level_perfect(const struct level_world *w, enum level_load load, uint32_t items,
				 uint32_t keys);

/* Each server's load by the mean, the least first, without a cache. */
void level_nodes(const struct level_world *w, uint32_t keys, double *loads);

#endif

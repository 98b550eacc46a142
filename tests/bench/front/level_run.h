/*
 * level_run.h - simulates requests through a front's placement and admission, and counts them by
 * server.
 *
 * Shape:  a world has n servers in a ring of lib/front and the hashes of some keys. A run
 *         requests keys by a load, and finds the server with most of the cache's misses.
 * Units:  loads are relative to the mean: 1 is a server's share if all requests, hits included,
 *         were spread evenly.
 * Owner:  a world owns its memory until level_close().
 * Thread: one a world. The same seed gives the same figures.
 */
#ifndef CLOCKOO_LEVEL_RUN_H
#define CLOCKOO_LEVEL_RUN_H

#include "front/front_ring.h"
#include "copies/admission.h"

#define LEVEL_ZIPF 1.01

enum level_cache {
	LEVEL_FRONT, /* the product's slots */
	LEVEL_CLOCK, /* every miss enters */
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
	uint32_t heaviest; /* weights are 1, 2, ... heaviest, repeated */
};

struct level_world {
	uint32_t nservers, nkeys;
	uint64_t seed;
	struct front_ring *ring;
	double *share;    /* share of each server */
	uint16_t *server; /* server of each key */
	uint64_t *hash;
};

struct level_run {
	enum level_cache cache;
	enum level_load load;
	uint32_t items;          /* the paper's c */
	uint32_t keys;           /* the paper's x */
	uint64_t warm, requests; /* only requests are counted, not warm */
	uint64_t shift_every;    /* requests after which x other keys are requested; 0: never */
};

struct level_loads {
	double busiest;  /* with shifts: the mean over the intervals between two */
	double by_share; /* as busiest, each server relative to its share of the ring */
	double overall;  /* with shifts: over all intervals together */
	double hits;     /* 0..1 */
};

/* Opens a world. Keys are "SEED-NUMBER", the number in decimal. */
void level_open(struct level_world *w, const struct level_fleet *fleet, uint32_t nkeys,
		uint64_t seed);
void level_close(struct level_world *w);

struct level_loads level_simulate(const struct level_world *w, const struct level_run *run);

/* Computes the loads of a cache that always has the c likeliest keys, or none (c = 0). */
struct level_loads level_perfect(const struct level_world *w, enum level_load load, uint32_t items,
				 uint32_t keys);

/* Computes each server's load relative to the mean without a cache, the least first. */
void level_nodes(const struct level_world *w, uint32_t keys, double *loads);

#endif

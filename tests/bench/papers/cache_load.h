/*
 * cache_load.h - the papers' load on caches: Zipf-distributed gets and some sets; a get that
 * misses may be followed by a set. Every value is compared.
 *
 * Shape:  a block is drawn before its clock starts: a number of operations for each thread, in
 *         batches of LOAD_BATCH: gets first, then the batch's sets, then sets of missed keys.
 * Owner:  load_open allocates, load_close frees; the caller owns caches.
 * Thread: one, which starts others (paper_crew.h).
 * Bounds: CREW_MAX threads.
 */
#ifndef CLOCKOO_CACHE_LOAD_H
#define CLOCKOO_CACHE_LOAD_H

#include "paper_cache.h"
#include "paper_crew.h"

#define LOAD_THETA 0.99
#define LOAD_BATCH 32u
#define LOAD_BLOCK 16384u

struct load_lane;

struct cache_load {
	uint32_t keys, value_bytes;
	uint32_t sets_in_100;
	bool set_missed, even; /* even: each key is equally likely */
	struct zipf zipf;
	struct load_lane *lanes;
	/* The current block. */
	const struct cache_kind *kind;
	void *cache;
};

struct load_counts {
	uint64_t operations, gets, misses;
	double seconds;
};

void load_open(struct cache_load *l, uint32_t keys, uint32_t value_bytes, uint64_t seed);
void load_close(struct cache_load *l);

/* Restarts the random numbers. */
void load_rewind(struct cache_load *l, uint64_t seed);
/* Sets each key once, from the rarest to the most frequent. */
void load_preload(struct cache_load *l, const struct cache_kind *kind, void *cache);
/* Gets each key once, so that an item's first get, which marks it as used, is over, and clockoo's
 * index has its final size. */
void load_touch(struct cache_load *l, const struct cache_kind *kind, void *cache);
/* Runs a number of blocks on each thread. */
struct load_counts load_run(struct cache_load *l, const struct cache_kind *kind, void *cache,
			    uint32_t threads, uint32_t blocks);

#endif

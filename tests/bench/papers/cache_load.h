/*
 * cache_load.h - what the papers ask of caches: Zipf-distributed gets and some sets; a get that
 * misses may be followed by a set. Every value is compared.
 *
 * Shape:  a block is drawn before its clock starts: so many operations for each thread, in batches
 *         of LOAD_BATCH: gets first, then the batch's sets, then sets for what was missed.
 * Owner:  load_open allocates, load_close frees; caches are the caller's.
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
	bool set_missed, even; /* even: each key as often as any other */
	struct zipf zipf;
	struct load_lane *lanes;
	/* of the block that runs */
	const struct cache_kind *kind;
	void *cache;
};

struct load_counts {
	uint64_t operations, gets, misses;
	double seconds;
};

void load_open(struct cache_load *l, uint32_t keys, uint32_t value_bytes, uint64_t seed);
void load_close(struct cache_load *l);

/* Random numbers begin again. */
void load_rewind(struct cache_load *l, uint64_t seed);
/* Each key once, from the rarest to the most frequent. */
void load_preload(struct cache_load *l, const struct cache_kind *kind, void *cache);
/* Each key is asked for once, so that an item's first get, which marks it as used, is over, and our
 * index has found its size. */
void load_touch(struct cache_load *l, const struct cache_kind *kind, void *cache);
/* So many blocks of each thread. */
struct load_counts load_run(struct cache_load *l, const struct cache_kind *kind, void *cache,
			    uint32_t threads, uint32_t blocks);

#endif

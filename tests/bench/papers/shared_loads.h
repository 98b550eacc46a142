/*
 * shared_loads.h - the load of cores on one shared store, the same for modelled cores and for
 * real threads: bursts of gets and sets, with a turn after each.
 *
 * Shape:  GET requests keys that exist and were requested before, FIRST_GET keys that were not
 *         requested since they were stored. OVERWRITE sets existing keys, NEW sets new keys in a
 *         full store. MIX draws keys by Zipf's law, 95 gets and 5 sets in 100.
 * Owner:  shared_load_open makes the store, shared_load_close frees it.
 * Thread: shared_load_burst: one thread a core.
 */
#ifndef CLOCKOO_SHARED_LOADS_H
#define CLOCKOO_SHARED_LOADS_H

#include "own_store.h"

#define SHARED_BURST     32u
#define SHARED_CORES_MAX 16u

enum shared_load { LOAD_GET, LOAD_FIRST_GET, LOAD_MIX, LOAD_OVERWRITE, LOAD_NEW, SHARED_LOADS };

extern const char *const shared_load_names[SHARED_LOADS];

struct shared_core {
	uint64_t random, next; /* next: number of the next new key, or of the next in its share */
	uint32_t turns;
} __attribute__((aligned(CACHE_LINE_BYTES)));

struct shared_store {
	struct own_store own;
	enum shared_load load;
	uint32_t keys, cores;
	uint32_t now_s; /* the time of all cores' turns */
	struct zipf zipf;
	struct shared_core core[SHARED_CORES_MAX];
};

/* Opens a store with the keys that memory_bytes hold, at most keys_max. */
void shared_load_open(struct shared_store *s, enum shared_load load, size_t memory_bytes,
		      uint32_t keys_max, uint32_t cores, uint64_t seed);
void shared_load_close(struct shared_store *s);
/* Runs SHARED_BURST operations and a turn. */
void shared_load_burst(struct shared_store *s, uint32_t core);
/* Announces that the core will not turn for a while. */
void shared_load_rest(struct shared_store *s, uint32_t core);

#endif

/*
 * paper_cache.h - a cache of MemC3's section 5.3 or of Intel's: a baseline, or clockoo's store.
 *
 * Shape:  16-byte keys, values of one size; value n is made from its key's number
 *         (paper_value_of). A get copies the value, as a server does into its reply; a set evicts
 *         if memory is full. In the baselines memory_bytes is for items alone, as in the papers:
 *         the index is added. Clockoo's memory includes the index.
 * Owner:  create allocates, destroy frees.
 * Thread: create, destroy, state: one thread. get and set: need->threads, each with its number,
 *         between join and leave.
 * Bounds: PAPER_VALUE_WORDS_MAX words a value.
 */
#ifndef CLOCKOO_PAPER_CACHE_H
#define CLOCKOO_PAPER_CACHE_H

#include "bench_load.h"

#define PAPER_VALUE_WORDS_MAX 32u

struct paper_value {
	uint64_t word[PAPER_VALUE_WORDS_MAX];
};

struct cache_need {
	size_t memory_bytes;
	uint32_t value_bytes, threads;
};

struct cache_state {
	uint64_t items;
	uint64_t item_bytes, index_bytes; /* memory for items; memory beside it */
};

struct cache_kind {
	const char *name;
	void *(*create)(const struct cache_need *need);
	void (*destroy)(void *cache);
	/* hit[i]: values[i] is the value of keys[i]. */
	void (*get)(void *cache, uint32_t thread, const struct bench_key *keys, uint32_t count,
		    struct paper_value *values, bool *hit);
	void (*set)(void *cache, uint32_t thread, const struct bench_key *key,
		    const struct paper_value *value);
	struct cache_state (*state)(const void *cache);
	void (*join)(void *cache, uint32_t thread); /* may be NULL, as may leave */
	void (*leave)(void *cache, uint32_t thread);
};

extern const struct cache_kind cache_chaining_lru, cache_chaining_clock;
extern const struct cache_kind cache_cuckoo_lru, cache_cuckoo_clock;
extern const struct cache_kind cache_bags;
extern const struct cache_kind cache_own, cache_own_many;

static inline uint32_t
paper_value_words(uint32_t bytes)
{
	return (bytes + 7) / 8;
}

/* Returns word `at` of a value. The last word has only the bytes that are left of the size. */
static inline uint64_t
paper_value_word(uint64_t number, uint32_t at, uint32_t bytes)
{
	const uint32_t left = bytes - at * 8;
	const uint64_t word = (number + at) * 0x9e3779b97f4a7c15ull;

	return left >= 8 ? word : word & ((1ull << left * 8) - 1);
}

static inline void
paper_value_of(struct paper_value *v, uint64_t number, uint32_t bytes)
{
	for (uint32_t i = 0; i < paper_value_words(bytes); i++)
		v->word[i] = paper_value_word(number, i, bytes);
}

static inline bool
paper_value_is(const struct paper_value *v, uint64_t number, uint32_t bytes)
{
	bool same = true;

	for (uint32_t i = 0; i < paper_value_words(bytes); i++)
		same &= v->word[i] == paper_value_word(number, i, bytes);
	return same;
}

#endif

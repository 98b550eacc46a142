/*
 * Tests of the papers' caches. Goal: a get returns the last value set, or misses; LRU and CLOCK
 * keep the items that their rules select; readers beside writers see no other key's value.
 * Method: random operations beside an array of versions; orders by hand; two threads on a cache
 * that holds a third of the keys.
 */
#include "cache_load.h"
#include "paper_rows.h"
#include "support/test.h"

#include "base/check.h"

#include <stdlib.h>

#define VALUE_BYTES 32u
#define MEMORY      (8u << 20)
#define KEYS        20000u
#define OPERATIONS  rounds(200000u, 20000u)

static const struct cache_kind *const kinds[] = {
	&cache_chaining_lru, &cache_cuckoo_lru, &cache_chaining_clock, &cache_cuckoo_clock,
	&cache_bags,         &cache_own,        &cache_own_many,
};
#define KINDS (sizeof kinds / sizeof *kinds)

static void *
cache_of(const struct cache_kind *kind, size_t memory_bytes)
{
	const struct cache_need need = {
		.memory_bytes = memory_bytes, .value_bytes = VALUE_BYTES, .threads = 2};
	void *cache = kind->create(&need);

	if (kind->join != NULL)
		kind->join(cache, 0);
	return cache;
}

static void
set(const struct cache_kind *kind, void *cache, uint32_t key, uint64_t number)
{
	const struct bench_key k = bench_key_of(key);
	struct paper_value value;

	paper_value_of(&value, number, VALUE_BYTES);
	kind->set(cache, 0, &k, &value);
}

/* Gets a key. True if it is held; its value is then that of number. */
static bool
get(const struct cache_kind *kind, void *cache, uint32_t key, uint64_t number)
{
	const struct bench_key k = bench_key_of(key);
	struct paper_value value;
	bool hit;

	kind->get(cache, 0, &k, 1, &value, &hit);
	if (hit)
		check(paper_value_is(&value, number, VALUE_BYTES));
	return hit;
}

/* Returns a small memory for a baseline, or the least for clockoo's store. */
static size_t
small_memory(const struct cache_kind *kind)
{
	return kind == &cache_own || kind == &cache_own_many ? MEMORY : KEYS * 112 / 3;
}

TEST(a_cache_tells_the_last_value_or_none)
{
	for (uint32_t i = 0; i < KINDS; i++) {
		void *cache = cache_of(kinds[i], small_memory(kinds[i]));
		static uint32_t version[KEYS];
		uint64_t random = i;
		uint32_t hits = 0;

		memset(version, 0, sizeof version);
		for (uint32_t n = 0; n < OPERATIONS; n++) {
			const uint32_t key = bench_below(&random, KEYS);

			if (bench_below(&random, 2) == 0)
				set(kinds[i], cache, key, ++version[key] * 1000000ull + key);
			else
				hits += get(kinds[i], cache, key, version[key] * 1000000ull + key);
		}
		/* The number of items in bags depends on when the machine runs their cleaner. */
		check(hits > (kinds[i] == &cache_bags ? 0 : OPERATIONS / 10));
		kinds[i]->destroy(cache);
	}
}

TEST(a_cache_larger_than_its_keys_forgets_none)
{
	for (uint32_t i = 0; i < KINDS; i++) {
		void *cache = cache_of(kinds[i], MEMORY);

		for (uint32_t pass = 0; pass < 2; pass++)
			for (uint32_t key = 0; key < KEYS; key++)
				set(kinds[i], cache, key, key + pass);
		for (uint32_t key = 0; key < KEYS; key++)
			check(get(kinds[i], cache, key, key + 1));
		kinds[i]->destroy(cache);
	}
}

/* Ten items fit into 112 * 10 bytes and the like. */
TEST(lru_drops_what_was_used_longest_ago)
{
	static const struct {
		const struct cache_kind *kind;
		uint32_t item_bytes;
	} rows[] = {{&cache_chaining_lru, 112}, {&cache_cuckoo_lru, 104}};

	for (uint32_t i = 0; i < 2; i++) {
		void *cache = cache_of(rows[i].kind, 10 * rows[i].item_bytes);

		for (uint32_t key = 0; key < 10; key++)
			set(rows[i].kind, cache, key, key);
		check(get(rows[i].kind, cache, 0, 0));
		set(rows[i].kind, cache, 10, 10);
		check(!get(rows[i].kind, cache, 1, 1));
		check(get(rows[i].kind, cache, 0, 0));
		check_eq(rows[i].kind->state(cache).items, 10);
		rows[i].kind->destroy(cache);
	}
}

/* The hand passes 0, which was used, clears its bit and takes 1; then 2; at last 0, which was not
 * used again. */
TEST(clock_passes_what_was_used_once)
{
	static const struct {
		const struct cache_kind *kind;
		uint32_t item_bytes;
	} rows[] = {{&cache_chaining_clock, 88}, {&cache_cuckoo_clock, 80}};

	for (uint32_t i = 0; i < 2; i++) {
		void *cache = cache_of(rows[i].kind, 3 * rows[i].item_bytes);

		for (uint32_t key = 0; key < 3; key++)
			set(rows[i].kind, cache, key, key);
		check(get(rows[i].kind, cache, 0, 0));
		set(rows[i].kind, cache, 3, 3);
		set(rows[i].kind, cache, 4, 4);
		set(rows[i].kind, cache, 5, 5);
		for (uint32_t key = 0; key < 3; key++)
			check(!get(rows[i].kind, cache, key, key));
		for (uint32_t key = 3; key < 6; key++)
			check(get(rows[i].kind, cache, key, key));
		rows[i].kind->destroy(cache);
	}
}

/* load_run compares every value; a wrong one ends the test. */
TEST(readers_beside_writers_see_no_wrong_value)
{
	for (uint32_t i = 0; i < KINDS; i++) {
		void *cache = cache_of(kinds[i], small_memory(kinds[i]));
		struct cache_load load;
		struct load_counts n;

		if (kinds[i]->leave != NULL)
			kinds[i]->leave(cache, 0);
		load_open(&load, KEYS, VALUE_BYTES, i);
		load.even = true;
		load.set_missed = true;
		load.sets_in_100 = 20;
		n = load_run(&load, kinds[i], cache, 2, rounds(4, 1));
		check(n.misses > 0 && n.misses < n.gets);
		load_close(&load);
		kinds[i]->destroy(cache);
	}
}

/*
 * cache_load.c - runs blocks of gets and sets on a cache.
 */
#include "cache_load.h"

#include "base/check.h"

#include <stdlib.h>

/* The operations of one thread in a block: the gets of a batch come first, its sets follow. */
struct load_lane {
	struct bench_key keys[LOAD_BLOCK];
	uint32_t numbers[LOAD_BLOCK];
	uint32_t gets[LOAD_BLOCK / LOAD_BATCH]; /* in each batch */
	uint64_t random, misses, asked;
};

void
load_open(struct cache_load *l, uint32_t keys, uint32_t value_bytes, uint64_t seed)
{
	*l = (struct cache_load){.keys = keys,
				 .value_bytes = value_bytes,
				 .lanes = calloc(CREW_MAX, sizeof *l->lanes)};
	ensure(l->lanes != NULL);
	zipf_init(&l->zipf, keys, LOAD_THETA);
	load_rewind(l, seed);
}

void
load_close(struct cache_load *l)
{
	free(l->lanes);
}

void
load_rewind(struct cache_load *l, uint64_t seed)
{
	for (uint32_t i = 0; i < CREW_MAX; i++)
		l->lanes[i].random = bench_mix(seed * CREW_MAX + i + 1);
}

static void
draw_batch(const struct cache_load *l, struct load_lane *lane, uint32_t from)
{
	uint32_t gets = 0, sets = 0;

	for (uint32_t i = 0; i < LOAD_BATCH; i++) {
		const uint32_t number = l->even ? bench_below(&lane->random, l->keys)
						: zipf_next(&l->zipf, &lane->random);
		const bool is_set = bench_below(&lane->random, 100) < l->sets_in_100;
		const uint32_t at = from + (is_set ? LOAD_BATCH - ++sets : gets++);

		lane->numbers[at] = number;
		lane->keys[at] = bench_key_of(number);
	}
	lane->gets[from / LOAD_BATCH] = gets;
}

static void
set_one(const struct cache_load *l, uint32_t thread, const struct load_lane *lane, uint32_t at)
{
	struct paper_value value;

	paper_value_of(&value, lane->numbers[at], l->value_bytes);
	l->kind->set(l->cache, thread, &lane->keys[at], &value);
}

static void
work_batch(const struct cache_load *l, uint32_t thread, struct load_lane *lane, uint32_t from)
{
	struct paper_value values[LOAD_BATCH];
	const uint32_t gets = lane->gets[from / LOAD_BATCH];
	bool hit[LOAD_BATCH];

	l->kind->get(l->cache, thread, &lane->keys[from], gets, values, hit);
	for (uint32_t i = 0; i < gets; i++) {
		if (hit[i])
			ensure(paper_value_is(&values[i], lane->numbers[from + i], l->value_bytes));
		else
			lane->misses++;
	}
	lane->asked += gets;
	for (uint32_t i = gets; i < LOAD_BATCH; i++)
		set_one(l, thread, lane, from + i);
	for (uint32_t i = 0; i < gets && l->set_missed; i++)
		if (!hit[i])
			set_one(l, thread, lane, from + i);
}

static void
work(void *arg, uint32_t thread)
{
	struct cache_load *l = arg;

	if (l->kind->join != NULL)
		l->kind->join(l->cache, thread);
	for (uint32_t from = 0; from < LOAD_BLOCK; from += LOAD_BATCH)
		work_batch(l, thread, &l->lanes[thread], from);
	if (l->kind->leave != NULL)
		l->kind->leave(l->cache, thread);
}

void
load_preload(struct cache_load *l, const struct cache_kind *kind, void *cache)
{
	if (kind->join != NULL)
		kind->join(cache, 0);
	for (uint32_t n = l->keys; n-- > 0;) {
		const struct bench_key key = bench_key_of(n);
		struct paper_value value;

		paper_value_of(&value, n, l->value_bytes);
		kind->set(cache, 0, &key, &value);
	}
	if (kind->leave != NULL)
		kind->leave(cache, 0);
}

void
load_touch(struct cache_load *l, const struct cache_kind *kind, void *cache)
{
	if (kind->join != NULL)
		kind->join(cache, 0);
	for (uint32_t n = 0; n < l->keys; n += LOAD_BATCH) {
		const uint32_t count = l->keys - n < LOAD_BATCH ? l->keys - n : LOAD_BATCH;
		struct paper_value values[LOAD_BATCH];
		struct bench_key keys[LOAD_BATCH];
		bool hit[LOAD_BATCH];

		for (uint32_t i = 0; i < count; i++)
			keys[i] = bench_key_of(n + i);
		kind->get(cache, 0, keys, count, values, hit);
		for (uint32_t i = 0; i < count; i++)
			ensure(!hit[i] || paper_value_is(&values[i], n + i, l->value_bytes));
	}
	if (kind->leave != NULL)
		kind->leave(cache, 0);
}

struct load_counts
load_run(struct cache_load *l, const struct cache_kind *kind, void *cache, uint32_t threads,
	 uint32_t blocks)
{
	struct load_counts counts = {.operations = (uint64_t)blocks * LOAD_BLOCK * threads};

	l->kind = kind;
	l->cache = cache;
	for (uint32_t t = 0; t < threads; t++)
		l->lanes[t].misses = l->lanes[t].asked = 0;
	for (uint32_t i = 0; i < blocks; i++) {
		for (uint32_t t = 0; t < threads; t++)
			for (uint32_t from = 0; from < LOAD_BLOCK; from += LOAD_BATCH)
				draw_batch(l, &l->lanes[t], from);
		counts.seconds += crew_run(threads, work, l);
	}
	for (uint32_t t = 0; t < threads; t++) {
		counts.gets += l->lanes[t].asked;
		counts.misses += l->lanes[t].misses;
	}
	return counts;
}

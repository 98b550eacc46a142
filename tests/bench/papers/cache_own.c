/*
 * cache_own.c - clockoo's store as a cache of the papers, with gets one by one, or a batch in one
 * call.
 */
#include "paper_cache.h"
#include "paper_crew.h"
#include "paper_item.h"

#include "own_store.h"
#include "../../support/store_calls.h"

#include <stdlib.h>

#define HOUSEKEEPING_TURNS 16u /* as in core.h */
#define BATCH_MAX          128u
#define WAITS_MAX          10000u /* own_put itself waits some thousand times in each */

/* A core's operations, on a line of its own. */
struct own_lane {
	uint64_t sets, turns;
} __attribute__((aligned(CACHE_LINE_BYTES)));

struct own_cache {
	struct own_store own;
	uint32_t value_bytes;
	size_t memory_bytes;
	struct own_lane lanes[CREW_MAX];
};

static void *
create(const struct cache_need *need)
{
	struct own_cache *c = aligned_alloc(CACHE_LINE_BYTES, sizeof *c);

	ensure(c != NULL);
	*c = (struct own_cache){.value_bytes = need->value_bytes,
				.memory_bytes = need->memory_bytes};
	own_create(&c->own, need->memory_bytes, need->threads);
	paper_populate(c->own.memory, c->own.bytes);
	return c;
}

static void
destroy(void *cache)
{
	struct own_cache *c = cache;

	own_destroy(&c->own);
	free(c);
}

static void
copy_values(const struct own_cache *c, struct store_core *sc, const struct item **items,
	    uint32_t count, struct paper_value *values, bool *hit)
{
	for (uint32_t i = 0; i < count; i++) {
		hit[i] = items[i] != NULL;
		if (!hit[i])
			continue;
		values[i].word[(c->value_bytes - 1) / sizeof(uint64_t)] = 0;
		memcpy(values[i].word, store_value_at(sc, items[i], 0).data, c->value_bytes);
	}
}

/* Runs a core's turn. */
static void
turn(struct own_cache *c, struct store_core *sc, uint32_t thread)
{
	store_turn(sc, STORE_CLOCK_START);
	if (++c->lanes[thread].turns % HOUSEKEEPING_TURNS == 0)
		store_housekeeping(sc);
}

static void
get(void *cache, uint32_t thread, const struct bench_key *keys, uint32_t count,
    struct paper_value *values, bool *hit)
{
	struct own_cache *c = cache;
	struct store_core *sc = store_core_of(c->own.store, thread);

	turn(c, sc, thread);
	for (uint32_t i = 0; i < count; i++) {
		const struct view key = own_key(&keys[i]);
		const struct item *it = store_get(sc, key, store_hash(sc, key));

		copy_values(c, sc, &it, 1, &values[i], &hit[i]);
	}
}

static void
get_many(void *cache, uint32_t thread, const struct bench_key *keys, uint32_t count,
	 struct paper_value *values, bool *hit)
{
	struct own_cache *c = cache;
	struct store_core *sc = store_core_of(c->own.store, thread);
	const struct item *items[BATCH_MAX];
	struct view views[BATCH_MAX];

	ensure(count <= BATCH_MAX);
	for (uint32_t i = 0; i < count; i++)
		views[i] = own_key(&keys[i]);
	turn(c, sc, thread);
	store_gets(sc, views, count, items);
	copy_values(c, sc, items, count, values, hit);
}

/* Sets a key. A set may wait for the other thread's turn, which comes when the machine runs that
 * thread. */
static enum store_result
put_patiently(struct store_core *sc, struct view key, const void *value, uint32_t len)
{
	const uint64_t hash = store_hash(sc, key);
	enum store_result r = STORE_NOT_YET;

	for (uint32_t i = 0; i < WAITS_MAX && r == STORE_NOT_YET; i++)
		r = own_put(sc, key, hash, value, len);
	return r;
}

static void
set(void *cache, uint32_t thread, const struct bench_key *key, const struct paper_value *value)
{
	struct own_cache *c = cache;
	struct store_core *sc = store_core_of(c->own.store, thread);

	if (c->lanes[thread].sets++ % OWN_TURN_EVERY == 0)
		turn(c, sc, thread);
	ensure(put_patiently(sc, own_key(key), value->word, c->value_bytes) == STORE_OK);
}

static struct cache_state
state(const void *cache)
{
	const struct own_cache *c = cache;
	struct store_usage usage;

	store_usage_mt(c->own.store, &usage);
	/* The memory of the whole store: it includes the cores' tables and the index. */
	return (struct cache_state){.items = usage.items,
				    .item_bytes = c->own.bytes - usage.index_bytes,
				    .index_bytes = usage.index_bytes};
}

static void
join(void *cache, uint32_t thread)
{
	const struct own_cache *c = cache;

	store_turn(store_core_of(c->own.store, thread), STORE_CLOCK_START);
}

static void
leave(void *cache, uint32_t thread)
{
	const struct own_cache *c = cache;

	store_offline(store_core_of(c->own.store, thread));
}

const struct cache_kind cache_own = {"ours", create, destroy, get, set, state, join, leave};
const struct cache_kind cache_own_many = {"ours, batches", create, destroy, get_many, set,
					  state,           join,   leave};

/*
 * cache_chaining_lru.c - the first baseline, memcached's design: chaining, an exact LRU, and one
 * global lock, which every get takes.
 */
#include "cache_places.h"
#include "chain_index.h"
#include "lru_links.h"

struct chaining_lru {
	struct chain_index *ix;
	struct cache_places places;
	struct lru_links lru;
};

static void *
create(const struct cache_need *need)
{
	struct chaining_lru *c = calloc(1, sizeof *c);

	ensure(c != NULL);
	cache_places_create(&c->places, need, HEADER_BYTES + LRU_BYTES + CHAIN_BYTES);
	c->lru.before = sizeof(struct lru_pair) + CHAIN_BYTES;
	c->ix = chain_create(c->places.items.count, true);
	return c;
}

static void
destroy(void *cache)
{
	struct chaining_lru *c = cache;

	chain_destroy(c->ix);
	item_places_unmap(&c->places.items);
	free(c);
}

static bool
get_one(struct chaining_lru *c, const struct bench_key *key, struct paper_value *value)
{
	const uint64_t hash = paper_hash(key);
	struct paper_item *it;

	pthread_mutex_lock(&c->ix->global);
	it = chain_find(c->ix, key, hash, true);
	if (it != NULL) {
		cache_item_read(&c->places, it, value);
		lru_links_use(&c->lru, it);
	}
	pthread_mutex_unlock(&c->ix->global);
	return it != NULL;
}

static void
get(void *cache, uint32_t thread, const struct bench_key *keys, uint32_t count,
    struct paper_value *values, bool *hit)
{
	for (uint32_t i = 0; i < count; i++)
		hit[i] = get_one(cache, &keys[i], &values[i]);
}

/* Returns a place for a new item; the oldest item is evicted if no place is free. */
static struct paper_item *
make_place(struct chaining_lru *c)
{
	struct paper_item *it = cache_places_take(&c->places);

	if (it != NULL)
		return it;
	it = c->lru.oldest;
	lru_links_take_out(&c->lru, it);

	const struct bench_key key = item_read_key(it);

	chain_remove(c->ix, it, paper_hash(&key));
	return it;
}

static void
set(void *cache, uint32_t thread, const struct bench_key *key, const struct paper_value *value)
{
	struct chaining_lru *c = cache;
	const uint64_t hash = paper_hash(key);
	struct paper_item *it;

	pthread_mutex_lock(&c->ix->global);
	it = chain_find(c->ix, key, hash, true);
	if (it != NULL) {
		cache_item_write(&c->places, it, key, value);
		lru_links_use(&c->lru, it);
	} else {
		it = make_place(c);
		cache_item_write(&c->places, it, key, value);
		chain_insert(c->ix, it, hash);
		lru_links_add(&c->lru, it);
	}
	pthread_mutex_unlock(&c->ix->global);
}

static struct cache_state
state(const void *cache)
{
	const struct chaining_lru *c = cache;

	return (struct cache_state){.items = c->places.held,
				    .item_bytes = c->places.items.bytes,
				    .index_bytes = chain_bytes(c->ix)};
}

const struct cache_kind cache_chaining_lru = {"chaining+LRU", create, destroy, get, set,
					      state,          NULL,   NULL};

/*
 * cache_cuckoo_lru.c - MemC3's index with an exact LRU: lookups take no lock, but every hit takes
 * the list's.
 */
#include "cuckoo_cache.h"
#include "lru_links.h"

struct cuckoo_lru {
	struct cuckoo_index *ix;
	struct cache_places places;
	struct lru_links lru;
	pthread_mutex_t lock; /* protects the list, and serializes sets */
};

static void *
create(const struct cache_need *need)
{
	struct cuckoo_lru *c = calloc(1, sizeof *c);

	ensure(c != NULL && pthread_mutex_init(&c->lock, NULL) == 0);
	cache_places_create(&c->places, need, HEADER_BYTES + LRU_BYTES);
	c->lru.before = sizeof(struct lru_pair);
	c->ix = cuckoo_cache_index(c->places.items.count);
	return c;
}

static void
destroy(void *cache)
{
	struct cuckoo_lru *c = cache;

	cuckoo_destroy(c->ix);
	item_places_unmap(&c->places.items);
	free(c);
}

/* Marks an item as used. False: the item has left or moved since it was read. Items leave under
 * the lock. */
static bool
use(struct cuckoo_lru *c, struct paper_item *it, const struct cuckoo_key *at, uint32_t version)
{
	bool same;

	pthread_mutex_lock(&c->lock);
	same = cuckoo_read_same(c->ix, at, version);
	if (same)
		lru_links_use(&c->lru, it);
	pthread_mutex_unlock(&c->lock);
	return same;
}

static bool
get_one(struct cuckoo_lru *c, const struct bench_key *key, struct paper_value *value)
{
	const struct cuckoo_key at = cuckoo_place(c->ix, key, true);
	struct paper_item *it;
	uint32_t version;

	cuckoo_prefetch(c->ix, &at, true);
	do {
		version = cuckoo_read_begin(c->ix, &at);
		it = cuckoo_cache_read(c->ix, &c->places, &at, key, value);
		if (it == NULL && cuckoo_read_same(c->ix, &at, version))
			return false;
		protocol_gap();
	} while (it == NULL || !use(c, it, &at, version));
	return true;
}

static void
get(void *cache, uint32_t thread, const struct bench_key *keys, uint32_t count,
    struct paper_value *values, bool *hit)
{
	for (uint32_t i = 0; i < count; i++)
		hit[i] = get_one(cache, &keys[i], &values[i]);
}

static struct paper_item *
make_place(struct cuckoo_lru *c)
{
	struct paper_item *it = cache_places_take(&c->places);

	if (it != NULL)
		return it;
	it = c->lru.oldest;
	lru_links_take_out(&c->lru, it);
	cuckoo_replace(c->ix, it, NULL);
	return it;
}

static void
set(void *cache, uint32_t thread, const struct bench_key *key, const struct paper_value *value)
{
	struct cuckoo_lru *c = cache;
	const struct cuckoo_key at = cuckoo_place(c->ix, key, true);
	struct paper_item *it;

	pthread_mutex_lock(&c->lock);
	it = cuckoo_find(c->ix, &at, key, true);
	if (it != NULL) {
		cuckoo_cache_write(c->ix, &c->places, it, &at, key, value);
		lru_links_use(&c->lru, it);
	} else {
		it = make_place(c);
		cuckoo_cache_write(c->ix, &c->places, it, &at, key, value);
		if (cuckoo_insert(c->ix, it))
			lru_links_add(&c->lru, it);
		else
			cache_places_give(&c->places, it);
	}
	pthread_mutex_unlock(&c->lock);
}

static struct cache_state
state(const void *cache)
{
	const struct cuckoo_lru *c = cache;

	return (struct cache_state){.items = c->places.held,
				    .item_bytes = c->places.items.bytes,
				    .index_bytes = c->ix->bytes};
}

const struct cache_kind cache_cuckoo_lru = {"cuckoo+LRU", create, destroy, get,
					    set,          state,  NULL,    NULL};

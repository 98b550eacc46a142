/*
 * cache_cuckoo_clock.c - MemC3's cache: optimistic cuckoo hashing and CLOCK. Gets take no lock,
 * sets are serialized. As in the paper's algorithm 1, a new item's bit is not set.
 */
#include "clock_bits.h"
#include "cuckoo_cache.h"

struct cuckoo_clock {
	struct cuckoo_index *ix;
	struct cache_places places;
	struct clock_bits clock;
};

static void *
create(const struct cache_need *need)
{
	struct cuckoo_clock *c = calloc(1, sizeof *c);

	ensure(c != NULL);
	cache_places_create(&c->places, need, HEADER_BYTES);
	clock_bits_create(&c->clock, c->places.items.count);
	c->ix = cuckoo_cache_index(c->places.items.count);
	return c;
}

static void
destroy(void *cache)
{
	struct cuckoo_clock *c = cache;

	cuckoo_destroy(c->ix);
	clock_bits_destroy(&c->clock);
	item_places_unmap(&c->places.items);
	free(c);
}

static bool
get_one(struct cuckoo_clock *c, const struct bench_key *key, struct paper_value *value)
{
	const struct cuckoo_key at = cuckoo_place(c->ix, key, true);
	uint32_t version;
	const struct paper_item *it;

	cuckoo_prefetch(c->ix, &at, true);
	do {
		version = cuckoo_read_begin(c->ix, &at);
		it = cuckoo_cache_read(c->ix, &c->places, &at, key, value);
	} while (!cuckoo_read_same(c->ix, &at, version));
	if (it != NULL)
		clock_bits_use(&c->clock, paper_item_place(&c->places.items, it));
	return it != NULL;
}

static void
get(void *cache, uint32_t thread, const struct bench_key *keys, uint32_t count,
    struct paper_value *values, bool *hit)
{
	for (uint32_t i = 0; i < count; i++)
		hit[i] = get_one(cache, &keys[i], &values[i]);
}

static struct paper_item *
make_place(struct cuckoo_clock *c)
{
	struct paper_item *it = cache_places_take(&c->places);

	if (it != NULL)
		return it;
	it = paper_item_at(&c->places.items, clock_bits_hand(&c->clock));
	cuckoo_replace(c->ix, it, NULL);
	return it;
}

static void
set(void *cache, uint32_t thread, const struct bench_key *key, const struct paper_value *value)
{
	struct cuckoo_clock *c = cache;
	const struct cuckoo_key at = cuckoo_place(c->ix, key, true);
	struct paper_item *it;

	spin_take(&c->ix->writer);
	it = cuckoo_find(c->ix, &at, key, true);
	if (it != NULL) {
		cuckoo_cache_write(c->ix, &c->places, it, &at, key, value);
		clock_bits_use(&c->clock, paper_item_place(&c->places.items, it));
	} else {
		it = make_place(c);
		cuckoo_cache_write(c->ix, &c->places, it, &at, key, value);
		if (!cuckoo_insert(c->ix, it))
			cache_places_give(&c->places, it);
	}
	spin_give(&c->ix->writer);
}

static struct cache_state
state(const void *cache)
{
	const struct cuckoo_clock *c = cache;

	return (struct cache_state){.items = c->places.held,
				    .item_bytes = c->places.items.bytes,
				    .index_bytes = c->ix->bytes + c->clock.count / 8};
}

const struct cache_kind cache_cuckoo_clock = {"cuckoo+CLOCK", create, destroy, get, set,
					      state,          NULL,   NULL};

/*
 * cache_chaining_clock.c - chaining with a lock for each bucket, and CLOCK. Sets are serialized.
 */
#include "cache_places.h"
#include "chain_index.h"
#include "clock_bits.h"

struct chaining_clock {
	struct chain_index *ix;
	struct cache_places places;
	struct clock_bits clock;
};

static void *
create(const struct cache_need *need)
{
	struct chaining_clock *c = calloc(1, sizeof *c);

	ensure(c != NULL);
	cache_places_create(&c->places, need, HEADER_BYTES + CHAIN_BYTES);
	clock_bits_create(&c->clock, c->places.items.count);
	c->ix = chain_create(c->places.items.count, true);
	return c;
}

static void
destroy(void *cache)
{
	struct chaining_clock *c = cache;

	chain_destroy(c->ix);
	clock_bits_destroy(&c->clock);
	item_places_unmap(&c->places.items);
	free(c);
}

static bool
get_one(struct chaining_clock *c, const struct bench_key *key, struct paper_value *value)
{
	const uint64_t hash = paper_hash(key);
	struct spin_word *lock = chain_stripe(c->ix, hash);
	struct paper_item *it;

	spin_take(lock);
	it = chain_find(c->ix, key, hash, true);
	if (it != NULL)
		cache_item_read(&c->places, it, value);
	spin_give(lock);
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
make_place(struct chaining_clock *c)
{
	struct paper_item *it = cache_places_take(&c->places);

	if (it != NULL)
		return it;
	it = paper_item_at(&c->places.items, clock_bits_hand(&c->clock));

	const struct bench_key key = item_read_key(it);
	const uint64_t hash = paper_hash(&key);

	spin_take(chain_stripe(c->ix, hash));
	chain_remove(c->ix, it, hash);
	spin_give(chain_stripe(c->ix, hash));
	return it;
}

static void
set(void *cache, uint32_t thread, const struct bench_key *key, const struct paper_value *value)
{
	struct chaining_clock *c = cache;
	const uint64_t hash = paper_hash(key);
	struct spin_word *lock = chain_stripe(c->ix, hash);
	struct paper_item *it;

	spin_take(&c->ix->global_spin);
	/* Only sets change chains, and no other set runs now. */
	it = chain_find(c->ix, key, hash, true);
	if (it != NULL) {
		spin_take(lock);
		cache_item_write(&c->places, it, key, value);
		clock_bits_use(&c->clock, paper_item_place(&c->places.items, it));
	} else {
		it = make_place(c);
		cache_item_write(&c->places, it, key, value);
		spin_take(lock);
		chain_insert(c->ix, it, hash);
	}
	spin_give(lock);
	spin_give(&c->ix->global_spin);
}

static struct cache_state
state(const void *cache)
{
	const struct chaining_clock *c = cache;

	return (struct cache_state){.items = c->places.held,
				    .item_bytes = c->places.items.bytes,
				    .index_bytes = chain_bytes(c->ix) + c->clock.count / 8};
}

const struct cache_kind cache_chaining_clock = {
	"chaining+CLOCK", create, destroy, get, set, state, NULL, NULL};

/*
 * cache_bags.c - Intel's cache: chaining with striped locks for sets, gets without a lock, bags.
 *
 * A get may miss an item whose neighbour in the chain is removed meanwhile; the paper accepts
 * that. It never returns a wrong value: it holds the item while it copies, and compares the key
 * again.
 */
#include "bag_list.h"
#include "cache_places.h"
#include "chain_index.h"

#include "base/gap.h"

#define BAG_STRIPES   32u /* the paper's Z */
#define GET_TRIES_MAX 3u

struct cache_of_bags {
	struct chain_index *ix;
	struct cache_places places;
	struct bag_list *bags;
	_Atomic uint32_t fresh;
};

static void *
create(const struct cache_need *need)
{
	struct cache_of_bags *c = calloc(1, sizeof *c);

	ensure(c != NULL);
	cache_places_create(&c->places, need, HEADER_BYTES + LRU_BYTES + CHAIN_BYTES);
	c->bags = bag_list_create(c->places.items.count, sizeof(struct bag_fields) + CHAIN_BYTES);
	c->ix = chain_create(c->places.items.count, true);
	return c;
}

static void
destroy(void *cache)
{
	struct cache_of_bags *c = cache;

	bag_list_destroy(c->bags);
	chain_destroy(c->ix);
	item_places_unmap(&c->places.items);
	free(c);
}

static struct spin_word *
stripe(struct cache_of_bags *c, uint64_t hash)
{
	return &c->ix->stripes[chain_bucket(c->ix, hash) % BAG_STRIPES];
}

static bool
get_one(struct cache_of_bags *c, const struct bench_key *key, struct paper_value *value)
{
	const uint64_t hash = paper_hash(key);

	for (uint32_t i = 0; i < GET_TRIES_MAX; i++) {
		struct paper_item *it = chain_find(c->ix, key, hash, true);
		bool same;

		if (it == NULL)
			return false;
		protocol_gap();
		if (!bag_hold(c->bags, it))
			continue;
		same = item_same_words(it, key);
		if (same) {
			cache_item_read(&c->places, it, value);
			bag_use(c->bags, it);
		}
		bag_release(c->bags, it);
		if (same)
			return true;
	}
	return false;
}

static void
get(void *cache, uint32_t thread, const struct bench_key *keys, uint32_t count,
    struct paper_value *values, bool *hit)
{
	for (uint32_t i = 0; i < count; i++)
		hit[i] = get_one(cache, &keys[i], &values[i]);
}

static void
unlink_evicted(struct cache_of_bags *c, struct paper_item *it)
{
	const struct bench_key key = item_read_key(it);
	const uint64_t hash = paper_hash(&key);

	spin_take(stripe(c, hash));
	if ((atomic_load(&bag_fields_of(c->bags, it)->state) & BAG_REPLACED) == 0)
		chain_remove(c->ix, it, hash);
	spin_give(stripe(c, hash));
}

/* Returns a place that no thread reads. */
static struct paper_item *
make_place(struct cache_of_bags *c)
{
	struct paper_item *it;

	if (atomic_load_explicit(&c->fresh, memory_order_relaxed) < c->places.items.count) {
		const uint32_t place = atomic_fetch_add(&c->fresh, 1);

		if (place < c->places.items.count)
			return paper_item_at(&c->places.items, place);
	}
	while ((it = bag_evict(c->bags)) == NULL)
		sched_yield(); /* every item is being read, or is on its way into a bag */
	unlink_evicted(c, it);
	return it;
}

static void
set(void *cache, uint32_t thread, const struct bench_key *key, const struct paper_value *value)
{
	struct cache_of_bags *c = cache;
	const uint64_t hash = paper_hash(key);
	struct paper_item *it = make_place(c), *old;

	cache_item_write(&c->places, it, key, value);
	/* Release: pairs with the acquire in bag_hold. */
	atomic_store_explicit(&bag_fields_of(c->bags, it)->state, 0, memory_order_release);
	spin_take(stripe(c, hash));
	old = chain_find(c->ix, key, hash, true);
	chain_insert(c->ix, it, hash);
	if (old != NULL) {
		chain_remove(c->ix, old, hash);
		atomic_fetch_or(&bag_fields_of(c->bags, old)->state, BAG_REPLACED);
	}
	spin_give(stripe(c, hash));
	bag_append(c->bags, thread, it);
}

static struct cache_state
state(const void *cache)
{
	const struct cache_of_bags *c = cache;
	const uint32_t fresh = atomic_load(&c->fresh);

	/* Includes replaced items that wait for the cleaner. */
	return (struct cache_state){.items = fresh < c->places.items.count ? fresh
									   : c->places.items.count,
				    .item_bytes = c->places.items.bytes,
				    .index_bytes = chain_bytes(c->ix)};
}

const struct cache_kind cache_bags = {"bags", create, destroy, get, set, state, NULL, NULL};

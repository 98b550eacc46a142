/*
 * cache_places.h - the items of a cache baseline: the fields before their keys, and the free
 * places.
 *
 * Shape:  HEADER_BYTES are memcached's fields of each item beside its links (times, flags,
 *         lengths, cas). LRU adds two links and a reference count, which its alignment makes 8
 *         bytes; chaining adds one link. An item thus has 112, 104, 88 or 80 bytes for 16 of key
 *         and 32 of value, as in table 3 of MemC3.
 * Thread: under the caller's lock.
 */
#ifndef CLOCKOO_CACHE_PLACES_H
#define CLOCKOO_CACHE_PLACES_H

#include "paper_cache.h"
#include "paper_item.h"

#define HEADER_BYTES 32u
#define LRU_BYTES    24u /* two links and the reference count */
#define CHAIN_BYTES  8u
#define PLACE_NONE   UINT32_MAX
#define PLACES_MAX   (1u << 30)

struct cache_places {
	struct item_places items;
	uint32_t fresh; /* places from here on were never used */
	uint32_t spare; /* a place that is free again, or PLACE_NONE */
	uint32_t held;
	uint32_t value_bytes, value_words;
};

static inline void
cache_places_create(struct cache_places *p, const struct cache_need *need, uint32_t before)
{
	const size_t stride =
		(before + sizeof(struct bench_key) + need->value_bytes + 7) & ~(size_t)7;
	const size_t count = need->memory_bytes / stride;

	ensure(count > 1 && count < PLACES_MAX);
	*p = (struct cache_places){.spare = PLACE_NONE,
				   .value_bytes = need->value_bytes,
				   .value_words = paper_value_words(need->value_bytes)};
	item_places_map(&p->items, (uint32_t)count, before, need->value_bytes, true);
}

/* Returns a free place, or NULL. */
static inline struct paper_item *
cache_places_take(struct cache_places *p)
{
	uint32_t place = p->spare;

	if (place != PLACE_NONE)
		p->spare = PLACE_NONE;
	else if (p->fresh < p->items.count)
		place = p->fresh++;
	else
		return NULL;
	p->held++;
	return paper_item_at(&p->items, place);
}

static inline void
cache_places_give(struct cache_places *p, const struct paper_item *it)
{
	p->spare = paper_item_place(&p->items, it);
	p->held--;
}

static inline void
cache_item_read(const struct cache_places *p, const struct paper_item *it, struct paper_value *v)
{
	item_read_value(it, v->word, p->value_words);
}

static inline void
cache_item_write(const struct cache_places *p, struct paper_item *it, const struct bench_key *k,
		 const struct paper_value *v)
{
	_Atomic uint64_t *header = (_Atomic uint64_t *)(void *)((uint8_t *)it - p->items.before);

	for (uint32_t i = 0; i < HEADER_BYTES / sizeof *header; i++)
		atomic_store_explicit(&header[i], i, memory_order_relaxed);
	item_write(it, k, v->word, p->value_words);
}

#endif

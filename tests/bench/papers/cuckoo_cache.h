/*
 * cuckoo_cache.h - shared parts of MemC3's two caches: optimistic gets, and reusing the place of
 * another item.
 *
 * Thread: cuckoo_cache_read: any thread. The others: under the caller's lock, one at a time.
 */
#ifndef CLOCKOO_CUCKOO_CACHE_H
#define CLOCKOO_CUCKOO_CACHE_H

#include "cache_places.h"
#include "cuckoo_index.h"

#define CUCKOO_CACHE_LOAD 0.9 /* load of the index when memory is full */
#define CUCKOO_PATHS      2u

static inline struct cuckoo_index *
cuckoo_cache_index(uint32_t items)
{
	return cuckoo_create((uint64_t)(items / CUCKOO_CACHE_LOAD), true, CUCKOO_VERSIONS,
			     CUCKOO_PATHS, true);
}

/* Reads a key whose version was read before. The result is valid only if cuckoo_read_same
 * confirms it afterwards. NULL is a miss. */
static inline struct paper_item *
cuckoo_cache_read(const struct cuckoo_index *ix, const struct cache_places *places,
		  const struct cuckoo_key *at, const struct bench_key *key,
		  struct paper_value *value)
{
	struct paper_item *it = cuckoo_find(ix, at, key, true);

	protocol_gap();
	if (it != NULL)
		cache_item_read(places, it, value);
	return it;
}

/* Writes an item. The key's version is odd meanwhile: a thread that reads this place for the key,
 * by a pointer to an earlier item with the same tag, reads again. */
static inline void
cuckoo_cache_write(struct cuckoo_index *ix, const struct cache_places *places,
		   struct paper_item *it, const struct cuckoo_key *at, const struct bench_key *key,
		   const struct paper_value *value)
{
	cuckoo_write_begin(ix, at->first, at->second);
	cache_item_write(places, it, key, value);
	cuckoo_write_end(ix, at->first, at->second);
}

#endif

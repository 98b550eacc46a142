/*
 * chain_index.h - the baseline of both papers: buckets of singly linked items, as in memcached.
 *
 * Shape:  an item's link is the word before its key. The table holds at most 1.5 items a bucket,
 *         as memcached's does before it grows. New items come first.
 * Owner:  chain_create maps the buckets; the caller owns items.
 * Thread: the caller locks: chain_stripe returns the lock of a bucket. Links are written so that
 *         a reader without a lock (Intel's) leaves its chain only by a removed item.
 */
#ifndef CLOCKOO_CHAIN_INDEX_H
#define CLOCKOO_CHAIN_INDEX_H

#include "paper_item.h"
#include "paper_lock.h"

#include "base/hash.h"

#include <pthread.h>
#include <stdlib.h>

#define CHAIN_ITEMS_BY_BUCKET 1.5
#define PAPER_HASH_SEED       42u

typedef _Atomic(struct paper_item *) chain_link;

struct chain_index {
	chain_link *buckets;
	uint64_t count;
	pthread_mutex_t global;
	struct spin_word global_spin;
	struct spin_word stripes[PAPER_STRIPES];
};

static inline uint64_t
paper_hash(const struct bench_key *k)
{
	return hash_bytes(k, sizeof *k, PAPER_HASH_SEED);
}

static inline struct chain_index *
chain_create(uint64_t items, bool huge)
{
	struct chain_index *c = calloc(1, sizeof *c);

	ensure(c != NULL && pthread_mutex_init(&c->global, NULL) == 0);
	c->count = (uint64_t)((double)items / CHAIN_ITEMS_BY_BUCKET) + 1;
	c->buckets = paper_map(c->count * sizeof *c->buckets, huge);
	return c;
}

static inline void
chain_destroy(struct chain_index *c)
{
	bench_unmap(c->buckets, c->count * sizeof *c->buckets);
	free(c);
}

static inline uint64_t
chain_bytes(const struct chain_index *c)
{
	return c->count * sizeof *c->buckets;
}

static inline chain_link *
chain_link_of(struct paper_item *it)
{
	return (chain_link *)it - 1;
}

/* Returns the bucket of a hash without a division: the number of buckets need not be a power of
 * two. */
static inline uint64_t
chain_bucket(const struct chain_index *c, uint64_t hash)
{
	return (uint64_t)((unsigned __int128)hash * c->count >> 64);
}

static inline struct spin_word *
chain_stripe(struct chain_index *c, uint64_t hash)
{
	return spin_stripe(c->stripes, chain_bucket(c, hash));
}

static inline struct paper_item *
chain_find(const struct chain_index *c, const struct bench_key *k, uint64_t hash, bool words)
{
	/* Acquire: pairs with the release in chain_insert; a visible item is complete. */
	struct paper_item *it =
		atomic_load_explicit(&c->buckets[chain_bucket(c, hash)], memory_order_acquire);

	while (it != NULL && !(words ? item_same_words(it, k) : item_same_bytes(it, k)))
		it = atomic_load_explicit(chain_link_of(it), memory_order_acquire);
	return it;
}

static inline void
chain_insert(struct chain_index *c, struct paper_item *it, uint64_t hash)
{
	chain_link *bucket = &c->buckets[chain_bucket(c, hash)];

	atomic_store_explicit(chain_link_of(it), atomic_load_explicit(bucket, memory_order_relaxed),
			      memory_order_relaxed);
	/* Release: pairs with the acquire in chain_find. */
	atomic_store_explicit(bucket, it, memory_order_release);
}

/* Removes an item. Its own link stays as it is. */
static inline void
chain_remove(struct chain_index *c, struct paper_item *gone, uint64_t hash)
{
	chain_link *link = &c->buckets[chain_bucket(c, hash)];
	struct paper_item *it = atomic_load_explicit(link, memory_order_relaxed);

	while (it != gone) {
		link = chain_link_of(it);
		it = atomic_load_explicit(link, memory_order_relaxed);
	}
	atomic_store_explicit(link, atomic_load_explicit(chain_link_of(gone), memory_order_relaxed),
			      memory_order_release);
}

/* Returns the length of the longest chain. */
static inline uint32_t
chain_longest(const struct chain_index *c)
{
	uint32_t longest = 0;

	for (uint64_t i = 0; i < c->count; i++) {
		uint32_t length = 0;

		for (struct paper_item *it = c->buckets[i]; it != NULL; it = *chain_link_of(it))
			length++;
		longest = length > longest ? length : longest;
	}
	return longest;
}

#endif

/*
 * flash_index.h - where on flash a key may be: tags and locations, ten to a cache line.
 *
 * Partial-key cuckoo hashing in the store's buckets (store/bucket.h). Nothing here knows a key: an
 * entry matches a hash if it has its tag and lies in one of its two buckets.
 *
 * Shape:  a tag is 16 bits; an entry's other bucket follows from this one and 15 of them, so a move
 *         reads no flash. A location is not 0, and its highest bit is the used bit, which says
 *         that somebody was answered from there: a hint.
 * Units:  hash: of the key, 64 bits; its bits 16..63 count.
 * Owner:  the caller: bucket_count zeroed buckets.
 * Thread: looks and flash_index_use: any, without a lock. Changes: one at a time.
 * Errors: flash_index_insert: false: it is full. Entries may lie in their other bucket then.
 * Bounds: a look reads two lines, an insert FLASH_INDEX_NODES at most; 99 % of the slots fill:
 *         an entry goes to the emptier of its buckets, and no path begins below 75 %.
 *
 * Invariants (tests/unit/flash/test_flash_index):
 * - A look beside which `moves` did not step finds every entry that matches.
 * - An erasure takes all entries that match, whoever's they are.
 */
#ifndef CLOCKOO_FLASH_INDEX_H
#define CLOCKOO_FLASH_INDEX_H

#include "base/prefetch.h"
#include "store/index.h"

#define FLASH_INDEX_MATCHES (2 * BUCKET_SLOTS)
#define FLASH_INDEX_NODES   256u
#define FLASH_USED          (1u << 31)

struct flash_index {
	struct bucket *buckets;
	uint32_t bucket_count; /* even, INDEX_BUCKETS_MIN at least */
	/* Steps when something goes where a look that has begun may not find it. */
	_Atomic uint32_t moves;
	_Atomic uint64_t entries; /* for anybody; changed under the shard's lock */
};

static inline struct place
flash_index_place(const struct flash_index *ix, uint64_t hash)
{
	struct place p = place_among(ix->bucket_count, hash);

	p.tag |= (uint16_t)(hash >> 16 & TAG_DISPLACED); /* no entry says that it is displaced */
	return p;
}

static inline uint32_t
flash_index_moves(const struct flash_index *ix)
{
	/* Acquire: pairs with the release in flash_index_step. */
	return atomic_load_explicit(&ix->moves, memory_order_acquire);
}

/* Before an entry goes away, after what stands for it is there. */
static inline void
flash_index_step(struct flash_index *ix)
{
	const uint32_t moves = atomic_load_explicit(&ix->moves, memory_order_relaxed);

	/* Release: pairs with the acquire in flash_index_moves. */
	atomic_store_explicit(&ix->moves, moves + 1, memory_order_release);
}

/* Nothing that a look is to find: an entry is counted before its key leaves the store. */
static inline bool
flash_index_is_empty(const struct flash_index *ix)
{
	/* Acquire: pairs with the release in add_entries; a step before the last one went is seen.
	 */
	return atomic_load_explicit(&ix->entries, memory_order_acquire) == 0;
}

/* Where a hash is looked for; its buckets come into the cache meanwhile. Tag 0, which no entry has:
 * the index is empty. */
static inline struct place
flash_index_fetch(const struct flash_index *ix, uint64_t hash)
{
	struct place p = {.tag = 0};

	if (flash_index_is_empty(ix))
		return p;
	p = flash_index_place(ix, hash);
	prefetch(&ix->buckets[p.primary]);
	prefetch(&ix->buckets[p.alternate]);
	return p;
}

/* Does any entry match? Beside moves, as a look. True, too: it was empty when it was fetched for,
 * and is not now. */
static inline bool
flash_index_matches(const struct flash_index *ix, const struct place *p)
{
	uint32_t hits;

	if (flash_index_is_empty(ix))
		return false;
	if (unlikely(p->tag == 0))
		return true;
	hits = bucket_match(&ix->buckets[p->primary], p->tag);
	protocol_gap();
	hits |= bucket_match(&ix->buckets[p->alternate], p->tag);
	/* Acquire: as in flash_index_look. */
	atomic_thread_fence(memory_order_acquire);
	return hits != 0;
}

/* All locations that match, used bits included: FLASH_INDEX_MATCHES at most. Returns how many. */
uint32_t flash_index_look(const struct flash_index *ix, uint64_t hash, uint32_t *locations);

/* Sets the used bit of an entry that is still there. Returns whether it was set before. */
bool flash_index_use(struct flash_index *ix, uint64_t hash, uint32_t location);

/* Is this location, whatever its used bit, an entry of this hash? */
bool flash_index_has(const struct flash_index *ix, uint64_t hash, uint32_t location);

bool flash_index_insert(struct flash_index *ix, uint64_t hash, uint32_t location);

/* Returns how many entries matched, and are gone. */
uint32_t flash_index_erase(struct flash_index *ix, uint64_t hash);

/* Takes out the entries of one bucket that are dead. */
typedef bool flash_index_dead_fn(const void *arg, uint32_t location);
void flash_index_sweep(struct flash_index *ix, uint32_t bucket, flash_index_dead_fn *dead,
		       const void *arg);

#endif

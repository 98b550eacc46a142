/*
 * flash_index.h - an index of the places on flash where a key may be: tags and locations, ten in
 * a cache line.
 *
 * Partial-key cuckoo hashing in the store's buckets (store/bucket.h). The index has no keys: an
 * entry matches a hash if it has its tag and lies in one of its two buckets.
 *
 * Shape:  a tag is 16 bits; an entry's other bucket follows from this one and 15 of them, so a
 *         move reads no flash. A location is not 0, and its highest bit is the used bit: a hint
 *         that a client was answered from there.
 * Units:  hash: that of the key, 64 bits, of which bits 16..63 are used.
 * Owner:  the caller provides bucket_count zeroed buckets.
 * Thread: lookups and flash_index_use: any, without a lock. Changes: one at a time.
 * Errors: flash_index_insert: false: the index is full; entries may have moved to their other
 *         bucket.
 * Bounds: a lookup reads two lines, an insert at most FLASH_INDEX_NODES; 99 % of the slots fill:
 *         an entry goes to the emptier of its buckets, and no path begins below 75 %.
 *
 * Invariants (tests/unit/flash/test_flash_index):
 * - A lookup during which `moves` did not change finds every entry that matches.
 * - An erasure removes all entries that match, of any key.
 */
#ifndef CLOCKOO_FLASH_INDEX_H
#define CLOCKOO_FLASH_INDEX_H

#include "base/prefetch.h"
#include "index/index.h"

#define FLASH_INDEX_MATCHES (2 * BUCKET_SLOTS)
#define FLASH_INDEX_NODES   256u
#define FLASH_USED          (1u << 31)

struct flash_index {
	struct bucket *buckets;
	uint32_t bucket_count; /* even, at least INDEX_BUCKETS_MIN */
	/* Changes when an entry moves to where a lookup in progress may miss it. */
	_Atomic uint32_t moves;
	_Atomic uint64_t entries; /* readable by any thread; changed under the shard's lock */
};

static inline struct place
flash_index_place(const struct flash_index *ix, uint64_t hash)
{
	struct place p = place_among(ix->bucket_count, hash);

	p.tag |= (uint16_t)(hash >> 16 & TAG_DISPLACED); /* entries have no displaced bit */
	return p;
}

static inline uint32_t
flash_index_moves(const struct flash_index *ix)
{
	/* Acquire: pairs with the release in flash_index_step. */
	return atomic_load_explicit(&ix->moves, memory_order_acquire);
}

/* Steps `moves`: before an entry is removed, and after its replacement is in place. */
static inline void
flash_index_step(struct flash_index *ix)
{
	const uint32_t moves = atomic_load_explicit(&ix->moves, memory_order_relaxed);

	/* Release: pairs with the acquire in flash_index_moves. */
	atomic_store_explicit(&ix->moves, moves + 1, memory_order_release);
}

/* True if there is no entry for a lookup to find: an entry is counted before its key leaves the
 * store. */
static inline bool
flash_index_is_empty(const struct flash_index *ix)
{
	/* Acquire: pairs with the release in add_entries; a step before the last entry's removal
	 * is visible. */
	return atomic_load_explicit(&ix->entries, memory_order_acquire) == 0;
}

/* Returns the place of a hash, and prefetches its buckets. Tag 0, which no entry has, means that
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

/* True if an entry matches; with concurrent moves as a lookup. Also true if the index was empty
 * at the fetch and is not empty now. */
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

/* Finds all locations that match, with their used bits, at most FLASH_INDEX_MATCHES. Returns
 * their number. */
uint32_t flash_index_look(const struct flash_index *ix, uint64_t hash, uint32_t *locations);

/* Sets the used bit of an entry that still exists. Returns whether it was set before. */
bool flash_index_use(struct flash_index *ix, uint64_t hash, uint32_t location);

/* True if this location, with or without its used bit, is an entry of this hash. */
bool flash_index_has(const struct flash_index *ix, uint64_t hash, uint32_t location);

bool flash_index_insert(struct flash_index *ix, uint64_t hash, uint32_t location);

/* Erases all entries that match. Returns their number. */
uint32_t flash_index_erase(struct flash_index *ix, uint64_t hash);

/* Removes the dead entries of one bucket. */
typedef bool flash_index_dead_fn(const void *arg, uint32_t location);
void flash_index_sweep(struct flash_index *ix, uint32_t bucket, flash_index_dead_fn *dead,
		       const void *arg);

#endif

/*
 * flash_index.h - an index that says where on flash a key may be: tags and locations, ten pairs in
 * a cache line.
 *
 * It is a cuckoo table with partial keys in the store's buckets (store/bucket.h). It stores no
 * keys: an entry matches a hash if it has the hash's tag and lies in one of the hash's two buckets.
 *
 * Shape:  a tag is 16 bits. An entry's other bucket is computed from its present one and 15 bits of
 *         its tag, so moving it reads no flash. A location is not 0. The highest bit of a location
 *         is the used bit, a hint that a client has received the item from there.
 * Units:  hash: the key's, of 64 bits; bits 16..63 are used.
 * Owner:  the caller provides bucket_count zeroed buckets.
 * Thread: lookups and flash_index_use: any, without a lock. Changes: one at a time.
 * Errors: flash_index_insert returns false if the index is full; entries may have moved to their
 *         other bucket by then.
 * Bounds: a lookup reads two lines, an insert at most FLASH_INDEX_NODES. 99 % of the slots can be
 *         filled: an entry goes into the emptier of its buckets, so that the first path is needed
 *         only when 75 % are full.
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
	/* Changes when an entry moves, or is removed, in a way that a lookup in progress may
	 * miss. */
	_Atomic uint32_t moves;
	_Atomic uint64_t entries; /* readable by any thread; changed under the shard's lock */
};

static inline struct place
flash_index_place(const struct flash_index *ix, uint64_t hash)
{
	struct place p = place_among(ix->bucket_count, hash);

	p.tag |= (uint16_t)(hash >> 16 & TAG_DISPLACED); /* entries have no bit for displacement */
	return p;
}

static inline uint32_t
flash_index_moves(const struct flash_index *ix)
{
	/* Acquire: pairs with the release in flash_index_step. */
	return atomic_load_explicit(&ix->moves, memory_order_acquire);
}

/* Changes `moves`. To be called before an entry is removed, and after its replacement is in
 * place. */
static inline void
flash_index_step(struct flash_index *ix)
{
	const uint32_t moves = atomic_load_explicit(&ix->moves, memory_order_relaxed);

	/* Release: pairs with the acquire in flash_index_moves. */
	atomic_store_explicit(&ix->moves, moves + 1, memory_order_release);
}

/* True if no lookup can find an entry. An eviction counts its entry before the key leaves the
 * store, so it is seen here. */
static inline bool
flash_index_is_empty(const struct flash_index *ix)
{
	/* Acquire: pairs with the release in add_entries. A reader of 0 also sees the change of
	 * `moves` before the last entry was removed. */
	return atomic_load_explicit(&ix->entries, memory_order_acquire) == 0;
}

/* Returns the place of a hash, and prefetches its buckets. If the index is empty, the place has tag
 * 0, which no entry has. */
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

/* True if an entry matches. Like a lookup it may miss an entry that is being moved. Also true if
 * the index was empty at the fetch and is not empty now. */
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

/* Finds the locations, with their used bits, of all entries that match: at most
 * FLASH_INDEX_MATCHES. Returns their number. */
uint32_t flash_index_look(const struct flash_index *ix, uint64_t hash, uint32_t *locations);

/* Sets the used bit of an entry, if it still exists. True if the bit was set before. */
bool flash_index_use(struct flash_index *ix, uint64_t hash, uint32_t location);

/* True if the index has this location, with or without its used bit, as an entry of this hash. */
bool flash_index_has(const struct flash_index *ix, uint64_t hash, uint32_t location);

bool flash_index_insert(struct flash_index *ix, uint64_t hash, uint32_t location);

/* Erases all entries that match. Returns their number. */
uint32_t flash_index_erase(struct flash_index *ix, uint64_t hash);

/* Removes the dead entries of one bucket; dead() says which. */
typedef bool flash_index_dead_fn(const void *arg, uint32_t location);
void flash_index_sweep(struct flash_index *ix, uint32_t bucket, flash_index_dead_fn *dead,
		       const void *arg);

#endif

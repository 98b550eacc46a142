/*
 * bucket.h - one cache line of the index: ten tags, a version and lock word, ten references.
 *
 * index.h says which keys belong to a bucket, INVARIANTS.md what holds for a key's two buckets.
 *
 * Shape:  a slot with reference 0 is empty; one with a reference and tag 0 is a tombstone.
 *
 * Thread: bucket_match, bucket_ref, bucket_tag and version_*: any core without a lock. "Under the
 *         lock": the core that has set VERSION_LOCK.
 */
#ifndef CLOCKOO_BUCKET_H
#define CLOCKOO_BUCKET_H

#include "base/gap.h"
#include "base/spin.h"

#include "base/check.h"
#include "base/vec16.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define BUCKET_SLOTS 10u
#define BUCKET_ALL   ((1u << BUCKET_SLOTS) - 1)

/* A tag is 15 bits of the hash and this bit, set if the item is displaced. */
#define TAG_DISPLACED 0x8000u

/*
 * The version word, from bit 0 on:
 *   1 bit    lock: a writer holds the bucket
 *   7 bits   overflow: an item with a tag of this kind was displaced from here
 *   7 bits   fresh: as overflow, but only of items displaced since the last renewal (relocate.c)
 *  17 bits   version counter: counts moves out of this bucket
 * The counter wraps after 2^17 moves, so a lookup could take that many for none. It would have to
 * pause between two loads for 13 ms (100 ns a move), in which all moves are out of one bucket.
 */
#define VERSION_LOCK   1u
#define OVERFLOW_SHIFT 1u
#define OVERFLOW_BITS  7u
#define FRESH_SHIFT    (OVERFLOW_SHIFT + OVERFLOW_BITS)
#define VERSION_STEP   (1u << (FRESH_SHIFT + OVERFLOW_BITS))
#define OVERFLOW_MASK  (((1u << OVERFLOW_BITS) - 1) << OVERFLOW_SHIFT)
#define FRESH_MASK     (OVERFLOW_MASK << OVERFLOW_BITS)

struct bucket {
	_Atomic uint16_t tag[BUCKET_SLOTS];
	_Atomic uint32_t version;
	_Atomic uint32_t ref[BUCKET_SLOTS];
} __attribute__((aligned(CACHE_LINE_BYTES)));
static_assert(sizeof(struct bucket) == CACHE_LINE_BYTES, "a bucket is one cache line");
static_assert(offsetof(struct bucket, version) == 20, "tags of 16 and 4 bytes, then the version");

/* Returns a bit for each slot that has this tag: bucket_match without vectors. */
static inline uint32_t
bucket_match_scalar(const struct bucket *b, uint16_t tag)
{
	uint32_t hits = 0;

	for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
		hits |= (uint32_t)(atomic_load_explicit(&b->tag[i], memory_order_relaxed) == tag)
			<< i;
	return hits;
}

/* ThreadSanitizer checks atomic loads, but not vector loads. */
#ifdef __SANITIZE_THREAD__
#define MATCH_IN_VECTORS false
#else
#define MATCH_IN_VECTORS true
#endif

/* Returns a bit for each slot that has this tag; compares all ten at once. The second load covers
 * tags 8 and 9 and some bytes after them, which the mask drops. A vector load of a line that a
 * writer is changing may see old and new tags together; the version counter shows that. */
static inline uint32_t
bucket_match(const struct bucket *b, uint16_t tag)
{
	if (!MATCH_IN_VECTORS)
		return bucket_match_scalar(b, tag);

	const uint8_t *p = (const uint8_t *)b;
	const vec16 want = vec16_of_16(tag);
	const vec16 low = vec16_equal_16(vec16_load_aligned(p), want);
	const vec16 high = vec16_equal_16(vec16_load_aligned(p + 16), want);

	return vec16_signs(vec16_pack_16(low, high)) & BUCKET_ALL;
}

/* Returns a bit for each slot whose item is displaced: TAG_DISPLACED is a tag's sign, which packing
 * keeps. */
static inline uint32_t
bucket_displaced(const struct bucket *b)
{
	const uint8_t *p = (const uint8_t *)b;
	uint32_t displaced = 0;

	if (MATCH_IN_VECTORS)
		return vec16_signs(
			       vec16_pack_16(vec16_load_aligned(p), vec16_load_aligned(p + 16))) &
		       BUCKET_ALL;
	for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
		displaced |= (atomic_load_explicit(&b->tag[i], memory_order_relaxed) >> 15 & 1u)
			     << i;
	return displaced;
}

static inline uint32_t
bucket_ref(const struct bucket *b, uint32_t slot)
{
	/* Acquire: pairs with the release in bucket_put, so the item is complete. */
	return atomic_load_explicit(&b->ref[slot], memory_order_acquire);
}

static inline uint16_t
bucket_tag(const struct bucket *b, uint32_t slot)
{
	return atomic_load_explicit(&b->tag[slot], memory_order_relaxed);
}

/* Returns the slot with this tag and this reference, or BUCKET_SLOTS. */
static inline uint32_t
bucket_slot_of(const struct bucket *b, uint16_t tag, uint32_t ref)
{
	for (uint32_t hits = bucket_match(b, tag); hits != 0; hits &= hits - 1) {
		const uint32_t slot = (uint32_t)__builtin_ctz(hits);

		if (bucket_ref(b, slot) == ref)
			return slot;
	}
	return BUCKET_SLOTS;
}

/* Returns the version word without its lock bit, for a lookup, which compares it at its end. */
static inline uint32_t
version_open(const struct bucket *b)
{
	/* Acquire: pairs with the release in bucket_moved. The tags are read after this. */
	return atomic_load_explicit(&b->version, memory_order_acquire) & ~VERSION_LOCK;
}

static inline bool
version_same(const struct bucket *b, uint32_t version)
{
	return (atomic_load_explicit(&b->version, memory_order_relaxed) & ~VERSION_LOCK) == version;
}

/* Returns the number of a tag's overflow bit, by a product instead of a division. */
static inline uint32_t
overflow_kind(uint16_t tag)
{
	return (tag & ~TAG_DISPLACED) * OVERFLOW_BITS >> 15;
}

/* Returns the overflow bit and the fresh bit of a tag. */
static inline uint32_t
overflow_bits(uint16_t tag)
{
	return (1u << OVERFLOW_SHIFT | 1u << FRESH_SHIFT) << overflow_kind(tag);
}

/* True if an item with this tag may be in its alternate bucket. version: its primary bucket's. */
static inline bool
version_overflows(uint32_t version, uint16_t tag)
{
	return (version >> (OVERFLOW_SHIFT + overflow_kind(tag)) & 1) != 0;
}

/* ---- for writers (index.c) ---- */

void bucket_lock_wait(struct bucket *b);

static inline bool
bucket_try_lock(struct bucket *b)
{
	uint32_t v = atomic_load_explicit(&b->version, memory_order_relaxed);

	/* Acquire: pairs with the release in bucket_unlock. Sequentially consistent, so that the
	 * flush generation is read after the lock bit is visible (sweep.c). */
	return (v & VERSION_LOCK) == 0 &&
	       atomic_compare_exchange_strong_explicit(&b->version, &v, v | VERSION_LOCK,
						       memory_order_seq_cst, memory_order_relaxed);
}

static inline void
bucket_lock(struct bucket *b)
{
	if (unlikely(!bucket_try_lock(b)))
		bucket_lock_wait(b);
}

static inline void
bucket_unlock(struct bucket *b)
{
	const uint32_t v = atomic_load_explicit(&b->version, memory_order_relaxed);

	/* Release: pairs with the acquire in bucket_try_lock. */
	atomic_store_explicit(&b->version, v & ~VERSION_LOCK, memory_order_release);
}

/* Locks both in the order of their addresses; a bucket named twice is locked once. */
void bucket_lock_both(struct bucket *a, struct bucket *b);
void bucket_unlock_both(struct bucket *a, struct bucket *b);

static inline bool
bucket_locked(const struct bucket *b)
{
	/* Sequentially consistent: the sweep must not miss a writer at work (sweep.c). */
	return (atomic_load_explicit(&b->version, memory_order_seq_cst) & VERSION_LOCK) != 0;
}

/* Returns an empty slot, or BUCKET_SLOTS. */
uint32_t bucket_empty_slot(const struct bucket *b);

/* Returns all overflow and fresh bits, for a migration to copy. Called under the lock. */
static inline uint32_t
bucket_overflows(const struct bucket *b)
{
	return atomic_load_explicit(&b->version, memory_order_relaxed) &
	       (OVERFLOW_MASK | FRESH_MASK);
}

static inline void
bucket_set_overflows(struct bucket *b, uint32_t overflows)
{
	const uint32_t v = atomic_load_explicit(&b->version, memory_order_relaxed);

	/* Release: pairs with the acquire in version_open. */
	atomic_store_explicit(&b->version, (v & ~(OVERFLOW_MASK | FRESH_MASK)) | overflows,
			      memory_order_release);
}

/* Fills a slot, or replaces its item. Called under the lock. */
static inline void
bucket_put(struct bucket *b, uint32_t slot, uint32_t ref, uint16_t tag)
{
	/* Release: pairs with the acquire in bucket_ref, so the item is complete. The reference is
	 * stored before the tag, so a lookup that sees the tag finds the new item and no other. */
	atomic_store_explicit(&b->ref[slot], ref, memory_order_release);
	atomic_store_explicit(&b->tag[slot], tag, memory_order_release);
}

/* Empties a slot. Called under the lock. */
static inline void
bucket_clear(struct bucket *b, uint32_t slot)
{
	/* Release: pairs with the acquire fence in index_find. */
	atomic_store_explicit(&b->tag[slot], 0, memory_order_release);
	atomic_store_explicit(&b->ref[slot], 0, memory_order_release);
}

/* Hides a slot from lookups without emptying it. Called under the lock. */
static inline void
bucket_make_tombstone(struct bucket *b, uint32_t slot)
{
	/* Relaxed: a lookup that sees tag 0 misses a removed key; earlier moves do not matter. */
	atomic_store_explicit(&b->tag[slot], 0, memory_order_relaxed);
}

/* Increments the version counter, after the new slot of a move is filled and before the old one is
 * cleared. Called under the lock. */
static inline void
bucket_moved(struct bucket *b)
{
	const uint32_t v = atomic_load_explicit(&b->version, memory_order_relaxed);

	/* Release: pairs with the acquire in version_open, so a lookup that begins with the new
	 * version sees the new slot. */
	atomic_store_explicit(&b->version, v + VERSION_STEP, memory_order_release);
}

/* Sets a tag's overflow bit, before its item is put into the alternate bucket. A lookup that
 * misses the item here then sees the bit, or the version that the move increments. Called under
 * the lock. */
static inline void
bucket_overflow(struct bucket *primary, uint16_t tag)
{
	const uint32_t v = atomic_load_explicit(&primary->version, memory_order_relaxed);

	/* Release: pairs with the acquire in version_open. */
	if ((v & overflow_bits(tag)) != overflow_bits(tag))
		atomic_store_explicit(&primary->version, v | overflow_bits(tag),
				      memory_order_release);
}

/* Makes the fresh bits the overflow bits, and clears them. Called under the lock. */
static inline void
bucket_age_overflow(struct bucket *primary)
{
	const uint32_t v = atomic_load_explicit(&primary->version, memory_order_relaxed);
	const uint32_t fresh = (v & FRESH_MASK) >> OVERFLOW_BITS;

	/* Release: pairs with the acquire in version_open. */
	atomic_store_explicit(&primary->version, (v & ~(OVERFLOW_MASK | FRESH_MASK)) | fresh,
			      memory_order_release);
}

#endif

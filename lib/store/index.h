/*
 * index.h - which item has this key: an optimistic cuckoo table.
 *
 * Partial-key cuckoo hashing after MemC3 (Fan, Andersen, Kaminsky, NSDI 2013) with many
 * writers (Li et al., EuroSys 2014). A key has two buckets; either is computed from the other
 * and the tag alone, so a move never looks at the item.
 *
 * Shape:  a bucket is one cache line: 10 tags, a version and lock word, 10 references. Their
 *         number is any even one: the index is as large as the budget wants. The two buckets of a
 *         key add up, modulo that number, to an odd number that the tag names; so either leads to
 *         the other, and no key has one bucket twice. The tag of an item in the second of them has
 *         TAG_AWAY set, and the first has that tag's overflow bit set: where it is clear, no item
 *         with such a tag went away, and the other bucket need not be looked at.
 *         While the index is resized (resize.h), buckets give their items away one after the other.
 *         Each of a key's two buckets counts for itself: it is the new one once the old one has
 *         been emptied. So a key has two buckets at any time, and changes one only under its lock.
 *         A slot with reference 0 is empty. A slot with a reference and tag 0 is a zombie: out
 *         of every lookup's sight, waiting for room in the limbo (sweep.c).
 * Thread: lookups take no lock. All else under the lock bit of the buckets concerned, lower
 *         address first: two, or those that one bucket gives its items to.
 * Bounds: INDEX_TRIES_MAX looks a lookup. 10 slots of 6.4 bytes: see README.md.
 */
#ifndef CLOCKOO_INDEX_H
#define CLOCKOO_INDEX_H

#include "arena.h"
#include "layout.h"
#include "mutant.h"
#include "place.h"
#include "spin.h"

#include "base/hash.h"

#include <nmmintrin.h>

#define BUCKET_SLOTS      10u
#define BUCKET_ALL        ((1u << BUCKET_SLOTS) - 1)
#define INDEX_BUCKETS_MIN 16u
#define INDEX_TRIES_MAX   64u

/* 15 bits of the hash, and where the item lies: a lookup compares both at once. */
#define TAG_AWAY 0x8000u

/* The version word: a writer holds the bucket; which tags have gone to their away bucket, and which
 * of those lately (homing.c); moves out of here. A reader must not take 2^17 moves for none: at
 * 100 ns a move, it would have to stop for a multiple of 13 ms between two loads, and one bucket be
 * all that is written to. */
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

/* What place a key has follows from the number of buckets; while the index is resized, from both
 * numbers and how many of the old buckets are empty by now. seq changes whenever that does. */
#define GEOMETRY_MOVING 1u /* bit 0 of seq: the index is being resized */
#define GEOMETRY_STEP   2u /* another bucket is empty, or a resize begins or ends */

struct index {
	struct bucket *buckets;
	const struct arena *arena;
	uint64_t seed;                 /* of the hash */
	_Atomic uint32_t seq;          /* of the geometry */
	_Atomic uint32_t bucket_count; /* even; while it is resized the old number */
	_Atomic uint32_t new_count;    /* while it is resized; likewise */
	_Atomic uint32_t first_seq;    /* of this resize: nothing is empty yet */
};

/* Where an item is, or could be. */
struct spot {
	struct bucket *bucket; /* NULL: nowhere */
	uint32_t slot;
	uint16_t tag; /* as it stands there */
};

/* In the first pages of the arena, which are zero. */
void index_init(struct index *ix, const struct arena *arena, uint32_t bucket_count, uint64_t seed);

/* One more than the last bucket that may hold an item. */
uint32_t index_bucket_end(const struct index *ix);

static inline uint32_t
index_bucket_count(const struct index *ix)
{
	/* Acquire: pairs with the release in geometry_end; buckets that came in are empty. */
	return atomic_load_explicit(&ix->bucket_count, memory_order_acquire);
}

/* Is it being resized, and to more buckets? For whoever resizes it. */
static inline bool
index_grows(const struct index *ix)
{
	return atomic_load_explicit(&ix->new_count, memory_order_relaxed) > index_bucket_count(ix);
}

static inline uint32_t
index_seq(const struct index *ix)
{
	/* Acquire: pairs with the release in geometry_step; whoever sees a bucket left sees its
	 * items in their new places. */
	return atomic_load_explicit(&ix->seq, memory_order_acquire);
}

static inline uint64_t
index_hash(const struct index *ix, struct view key)
{
	return hash_bytes(key.data, key.len, ix->seed);
}

/* n spread evenly over 0..below-1, by a product instead of a division. */
static inline uint32_t
spread(uint32_t n, uint32_t below)
{
	return (uint32_t)((uint64_t)n * below >> 32);
}

/* The other bucket of what lies in this one under this tag; its own inverse. */
static inline uint32_t
bucket_other(uint32_t bucket_count, uint32_t bucket, uint16_t tag)
{
	const uint32_t name = tag & ~TAG_AWAY;
	const uint32_t sum = 2 * spread(name * 0x9e3779b1u, bucket_count / 2) + 1;

	return sum - bucket + (sum < bucket ? bucket_count : 0);
}

/* Bits 32..63 choose the home, 16..30 are the tag. */
static inline struct place
place_among(uint32_t bucket_count, uint64_t hash)
{
	const uint16_t tag = (uint16_t)(hash >> 16 & ~TAG_AWAY);
	struct place p = {
		.home = spread((uint32_t)(hash >> 32), bucket_count),
		.tag = tag != 0 ? tag : 1,
	};

	p.away = bucket_other(bucket_count, p.home, p.tag);
	return p;
}

/* The same while the index is resized. */
struct place index_place_moving(const struct index *ix, uint64_t hash);

static inline struct place
index_place(const struct index *ix, uint64_t hash)
{
	const uint32_t seq = index_seq(ix);

	if (unlikely((seq & GEOMETRY_MOVING) != 0))
		return index_place_moving(ix, hash);

	/* The number may be newer than seq: then seq is out of date, and nothing is believed that
	 * hangs on it. */
	struct place p = place_among(index_bucket_count(ix), hash);

	p.seq = seq;
	return p;
}

static inline bool
place_is_current(const struct index *ix, const struct place *p)
{
	return atomic_load_explicit(&ix->seq, memory_order_relaxed) == p->seq;
}

static inline struct bucket *
index_bucket(const struct index *ix, uint32_t n)
{
	return &ix->buckets[n];
}

/* Bit i is set if slot i has this tag. The scalar twin of bucket_match. */
static inline uint32_t
bucket_match_scalar(const struct bucket *b, uint16_t tag)
{
	uint32_t hits = 0;

	for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
		hits |= (uint32_t)(atomic_load_explicit(&b->tag[i], memory_order_relaxed) == tag)
			<< i;
	return hits;
}

/* ThreadSanitizer follows atomic loads, not vectors: it is shown the scalar twin. */
#ifdef __SANITIZE_THREAD__
#define MATCH_IN_VECTORS false
#else
#define MATCH_IN_VECTORS true
#endif

/* The same for all ten tags at once. The second load takes in tags 8 and 9 and what follows;
 * the mask drops the rest. A vector load of a line that a writer is changing may see some
 * tags before and some after: what the versions are for. */
static inline uint32_t
bucket_match(const struct bucket *b, uint16_t tag)
{
	if (!MATCH_IN_VECTORS)
		return bucket_match_scalar(b, tag);

	const uint8_t *p = (const uint8_t *)b;
	const __m128i want = _mm_set1_epi16((short)tag);
	const __m128i low = _mm_load_si128((const __m128i *)(const void *)p);
	const __m128i high = _mm_load_si128((const __m128i *)(const void *)(p + 16));
	const __m128i same =
		_mm_packs_epi16(_mm_cmpeq_epi16(low, want), _mm_cmpeq_epi16(high, want));

	return (uint32_t)_mm_movemask_epi8(same) & BUCKET_ALL;
}

static inline uint32_t
bucket_ref(const struct bucket *b, uint32_t slot)
{
	/* Acquire: pairs with the release in bucket_put; whoever sees the reference sees the item.
	 */
	return atomic_load_explicit(&b->ref[slot], memory_order_acquire);
}

static inline uint16_t
bucket_tag(const struct bucket *b, uint32_t slot)
{
	return atomic_load_explicit(&b->tag[slot], memory_order_relaxed);
}

/* The slot that holds the key, or BUCKET_SLOTS; *ref is the item found. */
static inline uint32_t
bucket_scan(const struct index *ix, const struct bucket *b, struct view key, uint16_t tag,
	    uint32_t *ref)
{
	for (uint32_t hits = bucket_match(b, tag); hits != 0; hits &= hits - 1) {
		const uint32_t slot = (uint32_t)__builtin_ctz(hits);
		const uint32_t r = bucket_ref(b, slot);

		if (r != 0 && item_has_key(arena_at(ix->arena, r), key)) {
			*ref = r;
			return slot;
		}
	}
	return BUCKET_SLOTS;
}

/* The version as it is now, whoever holds the lock: moves change it, and overflow bits do. */
static inline uint32_t
version_open(const struct bucket *b)
{
	/* Acquire: pairs with the release in bucket_moved; the scan comes after. */
	return atomic_load_explicit(&b->version, memory_order_acquire) & ~VERSION_LOCK;
}

static inline bool
version_same(const struct bucket *b, uint32_t version)
{
	return (atomic_load_explicit(&b->version, memory_order_relaxed) & ~VERSION_LOCK) == version;
}

/* Which of the overflow bits stands for a tag: a product instead of a division. */
static inline uint32_t
overflow_kind(uint16_t tag)
{
	return (tag & ~TAG_AWAY) * OVERFLOW_BITS >> 15;
}

/* That one and the fresh one. */
static inline uint32_t
overflow_bits(uint16_t tag)
{
	return (1u << OVERFLOW_SHIFT | 1u << FRESH_SHIFT) << overflow_kind(tag);
}

/* Of a home bucket's version: may an item with this tag be in its other bucket? */
static inline bool
version_overflows(uint32_t version, uint16_t tag)
{
	return (version >> (OVERFLOW_SHIFT + overflow_kind(tag)) & 1) != 0;
}

/*
 * Find the item for one key, without locks. 0 is a miss.
 *
 * A hit is final: items never change once published, and none is reused before every core
 * has passed a quiescent point. Only a miss can lie: a writer may be moving the key between
 * its two buckets, or one of them may have been left for a new one. So a miss counts only if
 * no version moved while we looked, nor the geometry since the place was worked out;
 * otherwise look again, a bounded number of times. *tries is how often we had to.
 *
 * A home without the overflow bit is enough for a miss: whoever is in the away bucket now went
 * there after the bit was set, so either we saw the bit, or it was in the home when we began; then
 * it has moved, and the home's version with it, or it was gone in between.
 */
static inline uint32_t
index_find(const struct index *ix, struct view key, struct place *p, uint32_t *tries)
{
	uint32_t ref;

	for (*tries = 0; *tries < INDEX_TRIES_MAX; ++*tries) {
		if (unlikely(!place_is_current(ix, p)))
			*p = index_place(ix, index_hash(ix, key));

		const struct bucket *home = index_bucket(ix, p->home);
		const struct bucket *away = index_bucket(ix, p->away);
		const uint32_t home_version = version_open(home);
		const bool overflows = version_overflows(home_version, p->tag);
		const uint32_t away_version = overflows ? version_open(away) : 0;

		if (bucket_scan(ix, home, key, p->tag, &ref) < BUCKET_SLOTS)
			return ref;
		protocol_gap();
		if (overflows && bucket_scan(ix, away, key, p->tag | TAG_AWAY, &ref) < BUCKET_SLOTS)
			return ref;
		/* Pairs with the release stores that clear a slot in bucket_clear: if we saw the
		 * slot a move left empty, we see the version it stepped on before, or seq. */
		atomic_thread_fence(memory_order_acquire);
		if (mutant_no_version() || (version_same(home, home_version) &&
					    (!overflows || version_same(away, away_version)) &&
					    (place_is_current(ix, p) || mutant_old_miss())))
			return 0;
	}
	return 0; /* a crowded bucket may cost a miss, never a wrong value */
}

/* ---- for resize.c, one core at a time ---- */

void geometry_begin(struct index *ix, uint32_t new_count);
/* The old bucket to empty next; UINT32_MAX: none is left. */
uint32_t geometry_next(const struct index *ix);
/* The buckets, from *first to *last, that are the new home of keys with this old one. */
void geometry_new_homes(const struct index *ix, uint32_t bucket, uint32_t *first, uint32_t *last);
/* Where a key belongs once that one is empty. */
struct place geometry_place_after(const struct index *ix, uint64_t hash);
/* From now on it is, as far as places go: its items are in their new buckets, too. */
void geometry_step(struct index *ix);
void geometry_end(struct index *ix);

/* ---- for writers ---- */

void bucket_lock(struct bucket *b);
void bucket_unlock(struct bucket *b);
/* Lower address first; a bucket that comes twice is locked once. */
void bucket_lock_both(struct bucket *a, struct bucket *b);
void bucket_unlock_both(struct bucket *a, struct bucket *b);
/* Both buckets of a hash, and they stay that: a key leaves a bucket under that bucket's lock. */
struct place index_lock(const struct index *ix, uint64_t hash);
void index_unlock(const struct index *ix, const struct place *p);

static inline bool
bucket_locked(const struct bucket *b)
{
	/* Sequentially consistent: see sweep.c, which must not miss a writer at work. */
	return (atomic_load_explicit(&b->version, memory_order_seq_cst) & VERSION_LOCK) != 0;
}

/* An empty slot, or BUCKET_SLOTS. */
uint32_t bucket_empty_slot(const struct bucket *b);

/* All bits, under the lock: a resize hands them on with the keys they speak of. */
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

/* Fill an empty slot, or replace what is in one, under the lock. */
static inline void
bucket_put(struct bucket *b, uint32_t slot, uint32_t ref, uint16_t tag)
{
	/* Release: pairs with the acquire in bucket_ref; the item is complete. The reference
	 * comes first, so a lookup that sees the tag finds no other than the new item. */
	atomic_store_explicit(&b->ref[slot], ref, memory_order_release);
	atomic_store_explicit(&b->tag[slot], tag, memory_order_release);
}

/* Empty a slot, under the lock. */
static inline void
bucket_clear(struct bucket *b, uint32_t slot)
{
	/* Release: pairs with the acquire fence in index_find. */
	atomic_store_explicit(&b->tag[slot], 0, memory_order_release);
	atomic_store_explicit(&b->ref[slot], 0, memory_order_release);
}

/* Take a slot out of sight without emptying it, under the lock. */
static inline void
bucket_hide(struct bucket *b, uint32_t slot)
{
	atomic_store_explicit(&b->tag[slot], 0, memory_order_release);
}

/* Say that something is about to leave this bucket for its other one, under the lock: after
 * the new slot is filled, before the old one is cleared. */
static inline void
bucket_moved(struct bucket *b)
{
	const uint32_t v = atomic_load_explicit(&b->version, memory_order_relaxed);

	/* Release: pairs with the acquire in version_open; who starts from the new version
	 * sees the new slot. */
	atomic_store_explicit(&b->version, v + VERSION_STEP, memory_order_release);
}

/* Say that an item with this tag is about to lie in its away bucket, under the lock of its home:
 * before it is put there, so that whoever could miss it here sees the bit, or the version
 * that a move steps afterwards. */
static inline void
bucket_overflow(struct bucket *home, uint16_t tag)
{
	const uint32_t v = atomic_load_explicit(&home->version, memory_order_relaxed);

	/* Release: pairs with the acquire in version_open. */
	if ((v & overflow_bits(tag)) != overflow_bits(tag) && !mutant_no_overflow())
		atomic_store_explicit(&home->version, v | overflow_bits(tag), memory_order_release);
}

/* Forget what is not fresh, under the lock; from now on something else is. */
static inline void
bucket_renew(struct bucket *home)
{
	const uint32_t v = atomic_load_explicit(&home->version, memory_order_relaxed);
	const uint32_t fresh = mutant_renew_all() ? 0 : (v & FRESH_MASK) >> OVERFLOW_BITS;

	/* Release: pairs with the acquire in version_open. */
	atomic_store_explicit(&home->version, (v & ~(OVERFLOW_MASK | FRESH_MASK)) | fresh,
			      memory_order_release);
}

/* Where the key is, under both locks. */
struct spot index_spot_of_key(const struct index *ix, const struct place *p, struct view key);
/* Where this very reference is, under both locks. */
struct spot index_spot_of_ref(const struct index *ix, const struct place *p, uint32_t ref);
/* An empty slot in either bucket, the home first. */
struct spot index_spot_empty(const struct index *ix, const struct place *p);
/* Fill it, under both locks. */
void index_put(const struct index *ix, const struct place *p, struct spot spot, uint32_t ref);

#endif

/*
 * index.h - which item has this key: an optimistic cuckoo table.
 *
 * Partial-key cuckoo hashing after MemC3 (Fan, Andersen, Kaminsky, NSDI 2013) with many
 * writers (Li et al., EuroSys 2014). A key has two buckets; either is computed from the other
 * and the tag alone, so a move never looks at the item.
 *
 * Shape:  a bucket is one cache line: 10 tags, a version and lock word, 10 references. Their number
 *         is any even one: the index is as large as the budget wants. The two buckets of a key add
 *         up, modulo that number, to an odd number that the tag names; so either leads to the
 *         other, and no key has one bucket twice. The tag of an item in the second of them has
 *         TAG_DISPLACED set, and the first has that tag's overflow bit set: where it is clear, no
 *         item with such a tag was displaced, and the alternate bucket need not be looked at. While
 *         the index is resized (resize.h), buckets give their items away one after the other. Each
 *         of a key's two buckets counts for itself: it is the new one once the old one has been
 *         emptied. So a key has two buckets at any time, and changes one only under its lock. A
 *         slot with reference 0 is empty. A slot with a reference and tag 0 is a tombstone: out of
 *         every lookup's sight, waiting for room on the retire list (sweep.c).
 * Thread: lookups take no lock. All else under the lock bit of the buckets concerned, lower address
 *         first (or by trying): one or two, or those that one bucket gives its items to.
 * Bounds: INDEX_TRIES_MAX looks a lookup. 10 slots of 6.4 bytes: see README.md.
 */
#ifndef CLOCKOO_INDEX_H
#define CLOCKOO_INDEX_H

#include "arena.h"
#include "bucket.h"
#include "item_layout.h"
#include "mutant.h"
#include "place.h"

#include "base/hash.h"

#define INDEX_BUCKETS_MIN 16u
#define INDEX_TRIES_MAX   64u

/* What place a key has follows from the number of buckets; while the index is resized, from both
 * numbers and how many of the old buckets are empty by now. seq changes whenever that does. */
#define GEOMETRY_RESIZING 1u /* bit 0 of seq: the index is being resized */
#define GEOMETRY_STEP     2u /* another bucket is empty, or a resize begins or ends */

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
/* How many there are, or will be after this resize. */
uint32_t index_bucket_target(const struct index *ix);

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

/* The alternate bucket of what lies in this one under this tag; its own inverse. */
static inline uint32_t
bucket_alternate(uint32_t bucket_count, uint32_t bucket, uint16_t tag)
{
	const uint32_t name = tag & ~TAG_DISPLACED;
	const uint32_t sum = 2 * spread(name * 0x9e3779b1u, bucket_count / 2) + 1;

	return sum - bucket + (sum < bucket ? bucket_count : 0);
}

static inline uint16_t
hash_tag(uint64_t hash)
{
	const uint16_t tag = (uint16_t)(hash >> 16 & ~TAG_DISPLACED);

	return tag != 0 ? tag : 1;
}

/* Bits 32..63 choose the primary bucket, 16..30 are the tag. */
static inline struct place
place_among(uint32_t bucket_count, uint64_t hash)
{
	struct place p = {
		.primary = spread((uint32_t)(hash >> 32), bucket_count),
		.tag = hash_tag(hash),
	};

	p.alternate = bucket_alternate(bucket_count, p.primary, p.tag);
	return p;
}

/* The same while the index is resized. */
struct place index_place_resizing(const struct index *ix, uint64_t hash);

static inline struct place
index_place(const struct index *ix, uint64_t hash)
{
	const uint32_t seq = index_seq(ix);

	if (unlikely((seq & GEOMETRY_RESIZING) != 0))
		return index_place_resizing(ix, hash);

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

/*
 * Find the item for one key, without locks. 0 is a miss.
 *
 * A hit is final: items never change once published, and none is reused before every core
 * has passed a quiescent point. Only a miss can lie: a writer may be moving the key between
 * its two buckets, or one of them may have been left for a new one. So a miss counts only if
 * no version moved while we looked, nor the geometry since the place was worked out;
 * otherwise look again, a bounded number of times. *tries is how often we had to.
 *
 * A primary bucket without the overflow bit is enough for a miss: whoever is in the alternate
 * bucket now went there after the bit was set, so either we saw the bit, or it was in the primary
 * bucket when we began; then it has moved, and the primary bucket's version with it, or it was gone
 * in between.
 */
static inline uint32_t
index_find(const struct index *ix, struct view key, struct place *p, uint32_t *tries)
{
	uint32_t ref;

	for (*tries = 0; *tries < INDEX_TRIES_MAX; ++*tries) {
		if (unlikely(!place_is_current(ix, p)))
			*p = index_place(ix, index_hash(ix, key));

		const struct bucket *primary = index_bucket(ix, p->primary);
		const struct bucket *alternate = index_bucket(ix, p->alternate);
		const uint32_t primary_version = version_open(primary);
		const bool overflows = version_overflows(primary_version, p->tag);
		const uint32_t alternate_version = overflows ? version_open(alternate) : 0;

		if (bucket_scan(ix, primary, key, p->tag, &ref) < BUCKET_SLOTS)
			return ref;
		protocol_gap();
		if (overflows &&
		    bucket_scan(ix, alternate, key, p->tag | TAG_DISPLACED, &ref) < BUCKET_SLOTS)
			return ref;
		/* Pairs with the release stores that clear a slot in bucket_clear: if we saw the
		 * slot a move left empty, we see the version it stepped on before, or seq. */
		atomic_thread_fence(memory_order_acquire);
		if (mutant_no_version() ||
		    (version_same(primary, primary_version) &&
		     (!overflows || version_same(alternate, alternate_version)) &&
		     (place_is_current(ix, p) || mutant_stale_miss())))
			return 0;
	}
	return 0; /* a crowded bucket may cost a miss, never a wrong value */
}

/* ---- for resize.c, one core at a time ---- */

void geometry_begin(struct index *ix, uint32_t new_count);
/* The old bucket to empty next; UINT32_MAX: none is left. */
uint32_t geometry_next(const struct index *ix);
/* The buckets, from *first to *last, that are the new primary buckets of keys with this old one. */
void geometry_new_primaries(const struct index *ix, uint32_t bucket, uint32_t *first,
			    uint32_t *last);
/* Where a key belongs once that one is empty. */
struct place geometry_place_after(const struct index *ix, uint64_t hash);
/* From now on it is, as far as places go: its items are in their new buckets, too. */
void geometry_step(struct index *ix);
void geometry_end(struct index *ix);

/* ---- for writers ---- */

/* Both buckets of a hash, and they stay that: a key leaves a bucket under that bucket's lock. */
struct place index_lock(const struct index *ix, uint64_t hash);
void index_unlock(const struct index *ix, const struct place *p);

/*
 * A key's buckets, locked as far as a write of that key needs it; most need the primary bucket
 * alone.
 *
 * A key that is in its primary bucket is replaced or taken out under the primary bucket's lock:
 * whoever moves it, or empties the bucket, holds that one as well. And where a key is not in its
 * primary bucket, and the primary bucket has no overflow bit for its tag, it is in neither bucket:
 * it could have gone away under this lock only, after the bit was set, and whoever would put it
 * anywhere needs this lock. So it can be put into its primary bucket.
 */
enum lock_scope {
	LOCK_KEY,        /* for what is there */
	LOCK_FOR_INSERT, /* or for a place, which is in its primary bucket where the primary bucket
			    alone is locked */
	LOCK_BOTH,
};
struct key_lock {
	struct place place;
	struct spot spot; /* of the key */
	bool both;        /* buckets are locked, not the primary bucket alone */
};
void index_lock_key(const struct index *ix, struct view key, uint64_t hash, enum lock_scope need,
		    struct key_lock *h);
void index_unlock_key(const struct index *ix, const struct key_lock *h);

/* Where the key is, under both locks. */
struct spot index_spot_of_key(const struct index *ix, const struct place *p, struct view key);
/* Where this very reference is, under both locks. */
struct spot index_spot_of_ref(const struct index *ix, const struct place *p, uint32_t ref);
/* An empty slot in either bucket, the primary bucket first. */
struct spot index_spot_empty(const struct index *ix, const struct place *p);
/* Fill it, under both locks; or in the primary bucket under the primary bucket's. */
void index_put(const struct index *ix, const struct place *p, struct spot spot, uint32_t ref);

#endif

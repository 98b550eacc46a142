/*
 * index.h - finds the item of a key: an optimistic cuckoo table.
 *
 * Partial-key cuckoo hashing after MemC3 (Fan, Andersen, Kaminsky, NSDI 2013) with many writers (Li
 * et al., EuroSys 2014). Each of a key's two buckets follows from the other one and the tag, so a
 * move does not read the item. INVARIANTS.md says what must hold.
 *
 * Shape:  a bucket is one cache line: 10 tags, a version word, 10 references. The number of buckets
 *         is even. The numbers of a key's two buckets add up, modulo the number of buckets, to an
 *         odd number made from its tag; so they differ. An item in its alternate bucket is
 *         displaced: its tag has TAG_DISPLACED set, and its primary bucket has the tag's overflow
 *         bit set. A slot with a reference and tag 0 is a tombstone: hidden from lookups, waiting
 *         for space on the retire list.
 *
 * Thread: lookups take no lock. All else: under the locks of the buckets concerned. Locks are taken
 *         in the order of their addresses, or by a try that may fail.
 *
 * Bounds: a lookup is repeated INDEX_TRIES_MAX times at most. README.md: bytes of a key.
 */
#ifndef CLOCKOO_INDEX_H
#define CLOCKOO_INDEX_H

#include "bucket.h"
#include "item_layout.h"
#include "place.h"
#include "base/gap.h"
#include "slab/arena.h"

#include "base/hash.h"

#define INDEX_BUCKETS_MIN 16u
#define INDEX_TRIES_MAX   64u

/* The geometry says which two buckets a key has: the number of buckets and, during a resize, the
 * new number and how many old buckets are empty. seq changes whenever the geometry does. */
#define GEOMETRY_RESIZING 1u /* bit 0 of seq: a resize is under way */
/* Added to seq when another bucket is empty, and when a resize begins or ends. */
#define GEOMETRY_STEP 2u

struct index {
	struct bucket *buckets;
	const struct arena *arena;
	uint64_t seed;                 /* of the hash */
	_Atomic uint32_t seq;          /* changes with the geometry */
	_Atomic uint32_t bucket_count; /* even; during a resize the old number */
	_Atomic uint32_t new_count;    /* during a resize: the new number of buckets */
	_Atomic uint32_t first_seq;    /* seq when this resize began */
};

/* A slot, and where it is. */
struct spot {
	struct bucket *bucket; /* NULL: no slot */
	uint32_t slot;
	uint16_t tag; /* as the bucket stores it */
};

/* Gives the index the first pages of the arena. */
void index_bind(struct index *ix, const struct arena *arena);
/* Makes an empty index of this many buckets, all zero. */
void index_init(struct index *ix, uint32_t bucket_count, uint64_t seed);

/* Returns one more than the number of the last bucket that may hold an item. */
uint32_t index_bucket_end(const struct index *ix);
/* Returns the number of buckets, that after the resize if one is under way. */
uint32_t index_bucket_target(const struct index *ix);

static inline uint32_t
index_bucket_count(const struct index *ix)
{
	/* Acquire: pairs with the release in geometry_end, so new buckets are seen empty. */
	return atomic_load_explicit(&ix->bucket_count, memory_order_acquire);
}

/* True if the resize under way makes the index larger. Under the resize's lock. */
static inline bool
index_grows(const struct index *ix)
{
	return atomic_load_explicit(&ix->new_count, memory_order_relaxed) > index_bucket_count(ix);
}

static inline uint32_t
index_seq(const struct index *ix)
{
	/* Acquire: pairs with the release in geometry_step, so a core for which a bucket counts as
	 * emptied sees its items in their new buckets. */
	return atomic_load_explicit(&ix->seq, memory_order_acquire);
}

static inline uint64_t
index_hash(const struct index *ix, struct view key)
{
	return hash_bytes(key.data, key.len, ix->seed);
}

/* Maps n evenly to 0..below-1, by a product instead of a division. */
static inline uint32_t
spread(uint32_t n, uint32_t below)
{
	return (uint32_t)((uint64_t)n * below >> 32);
}

/* Returns the sum of the positions of a key's two buckets. It depends on the tag alone. */
static inline uint32_t
tag_position(uint16_t tag)
{
	return (tag & ~(uint32_t)TAG_DISPLACED) * 0x9e3779b1u;
}

/* Returns the other bucket of an item that is in this bucket with this tag; its own inverse. */
static inline uint32_t
bucket_alternate(uint32_t bucket_count, uint32_t bucket, uint16_t tag)
{
	const uint32_t sum = 2 * spread(tag_position(tag), bucket_count / 2) + 1;

	return sum - bucket + (sum < bucket ? bucket_count : 0);
}

static inline uint16_t
hash_tag(uint64_t hash)
{
	const uint16_t tag = (uint16_t)(hash >> 16 & ~TAG_DISPLACED);

	return tag != 0 ? tag : 1;
}

/* Bits 32..63 of the hash choose the primary bucket, bits 16..30 are the tag. */
static inline uint32_t
hash_primary(uint32_t bucket_count, uint64_t hash)
{
	return spread((uint32_t)(hash >> 32), bucket_count);
}

/* Positions of a key's buckets, as fractions (of 2^32) of an index of any size; spread() returns
 * the bucket at one. The primary bucket is the one at its position. The alternate bucket is at its
 * position, or up to ALTERNATE_BEHIND buckets after it, where the first bucket follows the last
 * one. */
#define ALTERNATE_BEHIND 2u

static inline uint32_t
hash_position(uint64_t hash)
{
	return (uint32_t)(hash >> 32);
}

static inline uint32_t
hash_alternate_position(uint64_t hash)
{
	return tag_position(hash_tag(hash)) - hash_position(hash);
}

static inline struct place
place_among(uint32_t bucket_count, uint64_t hash)
{
	struct place p = {
		.primary = hash_primary(bucket_count, hash),
		.tag = hash_tag(hash),
	};

	p.alternate = bucket_alternate(bucket_count, p.primary, p.tag);
	return p;
}

/* Computes a place as index_place does, during a resize. */
struct place index_place_resizing(const struct index *ix, uint64_t hash);

static inline struct place
index_place(const struct index *ix, uint64_t hash)
{
	const uint32_t seq = index_seq(ix);

	if (unlikely((seq & GEOMETRY_RESIZING) != 0))
		return index_place_resizing(ix, hash);

	/* If the number is newer than seq, the place is not current, and a miss does not count. */
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

/* Returns the slot that holds the key, or BUCKET_SLOTS. *ref: the item found. */
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
 * Returns the item of a key, without locks; 0: a miss.
 *
 * - A hit is final: a published item does not change, and its memory is not reused before every
 *   core has passed a quiescent state.
 * - A miss may be false: a writer may be moving the key between its buckets, or a resize may have
 *   given the key another bucket. So a miss counts only if neither bucket's version has changed
 *   meanwhile, nor the geometry since the place was computed. Otherwise the lookup is repeated, a
 *   bounded number of times.
 * - A primary bucket without the tag's overflow bit is enough for a miss. The bit is set before an
 *   item is displaced. So for a displaced item either this lookup saw the bit, or the item was
 *   still in its primary bucket when the lookup began, and its move changed the version.
 *
 * *tries is the number of repetitions.
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
		/* Acquire: pairs with the release in bucket_clear. A core that sees a slot cleared
		 * by a move sees the version that the move incremented before, or the new seq. */
		atomic_thread_fence(memory_order_acquire);
		if (version_same(primary, primary_version) &&
		    (!overflows || version_same(alternate, alternate_version)) &&
		    place_is_current(ix, p))
			return 0;
	}
	return 0; /* this many moves may cause a false miss, never a wrong value */
}

/* ---- for writers ---- */

/* Locks both buckets of a hash. They are the key's until they are unlocked, since a migration that
 * gives the key another bucket needs the lock, too. */
struct place index_lock(const struct index *ix, uint64_t hash);
void index_unlock(const struct index *ix, const struct place *p);

/*
 * A key's buckets, of which as many are locked as a write of the key needs. The primary bucket is
 * enough in two cases:
 *
 * - for a key that is in it: a core that moves the item, or empties the bucket, holds that lock;
 * - for a key that is not in it, if the tag's overflow bit is clear: then the key is in neither
 *   bucket. Only a core that has this lock could displace it, after setting the bit, or insert it.
 *   So it can be inserted into the primary bucket.
 */
enum lock_scope {
	LOCK_KEY, /* to find the key */
	/* To find the key or, if it is absent, an empty slot; with only the primary bucket locked,
	 * one there. */
	LOCK_FOR_INSERT,
	LOCK_BOTH,
};
struct key_lock {
	struct place place; /* the alternate bucket is set only if both are locked */
	struct spot spot;   /* slot of the key */
	bool both;          /* both buckets are locked */
};
void index_lock_key(const struct index *ix, struct view key, uint64_t hash, enum lock_scope need,
		    struct key_lock *lock);
void index_unlock_key(const struct index *ix, const struct key_lock *lock);

/* Return, under both locks, the slot of the key, the slot with this reference, and an empty slot,
 * which is in the primary bucket if that has one. */
struct spot index_spot_of_key(const struct index *ix, const struct place *p, struct view key);
struct spot index_spot_of_ref(const struct index *ix, const struct place *p, uint32_t ref);
struct spot index_spot_empty(const struct index *ix, const struct place *p);
/* Moves an item to an empty slot of its other bucket, under both locks. */
void bucket_move(struct bucket *from, uint32_t slot, struct bucket *to, uint32_t empty);
/* Fills a slot: in the primary bucket under its lock, in the alternate bucket under both locks. */
void index_put(const struct index *ix, const struct place *p, struct spot spot, uint32_t ref);

#endif

/*
 * cuckoo_index.h - MemC3's index: cuckoo hashing with buckets of four, with tags or without.
 *
 * Shape:  tagged: a slot is a tag of 8 bits and a pointer, 9 bytes; two buckets lie in 72 bytes:
 *         four pointers, the tags of both, four pointers. The second bucket of a key is the first
 *         one and a hash of the tag, so that a move needs no key. Plain: four pointers a bucket,
 *         and both buckets are hashes of the key. Buckets are a power of two.
 * Owner:  cuckoo_create maps the buckets; the caller owns items.
 * Thread: one writer at a time: the caller holds writer. Readers follow the guard: ALONE, none;
 *         BUCKETS, both buckets' stripes; VERSIONS, no lock, but a version counter, shared by all
 *         keys with the same lower bucket, that is odd while one of them moves.
 * Bounds: CUCKOO_LOOKS_MAX items examined for a path.
 */
#ifndef CLOCKOO_CUCKOO_INDEX_H
#define CLOCKOO_CUCKOO_INDEX_H

#include "chain_index.h" /* paper_hash */
#include "paper_item.h"
#include "paper_lock.h"

#include "base/gap.h"

#define CUCKOO_SLOTS      4u
#define CUCKOO_PAIR_BYTES 72u
#define CUCKOO_TAGS_AT    32u
#define CUCKOO_UPPER_AT   40u
#define CUCKOO_PATHS_MAX  8u
#define CUCKOO_LOOKS_MAX  500u

enum cuckoo_guard { CUCKOO_ALONE, CUCKOO_BUCKETS, CUCKOO_VERSIONS };

typedef _Atomic(struct paper_item *) cuckoo_slot;

struct cuckoo_index {
	uint8_t *memory;
	size_t bytes;
	uint64_t mask;
	bool tagged;
	enum cuckoo_guard guard;
	uint32_t paths;
	uint64_t random;
	uint64_t moves, looks; /* items moved; items examined for paths */
	struct spin_word writer;
	struct spin_word stripes[PAPER_STRIPES];
	_Atomic uint32_t versions[PAPER_STRIPES];
};

/* The two buckets of a key, and its tag. */
struct cuckoo_key {
	uint64_t first, second;
	uint8_t tag;
};

/* Creates an index of at least `slots` slots. */
struct cuckoo_index *cuckoo_create(uint64_t slots, bool tagged, enum cuckoo_guard guard,
				   uint32_t paths, bool huge);
void cuckoo_destroy(struct cuckoo_index *c);

/* Inserts a key that is absent. False: no path to an empty slot was found. */
bool cuckoo_insert(struct cuckoo_index *c, struct paper_item *it);
/* Replaces an item in its slot; NULL empties the slot. The old item's place may be reused once
 * this has returned. */
void cuckoo_replace(struct cuckoo_index *c, const struct paper_item *old, struct paper_item *new);

static inline uint64_t
cuckoo_slots(const struct cuckoo_index *c)
{
	return (c->mask + 1) * CUCKOO_SLOTS;
}

static inline uint64_t
cuckoo_other_by_tag(const struct cuckoo_index *c, uint64_t bucket, uint8_t tag)
{
	return (bucket ^ (bench_mix(tag + 1u) | 1)) & c->mask;
}

static inline struct cuckoo_key
cuckoo_place(const struct cuckoo_index *c, const struct bench_key *k, bool tagged)
{
	const uint64_t hash = paper_hash(k);
	struct cuckoo_key place = {.first = hash & c->mask, .tag = (uint8_t)(hash >> 56)};

	if (tagged)
		place.second = cuckoo_other_by_tag(c, place.first, place.tag);
	else
		place.second = (place.first ^ (bench_mix(hash) | 1)) & c->mask;
	return place;
}

static inline uint8_t *
cuckoo_pair(const struct cuckoo_index *c, uint64_t bucket)
{
	return c->memory + (bucket >> 1) * CUCKOO_PAIR_BYTES;
}

static inline cuckoo_slot *
cuckoo_slots_of(const struct cuckoo_index *c, uint64_t bucket, bool tagged)
{
	uint8_t *p = tagged ? cuckoo_pair(c, bucket) + (bucket & 1) * CUCKOO_UPPER_AT
			    : c->memory + bucket * CUCKOO_SLOTS * sizeof(cuckoo_slot);

	return (cuckoo_slot *)(void *)p;
}

static inline _Atomic uint32_t *
cuckoo_tags_of(const struct cuckoo_index *c, uint64_t bucket)
{
	uint8_t *p = cuckoo_pair(c, bucket) + CUCKOO_TAGS_AT + (bucket & 1) * sizeof(uint32_t);

	return (_Atomic uint32_t *)(void *)p;
}

/* Returns a word in which bit 8 s + 7 is set if slot s has this tag; a higher slot's bit may be
 * set in error. */
static inline uint32_t
cuckoo_tags_match(uint32_t tags, uint8_t tag)
{
	const uint32_t differ = tags ^ tag * 0x01010101u;

	return (differ - 0x01010101u) & ~differ & 0x80808080u;
}

static inline struct paper_item *
cuckoo_find_in(const struct cuckoo_index *c, uint64_t bucket, uint8_t tag,
	       const struct bench_key *k, bool tagged)
{
	cuckoo_slot *slots = cuckoo_slots_of(c, bucket, tagged);
	uint32_t hits = 0x80808080u;

	if (tagged)
		hits = cuckoo_tags_match(
			atomic_load_explicit(cuckoo_tags_of(c, bucket), memory_order_acquire), tag);
	for (; hits != 0; hits &= hits - 1) {
		/* Acquire: pairs with the release where a slot is written. */
		struct paper_item *it = atomic_load_explicit(&slots[__builtin_ctz(hits) >> 3],
							     memory_order_acquire);

		if (it != NULL && item_same_words(it, k))
			return it;
	}
	return NULL;
}

static inline struct paper_item *
cuckoo_find(const struct cuckoo_index *c, const struct cuckoo_key *place, const struct bench_key *k,
	    bool tagged)
{
	struct paper_item *it = cuckoo_find_in(c, place->first, place->tag, k, tagged);

	if (it != NULL)
		return it;
	protocol_gap();
	return cuckoo_find_in(c, place->second, place->tag, k, tagged);
}

static inline void
cuckoo_prefetch(const struct cuckoo_index *c, const struct cuckoo_key *place, bool tagged)
{
	__builtin_prefetch(tagged ? (void *)cuckoo_tags_of(c, place->first)
				  : (void *)cuckoo_slots_of(c, place->first, false));
	__builtin_prefetch(tagged ? (void *)cuckoo_tags_of(c, place->second)
				  : (void *)cuckoo_slots_of(c, place->second, false));
}

/* ---- version counters ---- */

/* Returns a key's version counter from its two buckets; the key itself is not needed. */
static inline _Atomic uint32_t *
cuckoo_version(struct cuckoo_index *c, uint64_t bucket, uint64_t other)
{
	return &c->versions[(bucket < other ? bucket : other) % PAPER_STRIPES];
}

/* Waits while a key with this counter moves. Returns the version. */
static inline uint32_t
cuckoo_read_begin(struct cuckoo_index *c, const struct cuckoo_key *place)
{
	_Atomic uint32_t *version = cuckoo_version(c, place->first, place->second);
	uint32_t v;

	/* Acquire: pairs with the release in cuckoo_write_end. */
	while (((v = atomic_load_explicit(version, memory_order_acquire)) & 1) != 0)
		cpu_pause();
	return v;
}

/* True if all that was read since cuckoo_read_begin belongs to one state. */
static inline bool
cuckoo_read_same(struct cuckoo_index *c, const struct cuckoo_key *place, uint32_t v)
{
	/* Acquire: pairs with the fence in cuckoo_write_begin; the reads come before it. */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(cuckoo_version(c, place->first, place->second),
				    memory_order_relaxed) == v;
}

static inline void
cuckoo_write_begin(struct cuckoo_index *c, uint64_t bucket, uint64_t other)
{
	_Atomic uint32_t *version = cuckoo_version(c, bucket, other);

	atomic_store_explicit(version, atomic_load_explicit(version, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	/* Release: pairs with the fence in cuckoo_read_same; the writes come after it. */
	atomic_thread_fence(memory_order_release);
}

static inline void
cuckoo_write_end(struct cuckoo_index *c, uint64_t bucket, uint64_t other)
{
	_Atomic uint32_t *version = cuckoo_version(c, bucket, other);

	/* Release: pairs with the acquire in cuckoo_read_begin. */
	atomic_store_explicit(version, atomic_load_explicit(version, memory_order_relaxed) + 1,
			      memory_order_release);
}

#endif

/*
 * filter.h - a cuckoo filter: which keys of a set may be there, in a dozen bits a key.
 *
 * Shape:  buckets of 2, 4 or 8 slots; a slot has a fingerprint of FILTER_BITS_MIN..MAX bits, 0 is a
 *         free one. A key's hash names a fingerprint and one of its two buckets; the other one is
 *         computed from this one and the fingerprint, so keys move without being known. Buckets of
 *         four may be semi-sorted: the order of their fingerprints says nothing, so slots of as
 *         many bits tell 2.12 times as many apart: 68 x 2^(bits - 5).
 * Units:  hash: 64 bits of a key's own, evenly spread. rate: share of absent keys that seem to be
 *         there. load: share of slots taken.
 * Owner:  the caller: filter_bytes() at the alignment of a uint64_t, which may be copied, written
 *         to a file and read back as it is.
 * Thread: one that changes it, and nobody beside; or any number that look.
 * Errors: filter_shape_for: false if no fingerprint is long enough. filter_insert: false: it is
 *         full, and unchanged.
 * Bounds: a look reads two buckets, a line or two each; an insert moves FILTER_KICKS_MAX at most.
 *         2 x slots of one hash are held, no more.
 * Source: B. Fan, D. Andersen, M. Kaminsky, M. Mitzenmacher, "Cuckoo Filter: Practically Better
 *         Than Bloom" (CoNEXT 2014), B. Fan's thesis (2013), chapter 4. There the number of buckets
 *         is a power of two (bucket xor hash); here any: the two buckets of a fingerprint have a
 *         sum that it names, modulo that number.
 *
 * Invariants (tests/unit/filter/test_filter):
 * - A hash that was inserted, and not deleted since, is there: always.
 * - A delete of an inserted hash takes one of its fingerprint, and finds one.
 * - An insert that fails leaves every bucket with the fingerprints it had.
 */
#ifndef CLOCKOO_FILTER_H
#define CLOCKOO_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILTER_SLOTS_MAX       8u
#define FILTER_BITS_MIN        7u /* fewer name too few other buckets for a full table */
#define FILTER_BITS_MAX        25u
#define FILTER_SORTED_BITS_MIN 6u
#define FILTER_SORTED_BITS_MAX 14u
#define FILTER_BUCKETS_MIN     16u
#define FILTER_BUCKETS_MAX     (1u << 31)
#define FILTER_KICKS_MAX       500u
#define FILTER_BATCH           64u

struct filter_shape {
	uint32_t buckets;
	uint8_t slots; /* of a bucket */
	uint8_t bits;  /* of a slot */
	bool sorted;
};

struct filter_want {
	uint64_t items;
	double rate;   /* at most, when all of them are there */
	uint8_t slots; /* 2, 4 or 8 */
	bool sorted;   /* four slots only */
};

/* The smallest that has room for the items and keeps the rate. */
bool filter_shape_for(struct filter_shape *shape, const struct filter_want *want);

/* How full such buckets get, nearly always, at up to 2^27 slots (the paper: 84, 95, 98 %), and what
 * an absent key meets. */
double filter_load_max(uint32_t slots);
double filter_rate(const struct filter_shape *shape, uint64_t items);

struct filter {
	struct filter_shape shape;
	uint64_t count;  /* fingerprints in it */
	uint64_t random; /* which of a full bucket has to move */
	uint64_t ends;   /* the lowest bit of each slot that one word has */
	uint32_t values; /* of a slot, with 0 */
	uint32_t word_slots;
	uint8_t bits[];
};

/* Of a filter; of its buckets alone. */
size_t filter_bytes(const struct filter_shape *shape);
uint64_t filter_bits(const struct filter_shape *shape);

void filter_init(struct filter *filter, const struct filter_shape *shape, uint64_t seed);

bool filter_insert(struct filter *filter, uint64_t hash);

/* Of a hash that was inserted and not deleted since, which is the caller's duty: the delete of
 * another takes away a fingerprint that is the same, and its owner is not there any more. False:
 * there is none. */
bool filter_delete(struct filter *filter, uint64_t hash);

/* A hash's fingerprint, and the two buckets that may have it: in every filter of this shape. */
struct filter_place {
	uint32_t fingerprint, buckets[2];
};
struct filter_place filter_place(const struct filter_shape *shape, uint64_t hash);

/* A bucket's fingerprints, 0 is a free slot; semi-sorted ones ascend. */
void filter_bucket(const struct filter *filter, uint32_t bucket, uint32_t slots[FILTER_SLOTS_MAX]);

/* False: it is not there. True: it is, or one of a rate of absent ones. */
bool filter_has(const struct filter *filter, uint64_t hash);

/* Bit i of hashes[i], of n <= FILTER_BATCH; their lines are fetched at once. */
uint64_t filter_has_many(const struct filter *filter, const uint64_t *hashes, uint32_t n);

#endif

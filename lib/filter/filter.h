/*
 * filter.h - a cuckoo filter's buckets: the fingerprint of a key's hash, and its two buckets.
 *
 * Shape:  buckets of 2, 4 or 8 slots; a slot has a fingerprint of FILTER_BITS_MIN..MAX bits; 0 is
 *         a free slot. A key's hash determines a fingerprint and one of its two buckets. The
 *         other bucket is computed from that one and the fingerprint, so fingerprints move
 *         without their keys. Buckets of four may be semi-sorted: the order of their fingerprints
 *         carries no information, so slots of the same width distinguish 2.12 times as many
 *         values: 68 x 2^(bits - 5).
 * Units:  hash: 64 bits of a key's own, evenly spread.
 * Thread: pure functions.
 * Source: B. Fan, D. Andersen, M. Kaminsky, M. Mitzenmacher, "Cuckoo Filter: Practically Better
 *         Than Bloom" (CoNEXT 2014), B. Fan's thesis (2013), chapter 4. There the number of
 *         buckets is a power of two (bucket xor hash). Here it is arbitrary: a fingerprint
 *         determines the sum of its two buckets, modulo that number.
 */
#ifndef CLOCKOO_FILTER_H
#define CLOCKOO_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#define FILTER_BITS_MIN    7u /* fewer bits determine too few other buckets for a full table */
#define FILTER_BITS_MAX    25u
#define FILTER_BUCKETS_MIN 16u
#define FILTER_BUCKETS_MAX (1u << 31)

struct filter_shape {
	uint32_t buckets;
	uint8_t slots; /* in a bucket */
	uint8_t bits;  /* in a slot */
	bool sorted;
};

/* Returns how many values a slot can have, including 0. */
uint32_t filter_values(const struct filter_shape *shape);

/* A hash's fingerprint and its two possible buckets, the same in every filter of this shape. */
struct filter_place {
	uint32_t fingerprint, buckets[2];
};
struct filter_place filter_place(const struct filter_shape *shape, uint64_t hash);

/* Returns the other bucket of a fingerprint that is in this one. */
uint32_t filter_other_bucket(const struct filter_shape *shape, uint32_t bucket,
			     uint32_t fingerprint);

#endif

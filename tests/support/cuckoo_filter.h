/*
 * cuckoo_filter.h - a cuckoo filter of the buckets of lib/filter: states which keys may be in a
 * set, in a dozen bits a key. It is the reference for flash_columns, and is compared with Bloom
 * filters.
 *
 * Units:  hash: 64 bits of a key's own, evenly spread. rate: share of absent keys that the filter
 *         reports. load: share of slots in use.
 * Owner:  the caller: filter_bytes() at the alignment of a uint64_t, which may be copied, written
 *         to a file and read back as it is.
 * Thread: one thread that changes it, alone; or any number of threads that look keys up.
 * Errors: filter_shape_for: false if no fingerprint is long enough. filter_insert: false if it is
 *         full; it is then unchanged.
 * Bounds: a lookup reads two buckets, a line or two each; an insert moves at most
 *         FILTER_KICKS_MAX fingerprints. One hash can be inserted at most 2 x slots times.
 *
 * Invariants (tests/unit/filter/test_filter):
 * - A hash that was inserted, and not deleted since, is always found.
 * - A delete of an inserted hash finds and removes one copy of its fingerprint.
 * - An insert that fails leaves every bucket with the fingerprints it had.
 */
#ifndef CLOCKOO_CUCKOO_FILTER_H
#define CLOCKOO_CUCKOO_FILTER_H

#include "filter/filter.h"

#include <stddef.h>

#define FILTER_SLOTS_MAX       8u
#define FILTER_SORTED_BITS_MIN 6u
#define FILTER_SORTED_BITS_MAX 14u
#define FILTER_KICKS_MAX       500u
#define FILTER_BATCH           64u

struct filter_want {
	uint64_t items;
	double rate;   /* highest rate, with all items inserted */
	uint8_t slots; /* 2, 4 or 8 */
	bool sorted;   /* four slots only */
};

/* Computes the smallest shape that has room for the items and keeps the rate. */
bool filter_shape_for(struct filter_shape *shape, const struct filter_want *want);

/* Returns the load that such buckets nearly always reach, at up to 2^27 slots (the paper: 84, 95,
 * 98 %). filter_rate returns the share of absent keys that are reported. */
double filter_load_max(uint32_t slots);
double filter_rate(const struct filter_shape *shape, uint64_t items);

struct filter {
	struct filter_shape shape;
	uint64_t count;  /* fingerprints in the filter */
	uint64_t random; /* state of the generator that selects the fingerprint to move */
	uint64_t ends;   /* the lowest bit of each slot in one word */
	uint32_t values; /* number of values of a slot, including 0 */
	uint32_t word_slots;
	uint8_t bits[];
};

/* Size of a filter in bytes; size of its buckets alone in bits. */
size_t filter_bytes(const struct filter_shape *shape);
uint64_t filter_bits(const struct filter_shape *shape);

void filter_init(struct filter *filter, const struct filter_shape *shape, uint64_t seed);

bool filter_insert(struct filter *filter, uint64_t hash);

/* Deletes a hash that was inserted and not deleted since, which the caller must ensure: the
 * delete of another hash removes an equal fingerprint, whose owner is then not found any more.
 * False if there is none. */
bool filter_delete(struct filter *filter, uint64_t hash);

/* Returns a bucket's fingerprints; 0 is a free slot, semi-sorted ones ascend. */
void filter_bucket(const struct filter *filter, uint32_t bucket, uint32_t slots[FILTER_SLOTS_MAX]);

/* False: the hash is not in the set. True: it is, or it belongs to the rate of absent hashes that
 * are reported. */
bool filter_has(const struct filter *filter, uint64_t hash);

/* Returns bit i for hashes[i], for n <= FILTER_BATCH; their lines are fetched together. */
uint64_t filter_has_many(const struct filter *filter, const uint64_t *hashes, uint32_t n);

#endif

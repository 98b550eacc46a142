/*
 * front_slots.h - of which keys a front keeps copies: admission by frequency, in two lines a key.
 *
 * Shape:  sets of FRONT_SET_SLOTS slots, each beside a sketch of the other keys of its set: 128
 *         bytes. A key's hash names its set. A slot has a key's hash and its count; the copies
 *         themselves are items of the store. Copies may go (evicted, deleted) while the slot stays.
 * Units:  counts of sampled requests.
 * Owner:  the caller: front_slots_bytes() at the alignment FRONT_SLOTS_ALIGN.
 * Thread: init: one. The others: any. A set has a lock, held for some 100 instructions; who finds
 *         it held does not wait: a sample is not counted, a key not admitted.
 * Bounds: constant time; two adjacent lines are read, by enter and mostly by count written.
 * Source: number of items, bound: B. Fan's thesis (2013), 2.3.2; "Small cache, big effect" (SOCC
 *         2011).
 *
 * Invariants (tests/unit/front/test_front_slots, tests/bench/front):
 * - A hash has one slot at most. A slot changes hands in front_slots_enter_mt() only: keys that are
 *   asked for and never filled leave all slots as they are.
 * - Free slots are taken by whoever comes; a key takes another's if its estimate is greater.
 * - Each FRONT_AGE samples of a set's keys that have no slot halve all its counts. Where all have
 *   one there is nothing to be decided, and a key that is asked much ages nothing beside it.
 */
#ifndef CLOCKOO_FRONT_SLOTS_H
#define CLOCKOO_FRONT_SLOTS_H

#include "front_sketch.h"

#include <stdbool.h>
#include <stddef.h>

#define FRONT_SET_SLOTS   7u
#define FRONT_SLOTS_ALIGN 128u
#define FRONT_ITEMS_MIN   64u
#define FRONT_ITEMS_MAX   65536u
#define FRONT_AGE         16u
#define FRONT_SAMPLE_MAX  15u         /* one request in 1..15, 8 on average, is a sample */
#define FRONT_SET_LOCK    (1ull << 7) /* in a set's state */

struct front_set {
	alignas(FRONT_SLOTS_ALIGN) _Atomic uint64_t state; /* lock, samples; a count a slot */
	_Atomic uint64_t key[FRONT_SET_SLOTS];             /* hashes; 0: free */
	struct front_sketch sketch;
};

struct front_slots {
	uint32_t nsets;
	struct front_set sets[];
};

/* c = 8 n ln n + 1 of as many servers as there would be if all had the smallest share (0..1). */
double front_slots_formula(double smallest_share);
/* The same within its limits. */
uint32_t front_slots_items(double smallest_share);

/* The bound of the busiest server's load by the mean for that many items: eq. 2.12, alpha 2. */
double front_slots_bound(double smallest_share, uint32_t items);

/* Of that many items: some more, since sets are not equally full. */
uint32_t front_slots_count(uint32_t items);
size_t front_slots_bytes(uint32_t items);

void front_slots_init(struct front_slots *slots, uint32_t items);

/* Is a slot the key's? */
bool front_slots_has_mt(const struct front_slots *slots, uint64_t hash);

/* Of a key that has no copy: is one worth being kept? */
bool front_slots_wants_mt(const struct front_slots *slots, uint64_t hash);

/* A sampled request, whether it had a copy or not. */
void front_slots_count_mt(struct front_slots *slots, uint64_t hash);

enum front_entry {
	FRONT_NOT_ENTERED, /* nothing changed: keep no copy */
	FRONT_ENTERED,     /* the slot is the key's */
	FRONT_REPLACED,    /* likewise, and *left has no slot any more: its copy must go */
};

/* A copy is there, to be kept if it is still wanted. */
enum front_entry front_slots_enter_mt(struct front_slots *slots, uint64_t hash, uint64_t *left);

/* Which requests of a core are samples: a random one of each few, so that no pattern of a client
 * escapes it or is taken for more than it is. */
struct front_sampler {
	uint64_t random;
	uint32_t before; /* requests before the next sample */
};

void front_sampler_init(struct front_sampler *sampler, uint64_t seed);

/* Of n requests, the index of the first that is a sample; n: none is. Ask again for those behind
 * it. */
uint32_t front_sampler_next(struct front_sampler *sampler, uint32_t n);

#endif

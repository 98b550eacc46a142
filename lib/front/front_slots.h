/*
 * front_slots.h - decides which keys a front keeps copies of: admission by frequency, in two
 * lines for each key.
 *
 * Shape:  sets of FRONT_SET_SLOTS slots and a sketch of the set's other keys, in 128 bytes. A
 *         key's hash determines its set. A slot has a key's hash and its count; copies themselves
 *         are items of the store, which may be evicted or deleted while the slot stays.
 * Units:  counts of sampled requests.
 * Owner:  the caller: front_slots_bytes() at the alignment FRONT_SLOTS_ALIGN.
 * Thread: init: one thread. The others: any. A set has a lock, held for some 100 instructions. A
 *         core that finds it held does not wait: its sample is not counted, its key not admitted.
 * Bounds: constant time; two adjacent lines are read, by enter and mostly by count written.
 * Source: number of items, bound: B. Fan's thesis (2013), 2.3.2; "Small cache, big effect" (SOCC
 *         2011).
 *
 * Invariants (tests/unit/front/test_front_slots, tests/bench/front):
 * - A hash has at most one slot. A slot changes its key only in front_slots_enter_mt(): keys that
 *   are requested and never filled change no slot.
 * - Any key may take a free slot; a key takes another's slot if its estimate is greater.
 * - Every FRONT_AGE samples of a set's keys without a slot halve all its counts. If all keys have
 *   a slot there is nothing to decide, and a frequent key does not age the others.
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
#define FRONT_SET_LOCK    (1ull << 7) /* a bit of a set's state */

struct front_set {
	alignas(FRONT_SLOTS_ALIGN) _Atomic uint64_t state; /* lock, samples; a count a slot */
	_Atomic uint64_t key[FRONT_SET_SLOTS];             /* hashes; 0: free */
	struct front_sketch sketch;
};

struct front_slots {
	uint32_t nsets;
	struct front_set sets[];
};

/* Computes c = 8 n ln n + 1, where n is the number of servers if all had the smallest share
 * (0..1). */
double front_slots_formula(double smallest_share);
/* Returns c within its limits. */
uint32_t front_slots_items(double smallest_share);

/* Returns the bound of the busiest server's load relative to the mean for that many items: eq.
 * 2.12, alpha 2. */
double front_slots_bound(double smallest_share, uint32_t items);

/* Returns the slots for that many items: some more, since sets are not equally full. */
uint32_t front_slots_count(uint32_t items);
size_t front_slots_bytes(uint32_t items);

void front_slots_init(struct front_slots *slots, uint32_t items);

/* True if the key has a slot. */
bool front_slots_has_mt(const struct front_slots *slots, uint64_t hash);

/* True if a key without a copy should get one. */
bool front_slots_wants_mt(const struct front_slots *slots, uint64_t hash);

/* Counts a sampled request, with or without a copy. */
void front_slots_count_mt(struct front_slots *slots, uint64_t hash);

enum front_entry {
	FRONT_NOT_ENTERED, /* nothing changed: keep no copy */
	FRONT_ENTERED,     /* the key has the slot */
	FRONT_REPLACED,    /* the key has the slot, and *left has lost it: remove its copy */
};

/* Takes a slot for a key whose copy is ready, if the key still deserves it. */
enum front_entry front_slots_enter_mt(struct front_slots *slots, uint64_t hash, uint64_t *left);

/* Selects the requests of a core that are samples: a random one of every few, so that no client's
 * pattern is missed or counted too high. */
struct front_sampler {
	uint64_t random;
	uint32_t before; /* requests before the next sample */
};

void front_sampler_init(struct front_sampler *sampler, uint64_t seed);

/* Returns the index of the first of n requests that is a sample; n: none is. Call it again for
 * the requests after that. */
uint32_t front_sampler_next(struct front_sampler *sampler, uint32_t n);

/* Returns how many requests pass before a sample. */
uint32_t front_sampler_draw(struct front_sampler *sampler);

#endif

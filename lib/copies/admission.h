/*
 * admission.h - decides which keys a front caches: admission by frequency, in two lines for each
 * key.
 *
 * Shape:  sets of ADMISSION_SET_SLOTS slots and the frequencies of the set's other keys, in 128
 *         bytes. A key's hash determines its set. A slot has a key's hash and its count; copies
 *         themselves are items of the store, which may be evicted or deleted while the slot stays.
 * Units:  counts of sampled requests.
 * Owner:  the caller: admission_bytes() at the alignment ADMISSION_ALIGN.
 * Thread: init: one thread. The others: any. A set has a lock, held for some 100 instructions. A
 *         core that finds it held does not wait: its sample is not counted, its key not admitted.
 * Bounds: constant time; two adjacent lines are read, by enter and mostly by count written.
 * Source: number of items, bound: B. Fan's thesis (2013), 2.3.2; "Small cache, big effect" (SOCC
 *         2011).
 *
 * Invariants (tests/unit/copies/test_admission, tests/bench/front):
 * - A hash has at most one slot. A slot changes its key only in admission_enter_mt(): keys that
 *   are requested and never cached change no slot.
 * - Any key may take a free slot; a key takes another's slot if its estimate is greater.
 * - Every ADMISSION_AGE samples of a set's keys without a slot halve all its counts. If all keys
 *   have a slot there is nothing to decide, and a frequent key does not age the others.
 */
#ifndef CLOCKOO_ADMISSION_H
#define CLOCKOO_ADMISSION_H

#include "frequency.h"

#include <stdbool.h>
#include <stddef.h>

#define ADMISSION_SET_SLOTS 7u
#define ADMISSION_ALIGN     128u
#define ADMISSION_ITEMS_MIN 64u
#define ADMISSION_ITEMS_MAX 65536u
#define ADMISSION_AGE       16u
#define SAMPLER_MAX         15u         /* one request in 1..15, 8 on average, is a sample */
#define ADMISSION_LOCK      (1ull << 7) /* a bit of a set's state */

struct admission_set {
	alignas(ADMISSION_ALIGN) _Atomic uint64_t state; /* lock, samples; a count a slot */
	_Atomic uint64_t key[ADMISSION_SET_SLOTS];       /* hashes; 0: free */
	struct frequency others;
};

struct admission {
	uint32_t nsets;
	struct admission_set sets[];
};

/* Computes c = 8 n ln n + 1, where n is the number of servers if all had the smallest share
 * (0..1). */
double admission_formula(double smallest_share);
/* Returns c within its limits. */
uint32_t admission_items(double smallest_share);

/* Returns the bound of the busiest server's load relative to the mean for that many items: eq.
 * 2.12, alpha 2. */
double admission_bound(double smallest_share, uint32_t items);

/* Returns the slots for that many items: some more, since sets are not equally full. */
uint32_t admission_slots(uint32_t items);
size_t admission_bytes(uint32_t items);

void admission_init(struct admission *a, uint32_t items);

/* True if the key has a slot. */
bool admission_has_mt(const struct admission *a, uint64_t hash);

/* True if a key without a copy should get one. */
bool admission_wants_mt(const struct admission *a, uint64_t hash);

/* Counts a sampled request, with or without a copy. */
void admission_count_mt(struct admission *a, uint64_t hash);

enum admission_result {
	ADMISSION_REFUSED,   /* nothing changed: the key is not cached */
	ADMISSION_FREE_SLOT, /* the key has the slot */
	ADMISSION_REPLACED,  /* the key has the slot, and *left has lost it */
};

/* Takes a slot for a key whose copy is ready, if the key still deserves it. */
enum admission_result admission_enter_mt(struct admission *a, uint64_t hash, uint64_t *left);

/* Selects the requests of a core that are samples: a random one of every few, so that no client's
 * pattern is missed or counted too high. */
struct sampler {
	uint64_t random;
	uint32_t before; /* requests before the next sample */
};

void sampler_init(struct sampler *sampler, uint64_t seed);

/* Returns the index of the first of n requests that is a sample; n: none is. Call it again for
 * the requests after that. */
uint32_t sampler_next(struct sampler *sampler, uint32_t n);

/* Returns how many requests pass before a sample. */
uint32_t sampler_draw(struct sampler *sampler);

#endif

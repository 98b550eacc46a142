/*
 * admission.h - decides by frequency which keys a front caches. A key's data are in two cache
 * lines.
 *
 * Shape:  a set has ADMISSION_SET_SLOTS slots, and the frequencies of keys without a slot, in 128
 *         bytes. A key's hash names its set. A slot has a key's hash and its count. The copies are
 *         items of the store; they may be evicted or deleted while the slot stays.
 * Units:  counts of sampled requests.
 * Owner:  the caller: admission_bytes() of memory, aligned to ADMISSION_ALIGN.
 * Thread: init: one thread. The others: any. A set has a lock, held for some 100 instructions. A
 *         core that finds it held does not wait: its sample is not counted, or its key not
 *         admitted.
 * Bounds: constant time. Two adjacent lines are read; enter writes them, and so does count in most
 *         cases.
 * Source: number of items, bound: B. Fan's thesis (2013), 2.3.2; "Small cache, big effect" (SOCC
 *         2011).
 *
 * - Every ADMISSION_AGE samples of a set's keys that have no slot, all its counts are halved.
 *   Samples of keys with a slot do not count for that: if all keys have one, there is nothing to
 *   decide.
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
#define SAMPLER_MAX         15u         /* one request in 1 to 15 is a sample, in 8 on average */
#define ADMISSION_LOCK      (1ull << 7) /* a bit of a set's state */

struct admission_set {
	/* The lock, a count of samples, and each slot's count. */
	alignas(ADMISSION_ALIGN) _Atomic uint64_t state;
	/* By slot: the hash of its key; 0: the slot is free. */
	_Atomic uint64_t key[ADMISSION_SET_SLOTS];
	struct frequency others;
};

struct admission {
	uint32_t nsets;
	struct admission_set sets[];
};

/* Computes c = 8 n ln n + 1, where n is the number of servers there would be if each had the
 * smallest share (0..1). */
double admission_formula(double smallest_share);
/* Returns c, rounded, within ADMISSION_ITEMS_MIN and _MAX. */
uint32_t admission_items(double smallest_share);

/* Returns the bound of the busiest server's load, relative to the mean, with this many items: eq.
 * 2.12 with alpha 2. */
double admission_bound(double smallest_share, uint32_t items);

/* Returns the number of slots for this many items: a tenth more, since sets are not equally
 * full. */
uint32_t admission_slots(uint32_t items);
size_t admission_bytes(uint32_t items);

void admission_init(struct admission *a, uint32_t items);

/* True if the key has a slot. */
bool admission_has_mt(const struct admission *a, uint64_t hash);

/* True if a key that has no copy should get one. */
bool admission_wants_mt(const struct admission *a, uint64_t hash);

/* Counts a sampled request of a key, with or without a copy. */
void admission_count_mt(struct admission *a, uint64_t hash);

enum admission_result {
	ADMISSION_REFUSED,   /* nothing has changed: the key must not be cached */
	ADMISSION_FREE_SLOT, /* the key has a slot that was free */
	ADMISSION_REPLACED,  /* the key has a slot that *left has lost */
};

/* Takes a slot for a key whose copy is ready, if the key still deserves one. */
enum admission_result admission_enter_mt(struct admission *a, uint64_t hash, uint64_t *left);

/* Selects which requests of a core are samples: a random one of every few, so that no pattern of a
 * client is missed or counted too often. */
struct sampler {
	uint64_t random;
	uint32_t before; /* requests before the next sample */
};

void sampler_init(struct sampler *sampler, uint64_t seed);

/* Returns the index of the first of the next n requests that is a sample; n: none is. Call it again
 * for the requests behind that one. */
uint32_t sampler_next(struct sampler *sampler, uint32_t n);

/* Returns how many requests pass before the next sample. */
uint32_t sampler_draw(struct sampler *sampler);

#endif

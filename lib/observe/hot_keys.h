/*
 * hot_keys.h - lists the keys requested most, which it finds by samples, and the keys with the
 * largest values.
 *
 * Hot keys: Space-Saving in sets. A key's hash chooses its set. A key that is not in its set takes
 * the place of the one with the least count, and inherits that count as its error: count minus
 * error is at most the number of the key's samples. Its name is copied at the second sample, so a
 * key that is requested once costs no copy. Counts are halved every HOT_AGE_NS.
 *
 * Big keys: the keys of the BIG_KEYS largest values that were requested or stored as a whole in the
 * last BIG_KEEP_NS. Only values too large to be copied into a reply count.
 *
 * Shape:  each core has a struct hot_keys, which begins as zeros and a seed. A set's counts are one
 *         cache line. Names are elsewhere, each under a sequence lock.
 * Units:  ns of the core's clock; milli is a thousandth; size in bytes.
 * Owner:  the service of one core; keys are copied.
 * Thread: the core counts. One other thread at a time makes lists, by relaxed reads. A name that is
 *         overwritten meanwhile is left out.
 * Bounds: constant time for a sample; HOT_KEYS keys. A key with more than 1 / HOT_KEYS of the
 *         samples is among them, unless more than HOT_WAYS such keys share a set.
 * Source: A. Metwally, D. Agrawal, A. El Abbadi, ICDT 2005 (Space-Saving).
 */
#ifndef CLOCKOO_HOT_KEYS_H
#define CLOCKOO_HOT_KEYS_H

#include "base/bytes.h"
#include "base/check.h"
#include "proto/mc_base64.h"

#include <stdatomic.h>
#include <stdbool.h>

#define HOT_EVERY   128u /* mean number of operations for one sample; a power of two */
#define HOT_WAYS    4u
#define HOT_SETS    128u
#define HOT_KEYS    (HOT_SETS * HOT_WAYS)
#define HOT_AGE_NS  60000000000ull
#define HOT_LOOK    16u /* in one sample of a key out of this many its size is recorded */
#define BIG_KEYS    16u
#define BIG_KEEP_NS 600000000000ull
#define HOT_LISTED  16u /* most keys of a list */
#define HOT_NONE    UINT32_MAX

#define HOT_NAME_WORDS ((MC_KEY_MAX + 7) / 8)

/* A key under a sequence lock, which is odd while the key is written. */
struct hot_name {
	_Atomic uint32_t version;
	_Atomic uint32_t len; /* 0: not known */
	_Atomic uint64_t words[HOT_NAME_WORDS];
};

struct hot_set {
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t hash[HOT_WAYS];
	_Atomic uint32_t count[HOT_WAYS], error[HOT_WAYS];
};
static_assert(sizeof(struct hot_set) == CACHE_LINE_BYTES, "a sample of a known key meets one line");

struct big_key {
	_Atomic uint64_t hash, seen_ns;
	_Atomic uint64_t uses; /* requests since the key entered the list */
	_Atomic uint32_t size; /* 0: free */
	struct hot_name name;
};

struct hot_keys {
	uint32_t left;   /* operations until the next sample */
	uint32_t random; /* state of the random numbers; never 0 */
	bool begun;
	_Atomic uint64_t samples;           /* number of samples; halved together with the counts */
	_Atomic uint64_t span_ns, since_ns; /* time in which the samples were taken, up to since_ns;
					       halved together with them */
	struct hot_set sets[HOT_SETS];
	_Atomic uint32_t sizes[HOT_KEYS];
	struct hot_name names[HOT_KEYS];
	struct big_key big[BIG_KEYS];
};

/* Returns the number of operations before the next sample. */
static inline uint32_t
hot_keys_next(struct hot_keys *hot)
{
	uint32_t x = hot->random;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	hot->random = x;
	return (uint32_t)((uint64_t)x * (2 * HOT_EVERY - 1) >> 32);
}

void hot_keys_begin(struct hot_keys *hot, uint32_t seed);

/* Counts a sample. Returns the key's number if hot_keys_record() must follow; mostly HOT_NONE. */
uint32_t hot_keys_count(struct hot_keys *hot, uint64_t hash, uint64_t now_ns);
/* Records the key's name, and the size of its value (0: not known). */
void hot_keys_record(struct hot_keys *hot, uint32_t i, struct view key, uint32_t size);
/* Notes that a value of this size was requested or stored as a whole. */
void hot_keys_big(struct hot_keys *hot, struct view key, uint64_t hash, uint32_t size,
		  uint64_t now_ns);

/* ---- lists over all cores ---- */

struct hot_key {
	uint64_t rate_milli; /* operations a second of a hot key */
	uint64_t uses;       /* requests of a big key */
	uint32_t share_milli;
	uint32_t size;
	uint32_t len;
	uint8_t bytes[HOT_NAME_WORDS * 8];
};

/* A list of the keys requested most, or of those with the largest values; the first is the top. */
struct hot_list {
	uint64_t rate_milli; /* operations a second, of all keys */
	uint32_t count, big_count;
	struct hot_key key[HOT_LISTED], big[HOT_LISTED];
};

/* A list is made in HOT_CANDIDATES candidates of scratch memory. */
#define HOT_JOINED     256u /* keys of all cores that have been joined */
#define HOT_CANDIDATES (HOT_JOINED + HOT_KEYS)
struct hot_candidate {
	uint64_t hash;
	double rate;
	uint32_t core, i;
};

/* Makes the list. Entries of cores that are NULL are skipped. */
void hot_keys_list(const struct hot_keys *const *cores, uint32_t count,
		   struct hot_candidate *scratch, uint64_t now_ns, struct hot_list *list);

#endif

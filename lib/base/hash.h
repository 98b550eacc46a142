/*
 * hash.h - the one door to a hash function: XXH3, 64 bits, seeded per process.
 *
 * The seed is passed in, so that a client cannot aim at a bucket and a test can
 * replay a run. Source: xxHash 0.8 (header only, inlined).
 *
 * Thread: pure functions.
 */
#ifndef CLOCKOO_HASH_H
#define CLOCKOO_HASH_H

#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static inline uint64_t
hash_bytes(const void *data, size_t len, uint64_t seed)
{
	return XXH3_64bits_withSeed(data, len, seed);
}

#endif

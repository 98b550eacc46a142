/*
 * hash.h - the one interface to a hash function: XXH3, 64 bits, seeded per process.
 *
 * The seed is passed in: a client that does not know it cannot choose keys of one bucket, and a
 * test can replay a run. Source: xxHash 0.8 (header only, inlined).
 *
 * Keys of up to 16 bytes, which most keys of caches are, are hashed inline in some 25 instructions;
 * a call that selects among all lengths would cost as many again. Inlining needs an internal
 * function of xxHash, whose name is unchanged since 0.8.0; tests/unit/base compares it with the
 * public one.
 *
 * Thread: pure functions.
 */
#ifndef CLOCKOO_HASH_H
#define CLOCKOO_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Words are read by memcpy. xxHash's default for gcc reads an array of other words through a
 * pointer to its own, which strict aliasing forbids: gcc 14 left out the stores to the key of an
 * IPv6 flow. */
#define XXH_FORCE_MEMORY_ACCESS 0
#define XXH_INLINE_ALL
#include <xxhash.h>

static __attribute__((noinline)) uint64_t
hash_long(const void *data, size_t len, uint64_t seed)
{
	return XXH3_64bits_withSeed(data, len, seed);
}

static inline uint64_t
hash_bytes(const void *data, size_t len, uint64_t seed)
{
	if (__builtin_expect(len > 16, 0))
		return hash_long(data, len, seed);
	return XXH3_len_0to16_64b(data, len, XXH3_kSecret, seed);
}

/* Hashes one word in a few instructions: Evensen's rrmxmx, the mixer that XXH3 has for short input,
 * keyed in the same way. */
static inline uint64_t
hash_word(uint64_t v, uint64_t seed)
{
	const uint64_t odd = 0x9fb21c651e98df25ull;

	v ^= seed;
	v ^= (v << 49 | v >> 15) ^ (v << 24 | v >> 40);
	v *= odd;
	v ^= v >> 35;
	v *= odd;
	return v ^ v >> 28;
}

#endif

/*
 * front_hash.h - computes the hash of a key by one of the functions that nutcracker and
 * libmemcached name.
 *
 * Shape:  a key has any number of bytes, also 0. A hash is 32 bits, also those of the 64-bit
 *         functions.
 * Thread: pure functions.
 * Errors: front_hash_by_name: false for a name that is not in FRONT_HASHES.
 * Source: libhashkit has nine of the functions; on x86 they equal nutcracker 0.5.0's. crc16, crc32a
 *         and hsieh are nutcracker's. libmemcached calls crc32 `crc`, and one_at_a_time `default`.
 */
#ifndef CLOCKOO_FRONT_HASH_H
#define CLOCKOO_FRONT_HASH_H

#include "base/bytes.h"

/* X(symbol, name, function). */
#define FRONT_HASHES(X)                                                                            \
	X(ONE_AT_A_TIME, "one_at_a_time", one_at_a_time)                                           \
	X(MD5, "md5", libhashkit_md5)                                                              \
	X(CRC16, "crc16", crc16)                                                                   \
	X(CRC32, "crc32", libhashkit_crc32)                                                        \
	X(CRC32A, "crc32a", crc32a)                                                                \
	X(FNV1_64, "fnv1_64", fnv1_64)                                                             \
	X(FNV1A_64, "fnv1a_64", fnv1a_64)                                                          \
	X(FNV1_32, "fnv1_32", fnv1_32)                                                             \
	X(FNV1A_32, "fnv1a_32", fnv1a_32)                                                          \
	X(HSIEH, "hsieh", hsieh)                                                                   \
	X(MURMUR, "murmur", libhashkit_murmur)                                                     \
	X(JENKINS, "jenkins", libhashkit_jenkins)

enum front_hash {
#define X(symbol, name, function) FRONT_HASH_##symbol,
	FRONT_HASHES(X)
#undef X
		FRONT_HASHES_COUNT
};

uint32_t front_hash(enum front_hash hash, struct view key);

const char *front_hash_name(enum front_hash hash);
bool front_hash_by_name(const char *name, enum front_hash *hash);

/* Computes four points of the ketama ring: the MD5 of name, as four little-endian words. */
void front_hash_points(struct view name, uint32_t points[4]);

#endif

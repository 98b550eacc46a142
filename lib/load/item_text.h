/*
 * item_text.h - the bytes of key number k and of its values, made and checked without a copy.
 *
 * Shape:  a key begins with its number in eight letters; what follows is letters that depend on the
 *         number. A value of ITEM_VERSIONED bytes or more begins with its version; all other bytes
 *         are a function of key, version, length and place, so that a byte that is wrong, in the
 *         wrong place or of another key or length is seen. Shorter values have version 0.
 * Units:  bytes.
 * Thread: pure functions.
 * Bounds: keys of ITEM_KEY_MIN..ITEM_KEY_MAX bytes. Not seen: a whole value of an older version.
 */
#ifndef CLOCKOO_ITEM_TEXT_H
#define CLOCKOO_ITEM_TEXT_H

#include "load_rng.h"

#include <stdbool.h>
#include <string.h>

#define ITEM_KEY_MIN   8u
#define ITEM_KEY_MAX   250u /* memcached's limit */
#define ITEM_KEY_ROOM  256u /* item_key_put may write up to here */
#define ITEM_VERSIONED 8u
#define ITEM_VERSION   4u /* bytes of the version, little endian */

/* Eight letters A..P, one for each four bits. */
static inline uint64_t
item_letters(uint32_t bits)
{
	uint64_t x = bits;

	x = (x | x << 16) & 0x0000ffff0000ffffull;
	x = (x | x << 8) & 0x00ff00ff00ff00ffull;
	x = (x | x << 4) & 0x0f0f0f0f0f0f0f0full;
	return x + 0x4141414141414141ull;
}

/* The letters of a key from byte 8 * word on; whole words, as all machines of DPDK's are little
 * endian where it matters here: both sides of a comparison are made the same way. */
static inline uint64_t
item_key_word(uint32_t key, uint32_t word)
{
	const uint64_t mixed = (key + word * LOAD_GOLDEN) * 0xbf58476d1ce4e5b9ull;

	return item_letters(word == 0 ? key : (uint32_t)(mixed >> 32));
}

/* Writes whole words: room for ITEM_KEY_ROOM bytes. */
static inline void
item_key_put(uint8_t *at, uint32_t key, uint32_t len)
{
	for (uint32_t i = 0; i * 8 < len; i++) {
		const uint64_t word = item_key_word(key, i);

		memcpy(at + i * 8, &word, sizeof word);
	}
}

static inline bool
item_key_is(const uint8_t *at, uint32_t key, uint32_t len)
{
	uint64_t wrong = 0, got;
	uint32_t i = 0;

	for (; i + 8 <= len; i += 8) {
		memcpy(&got, at + i, sizeof got);
		wrong |= got ^ item_key_word(key, i / 8);
	}
	if (i < len) {
		got = 0;
		memcpy(&got, at + i, len - i);
		wrong |= (got ^ item_key_word(key, i / 8)) << 8 * (i + 8 - len);
	}
	return wrong == 0;
}

/* A value on its way in or out, in pieces. */
struct item_value {
	uint64_t seed; /* of what follows the version */
	uint32_t key, len, version;
	uint32_t pos; /* bytes done */
};

/* version counts only for values that carry one. */
void item_value_begin(struct item_value *v, uint32_t key, uint32_t len, uint32_t version);
/* The next n bytes of the value. */
void item_value_put(struct item_value *v, uint8_t *at, uint32_t n);

/* A value of that length is about to be read; its version stands in it. */
void item_value_expect(struct item_value *v, uint32_t key, uint32_t len);
/* Are these the next n bytes? */
bool item_value_is(struct item_value *v, const uint8_t *at, uint32_t n);

#endif

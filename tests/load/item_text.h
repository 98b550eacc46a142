/*
 * item_text.h - the bytes of key number k and of its values, made and checked without a copy.
 *
 * Shape:  a key begins with its number in eight letters; the rest is letters that depend on the
 *         number. A value of ITEM_VERSIONED bytes or more begins with its version; all other
 *         bytes are a function of key, version, length and place, so that a byte that is wrong,
 *         in the wrong place or of another key or length is detected. Shorter values have version
 *         0.
 * Units:  bytes.
 * Thread: pure functions.
 * Bounds: keys of ITEM_KEY_MIN..ITEM_KEY_MAX bytes. Not detected: a whole value of an older
 *         version.
 */
#ifndef CLOCKOO_ITEM_TEXT_H
#define CLOCKOO_ITEM_TEXT_H

#include "load_rng.h"

#include <stdbool.h>
#include <string.h>

#define ITEM_KEY_MIN   8u
#define ITEM_KEY_MAX   250u /* memcached's limit */
#define ITEM_KEY_ROOM  256u /* item_key_put may write up to this length */
#define ITEM_VERSIONED 8u
#define ITEM_VERSION   4u /* bytes of the version, little endian */

/* Returns eight letters A..P, one for each four bits. */
static inline uint64_t
item_letters(uint32_t bits)
{
	uint64_t x = bits;

	x = (x | x << 16) & 0x0000ffff0000ffffull;
	x = (x | x << 8) & 0x00ff00ff00ff00ffull;
	x = (x | x << 4) & 0x0f0f0f0f0f0f0f0full;
	return x + 0x4141414141414141ull;
}

/* Returns the letters of a key, also A..P, from byte 8 * word on, as a whole word. The byte order
 * of the machine does not matter, since both sides of a comparison are made in the same way. */
static inline uint64_t
item_key_word(uint32_t key, uint32_t word)
{
	const uint64_t mixed = (key + word * LOAD_GOLDEN) * 0xbf58476d1ce4e5b9ull;

	if (word == 0)
		return item_letters(key);
	return ((mixed ^ mixed >> 32) & 0x0f0f0f0f0f0f0f0full) + 0x4141414141414141ull;
}

/* Writes the key in whole words: at has room for ITEM_KEY_ROOM bytes. */
static inline void
item_key_put(uint8_t *at, uint32_t key, uint32_t len)
{
	uint64_t word = item_key_word(key, 0);

	memcpy(at, &word, sizeof word);
	for (uint32_t i = 1; i * 8 < len; i++) {
		word = item_key_word(key, i);
		memcpy(at + i * 8, &word, sizeof word);
	}
}

/* Returns 0 if the bytes at `at` are the key. */
static inline uint64_t
item_key_differs(const uint8_t *at, uint32_t key, uint32_t len)
{
	uint64_t wrong, got;
	uint32_t i;

	memcpy(&got, at, sizeof got);
	wrong = got ^ item_key_word(key, 0); /* ITEM_KEY_MIN is a word */
	for (i = 8; i + 8 <= len; i += 8) {
		memcpy(&got, at + i, sizeof got);
		wrong |= got ^ item_key_word(key, i / 8);
	}
	if (i < len) {
		got = 0;
		memcpy(&got, at + i, len - i);
		wrong |= (got ^ item_key_word(key, i / 8)) << 8 * (i + 8 - len);
	}
	return wrong;
}

static inline bool
item_key_is(const uint8_t *at, uint32_t key, uint32_t len)
{
	return item_key_differs(at, key, len) == 0;
}

static inline uint64_t
item_value_seed(uint32_t key, uint32_t len, uint32_t version)
{
	return load_mix(((uint64_t)key << 32 | version) + len * LOAD_GOLDEN);
}

/* Returns the bytes from 8 * word on. This costs one multiplication and two shifts: values may be
 * a megabyte. */
static inline uint64_t
item_value_word(uint64_t seed, uint32_t word)
{
	uint64_t z = (seed + word * LOAD_GOLDEN) * 0xbf58476d1ce4e5b9ull;

	z ^= z >> 32;
	return z;
}

/* Compares a whole value of ITEM_VERSIONED bytes or more, so that all words are at their computed
 * places. Returns 0 if it is the key's, in any version that it states. */
static inline uint64_t
item_value_differs(const uint8_t *at, uint32_t key, uint32_t len)
{
	uint64_t wrong, got, want, seed, step;
	uint32_t i;

	memcpy(&got, at, sizeof got);
	seed = step = item_value_seed(key, len, (uint32_t)got);
	wrong = (item_value_word(seed, 0) ^ got) >> 32;
	for (i = 8; i + 8 <= len; i += 8) {
		step += LOAD_GOLDEN; /* item_value_word multiplies its word by this */
		memcpy(&got, at + i, sizeof got);
		wrong |= got ^ item_value_word(step, 0);
	}
	/* The value's last bytes are compared from its end; some of the word
	 * before may be among them. */
	if (i < len) {
		memcpy(&got, at + len - 8, sizeof got);
		want = item_value_word(seed, i / 8);
		wrong |= (got >> 8 * (i + 8 - len)) ^
			 (want << 8 * (i + 8 - len) >> 8 * (i + 8 - len));
	}
	return wrong;
}

/* A value that is written or read in pieces. */
struct item_value {
	uint64_t seed; /* seed of the bytes after the version */
	uint32_t key, len, version;
	uint32_t pos; /* bytes written or read so far */
};

/* Begins to write a value. version counts only for values that carry one. */
void item_value_begin(struct item_value *v, uint32_t key, uint32_t len, uint32_t version);
/* Writes the next n bytes of the value. */
void item_value_put(struct item_value *v, uint8_t *at, uint32_t n);

/* Begins to read a value of that length; its version is in it. */
void item_value_expect(struct item_value *v, uint32_t key, uint32_t len);
/* True if these are the next n bytes. */
bool item_value_is(struct item_value *v, const uint8_t *at, uint32_t n);

#endif

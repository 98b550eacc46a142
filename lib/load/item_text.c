#include "item_text.h"

static inline uint64_t
value_seed(uint32_t key, uint32_t len, uint32_t version)
{
	return load_mix(((uint64_t)key << 32 | version) + len * LOAD_GOLDEN);
}

/* Bytes 8 * word and on. A multiplication and two shifts: values may be a megabyte. */
static inline uint64_t
value_word(uint64_t seed, uint32_t word)
{
	uint64_t z = (seed + word * LOAD_GOLDEN) * 0xbf58476d1ce4e5b9ull;

	z ^= z >> 32;
	return z;
}

void
item_value_begin(struct item_value *v, uint32_t key, uint32_t len, uint32_t version)
{
	const uint32_t carried = len >= ITEM_VERSIONED ? version : 0;

	*v = (struct item_value){
		.seed = value_seed(key, len, carried),
		.key = key,
		.len = len,
		.version = carried,
	};
}

/* Bytes pos..pos+7 of the value; pos may lie anywhere in it. */
static inline uint64_t
value_bytes(const struct item_value *v, uint32_t pos)
{
	const uint32_t word = pos / 8, shift = pos % 8 * 8;
	uint64_t low = value_word(v->seed, word);

	if (word == 0 && v->len >= ITEM_VERSIONED)
		low = (low & ~0xffffffffull) | v->version;
	if (shift == 0)
		return low;
	return low >> shift | value_word(v->seed, word + 1) << (64 - shift);
}

void
item_value_put(struct item_value *v, uint8_t *at, uint32_t n)
{
	uint32_t i = 0;

	for (; i + 8 <= n; i += 8) {
		const uint64_t word = value_bytes(v, v->pos + i);

		memcpy(at + i, &word, sizeof word);
	}
	if (i < n) {
		const uint64_t word = value_bytes(v, v->pos + i);

		memcpy(at + i, &word, n - i);
	}
	v->pos += n;
}

void
item_value_expect(struct item_value *v, uint32_t key, uint32_t len)
{
	item_value_begin(v, key, len, 0);
}

/* The version's bytes, as far as they are among the next n. Returns how many they were. */
static uint32_t
read_version(struct item_value *v, const uint8_t *at, uint32_t n)
{
	uint32_t took = 0;

	for (; took < n && v->pos < ITEM_VERSION; took++, v->pos++)
		v->version |= (uint32_t)at[took] << (8 * v->pos);
	if (v->pos == ITEM_VERSION)
		v->seed = value_seed(v->key, v->len, v->version);
	return took;
}

/* A value of ITEM_VERSIONED bytes or more, whole: all words are where they are computed. */
static bool
whole_value_is(struct item_value *v, const uint8_t *at)
{
	const uint32_t len = v->len;
	uint64_t wrong, got, want;
	uint32_t i;

	memcpy(&got, at, sizeof got);
	v->version = (uint32_t)got;
	v->seed = value_seed(v->key, len, v->version);
	wrong = (value_word(v->seed, 0) ^ got) >> 32;
	for (i = 8; i + 8 <= len; i += 8) {
		memcpy(&got, at + i, sizeof got);
		wrong |= got ^ value_word(v->seed, i / 8);
	}
	/* The last bytes again, from the end: some of the word before may be among them. */
	if (i < len) {
		memcpy(&got, at + len - 8, sizeof got);
		want = value_word(v->seed, i / 8);
		wrong |= (got >> 8 * (i + 8 - len)) ^
			 (want << 8 * (i + 8 - len) >> 8 * (i + 8 - len));
	}
	v->pos = len;
	return wrong == 0;
}

bool
item_value_is(struct item_value *v, const uint8_t *at, uint32_t n)
{
	uint64_t wrong = 0;
	uint32_t i;

	if (v->pos == 0 && n == v->len && n >= ITEM_VERSIONED)
		return whole_value_is(v, at);
	if (v->len >= ITEM_VERSIONED && v->pos < ITEM_VERSION) {
		const uint32_t took = read_version(v, at, n);

		at += took;
		n -= took;
	}
	for (i = 0; i + 8 <= n; i += 8) {
		uint64_t got;

		memcpy(&got, at + i, sizeof got);
		wrong |= got ^ value_bytes(v, v->pos + i);
	}
	if (i < n) {
		const uint64_t want = value_bytes(v, v->pos + i);

		wrong |= memcmp(at + i, &want, n - i) != 0;
	}
	v->pos += n;
	return wrong == 0;
}

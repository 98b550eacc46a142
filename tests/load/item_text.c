/*
 * item_text.c - values written and compared piece by piece, eight bytes at a time.
 */
#include "item_text.h"

void
item_value_begin(struct item_value *v, uint32_t key, uint32_t len, uint32_t version)
{
	const uint32_t carried = len >= ITEM_VERSIONED ? version : 0;

	*v = (struct item_value){
		.seed = item_value_seed(key, len, carried),
		.key = key,
		.len = len,
		.version = carried,
	};
}

/* Returns bytes pos..pos+7 of the value; pos may be anywhere in it. */
static inline uint64_t
value_bytes(const struct item_value *v, uint32_t pos)
{
	const uint32_t word = pos / 8, shift = pos % 8 * 8;
	uint64_t low = item_value_word(v->seed, word);

	if (word == 0 && v->len >= ITEM_VERSIONED)
		low = (low & ~0xffffffffull) | v->version;
	if (shift == 0)
		return low;
	return low >> shift | item_value_word(v->seed, word + 1) << (64 - shift);
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

/* Reads the bytes of the version that are among the next n. Returns how many they were. */
static uint32_t
read_version(struct item_value *v, const uint8_t *at, uint32_t n)
{
	uint32_t took = 0;

	for (; took < n && v->pos < ITEM_VERSION; took++, v->pos++)
		v->version |= (uint32_t)at[took] << (8 * v->pos);
	if (v->pos == ITEM_VERSION)
		v->seed = item_value_seed(v->key, v->len, v->version);
	return took;
}

/* Returns 0 if n bytes, which are whole words, are those of the value from pos on. Each word of the
 * value is computed once, also if TCP has cut it in two. */
static uint64_t
words_differ(const struct item_value *v, const uint8_t *at, uint32_t n)
{
	const uint32_t shift = v->pos % 8 * 8;
	uint64_t wrong = 0, step = v->seed + (uint64_t)(v->pos / 8) * LOAD_GOLDEN, low, high, got;

	if (n == 0)
		return 0;
	memcpy(&got, at, sizeof got);
	wrong = got ^ value_bytes(v, v->pos); /* the version may be among these */
	step += LOAD_GOLDEN;
	low = item_value_word(step, 0);
	for (uint32_t i = 8; i < n; i += 8) {
		step += LOAD_GOLDEN;
		high = item_value_word(step, 0);
		memcpy(&got, at + i, sizeof got);
		/* The shift is made in two steps, because a shift by all 64 bits must give zero. */
		wrong |= got ^ (low >> shift | high << 1 << (63 - shift));
		low = high;
	}
	return wrong;
}

bool
item_value_is(struct item_value *v, const uint8_t *at, uint32_t n)
{
	uint64_t wrong;
	uint32_t i;

	if (v->pos == 0 && n == v->len && n >= ITEM_VERSIONED) {
		v->pos = n;
		return item_value_differs(at, v->key, n) == 0;
	}
	if (v->len >= ITEM_VERSIONED && v->pos < ITEM_VERSION) {
		const uint32_t took = read_version(v, at, n);

		at += took;
		n -= took;
	}
	i = n / 8 * 8;
	wrong = words_differ(v, at, i);
	if (i < n) {
		const uint64_t want = value_bytes(v, v->pos + i);

		wrong |= memcmp(at + i, &want, n - i) != 0;
	}
	v->pos += n;
	return wrong == 0;
}

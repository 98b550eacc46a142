/*
 * Keys and values are functions of a number. Goal: no two keys are equal, and a value with one
 * bit flipped, one byte moved, another key's or another length's is detected, however it is cut
 * into pieces. Method: every bit of short values, every cut, and neighbours.
 */
#include "load/item_text.h"
#include "support/test.h"

#include <stdlib.h>

static const uint32_t lengths[] = {0, 1, 2, 7, 8, 9, 11, 12, 16, 31, 32, 33, 100, 1000};
#define LENGTHS   (sizeof lengths / sizeof lengths[0])
#define VALUE_MAX 1000u

static void
make(uint8_t *at, uint32_t key, uint32_t len, uint32_t version)
{
	struct item_value v;

	item_value_begin(&v, key, len, version);
	item_value_put(&v, at, len);
	check_eq(v.pos, len);
}

static bool
is(const uint8_t *at, uint32_t key, uint32_t len, uint32_t piece)
{
	struct item_value v;
	bool good = true;

	item_value_expect(&v, key, len);
	for (uint32_t pos = 0; pos < len; pos += piece)
		good &= item_value_is(&v, at + pos, len - pos < piece ? len - pos : piece);
	return good;
}

TEST(a_value_is_itself_however_it_is_cut)
{
	uint8_t value[VALUE_MAX], again[VALUE_MAX];

	for (uint32_t i = 0; i < LENGTHS; i++) {
		const uint32_t len = lengths[i];

		make(value, 77 + i, len, 0xdeadbeef);
		for (uint32_t piece = 1; piece <= len; piece++) {
			struct item_value v;

			check(is(value, 77 + i, len, piece));
			item_value_begin(&v, 77 + i, len, 0xdeadbeef);
			for (uint32_t pos = 0; pos < len; pos += piece)
				item_value_put(&v, again + pos,
					       len - pos < piece ? len - pos : piece);
			check_bytes(again, value, len);
		}
	}
}

TEST(a_flipped_bit_is_seen)
{
	uint8_t value[VALUE_MAX];

	for (uint32_t i = 0; i < LENGTHS; i++) {
		const uint32_t len = lengths[i];

		make(value, 5, len, i);
		for (uint32_t bit = 0; bit < len * 8; bit++) {
			value[bit / 8] ^= (uint8_t)(1u << bit % 8);
			check(!is(value, 5, len, len));
			check(!is(value, 5, len, 3));
			value[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
	}
}

TEST(a_value_of_another_key_length_or_place_is_seen)
{
	uint8_t value[VALUE_MAX];

	for (uint32_t i = 0; i < LENGTHS; i++) {
		const uint32_t len = lengths[i];

		if (len < 7)
			continue; /* short values may be equal by chance */
		make(value, 1000, len, 0);
		check(!is(value, 1001, len, len));
		check(!is(value, 1000, len - 1, len));
		check(!is(value + 1, 1000, len - 1, len));
		memmove(value, value + 1, len - 1);
		check(!is(value, 1000, len, len));
	}
}

TEST(keys_differ_and_are_found_again)
{
	static const uint32_t numbers[] = {0, 1, 2, 15, 16, 255, 1u << 20, 0x7fffffff};
	uint8_t a[ITEM_KEY_ROOM], b[ITEM_KEY_ROOM];

	for (uint32_t len = ITEM_KEY_MIN; len <= ITEM_KEY_MAX; len += 11) {
		for (uint32_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
			item_key_put(a, numbers[i], len);
			check(item_key_is(a, numbers[i], len));
			for (uint32_t k = 0; k < len; k++)
				check(a[k] > ' ' && a[k] < 0x7f);
			for (uint32_t k = 0; k < i; k++) {
				item_key_put(b, numbers[k], len);
				check(memcmp(a, b, ITEM_KEY_MIN) != 0);
				check(!item_key_is(a, numbers[k], len));
			}
			a[len - 1] ^= 1;
			check(!item_key_is(a, numbers[i], len));
		}
	}
}

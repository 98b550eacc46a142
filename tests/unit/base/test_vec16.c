/*
 * Sixteen bytes at once. Goal: each function does lane by lane what a loop over the bytes does, on
 * every CPU that the product is built for. Method: both get the same random vectors. Their lanes
 * take few values, the edges of saturation, so that two lanes are often equal.
 */
#include "support/test.h"
#include "base/vec16.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS 20000

union lanes {
	uint8_t b[16];
	uint16_t h[8];
	uint32_t w[4];
	vec16 v;
};

static const uint16_t edges[] = {0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xff7f, 0xff80, 0xffff};

static union lanes
drawn(void)
{
	union lanes l;

	for (uint32_t i = 0; i < 8; i++)
		l.h[i] = edges[(uint32_t)random() % (sizeof edges / sizeof edges[0])];
	return l;
}

static bool
is(vec16 v, const union lanes *want)
{
	return memcmp(&v, want, sizeof *want) == 0;
}

static int16_t
saturated(int32_t n, int32_t least, int32_t most)
{
	return (int16_t)(n < least ? least : n > most ? most : n);
}

TEST(equal_lanes_are_all_ones)
{
	for (uint32_t n = 0; n < ROUNDS; n++) {
		const union lanes x = drawn(), y = drawn();
		union lanes bytes, halves, words;

		for (uint32_t i = 0; i < 16; i++)
			bytes.b[i] = x.b[i] == y.b[i] ? 0xff : 0;
		for (uint32_t i = 0; i < 8; i++)
			halves.h[i] = x.h[i] == y.h[i] ? 0xffff : 0;
		for (uint32_t i = 0; i < 4; i++)
			words.w[i] = x.w[i] == y.w[i] ? 0xffffffff : 0;
		check(is(vec16_equal_8(x.v, y.v), &bytes));
		check(is(vec16_equal_16(x.v, y.v), &halves));
		check(is(vec16_equal_32(x.v, y.v), &words));
	}
}

TEST(one_value_fills_all_lanes)
{
	union lanes want;

	memset(&want, 0xc3, sizeof want);
	check(is(vec16_of_8(0xc3), &want));
	check(is(vec16_of_16(0xc3c3), &want));
	check(is(vec16_of_32(0xc3c3c3c3), &want));
	memset(&want, 0, sizeof want);
	check(is(vec16_zero(), &want));
	for (uint32_t i = 0; i < 8; i++)
		want.h[i] = 0x8001;
	check(is(vec16_of_16(0x8001), &want));
}

TEST(bits_are_combined_and_the_smaller_byte_is_chosen)
{
	for (uint32_t n = 0; n < ROUNDS; n++) {
		const union lanes x = drawn(), y = drawn();
		union lanes any, both, other, least;

		for (uint32_t i = 0; i < 16; i++) {
			any.b[i] = x.b[i] | y.b[i];
			both.b[i] = x.b[i] & y.b[i];
			other.b[i] = x.b[i] ^ y.b[i];
			least.b[i] = x.b[i] < y.b[i] ? x.b[i] : y.b[i];
		}
		check(is(vec16_or(x.v, y.v), &any));
		check(is(vec16_and(x.v, y.v), &both));
		check(is(vec16_xor(x.v, y.v), &other));
		check(is(vec16_min_8(x.v, y.v), &least));
	}
}

TEST(packed_words_are_saturated)
{
	for (uint32_t n = 0; n < ROUNDS; n++) {
		const union lanes x = drawn(), y = drawn();
		union lanes bytes, halves;

		for (uint32_t i = 0; i < 8; i++) {
			bytes.b[i] = (uint8_t)saturated((int16_t)x.h[i], -128, 127);
			bytes.b[i + 8] = (uint8_t)saturated((int16_t)y.h[i], -128, 127);
		}
		for (uint32_t i = 0; i < 4; i++) {
			halves.h[i] = (uint16_t)saturated((int32_t)x.w[i], -32768, 32767);
			halves.h[i + 4] = (uint16_t)saturated((int32_t)y.w[i], -32768, 32767);
		}
		check(is(vec16_pack_16(x.v, y.v), &bytes));
		check(is(vec16_pack_32(x.v, y.v), &halves));
	}
}

TEST(signs_are_the_highest_bits_in_order)
{
	for (uint32_t n = 0; n < ROUNDS; n++) {
		const union lanes x = drawn();
		uint32_t signs = 0;

		for (uint32_t i = 0; i < 16; i++)
			signs |= (uint32_t)(x.b[i] >> 7) << i;
		check_eq(vec16_signs(x.v), signs);
		check_eq(vec16_is_zero(x.v), memcmp(&x, &(union lanes){.w = {0}}, sizeof x) == 0);
	}
	for (uint32_t i = 0; i < 128; i++) { /* any bit is seen */
		union lanes one = {.w = {0}};

		one.b[i / 8] = (uint8_t)(1u << i % 8);
		check(!vec16_is_zero(one.v));
	}
	check(vec16_is_zero(vec16_zero()));
}

TEST(loads_are_of_any_address)
{
	uint8_t bytes[32];

	for (uint32_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)i;
	for (uint32_t at = 0; at <= 16; at++) {
		const vec16 v = vec16_load(bytes + at);

		check(memcmp(&v, bytes + at, sizeof v) == 0);
	}
}

TEST(the_first_least_byte_is_found)
{
	for (uint32_t n = 0; n < ROUNDS; n++) {
		uint8_t b[8];
		uint64_t word = 0;
		uint32_t least = 0;

		for (uint32_t i = 0; i < 8; i++) {
			b[i] = (uint8_t)edges[(uint32_t)random() % 5];
			word |= (uint64_t)b[i] << 8 * i;
			least = b[i] < b[least] ? i : least;
		}
		check_eq(least_byte(word), least);
	}
}

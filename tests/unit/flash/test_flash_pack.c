/*
 * Packed values. Goal: a packed value is shorter and unpacks to the original; bytes that are no
 * packed value are refused, or unpack to as many bytes as they state, and nothing is written
 * beyond that. Method: values of all lengths, drawn with few or many different bytes; then each
 * bit of a packed one turned, its end cut off and bytes added, its length changed.
 */
#include "support/test.h"
#include "flash/flash_pack.h"

#include <string.h>

#define GUARD 64u

static struct {
	struct flash_packer packer;
	uint8_t guard[GUARD];
} in;
static struct {
	struct flash_unpacker unpacker;
	uint8_t guard[GUARD];
} out;
static uint8_t value[FLASH_PACK_MAX + 1], packed[FLASH_PACK_MAX];
static uint64_t drawn = 1;

static uint32_t
draw(uint32_t below)
{
	drawn = drawn * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(drawn >> 33) % below;
}

/* Packs a value of this many different bytes. Returns its packed length; with 256 different bytes
 * no part can be packed. */
static uint32_t
pack(uint32_t len, uint32_t different)
{
	uint32_t bytes;

	for (uint32_t i = 0; i < len; i++)
		value[i] = (uint8_t)draw(different);
	memcpy(in.packer.value, value, len);
	bytes = flash_pack(&in.packer, len);
	memcpy(packed, in.packer.packed, bytes);
	for (uint32_t i = 0; i < GUARD; i++)
		check_eq(in.guard[i], 0);
	return bytes;
}

static uint32_t
unpack(uint32_t len)
{
	uint32_t bytes;

	memcpy(out.unpacker.packed, packed, len < sizeof packed ? len : sizeof packed);
	memset(out.unpacker.value, 0xa5, sizeof out.unpacker.value);
	bytes = flash_unpack(&out.unpacker, len);
	for (uint32_t i = 0; i < GUARD; i++)
		check_eq(out.guard[i], 0);
	return bytes;
}

static void
check_value(uint32_t len)
{
	check_eq(memcmp(out.unpacker.value, value, len), 0);
}

TEST(what_is_packed_is_shorter_and_comes_back)
{
	for (uint32_t len = FLASH_PACK_MIN; len <= FLASH_PACK_MAX; len += 1 + len / 40) {
		const uint32_t bytes = pack(len, 3);

		check(bytes != 0 && bytes <= len - len / FLASH_PACK_SHARE);
		check_eq(unpack(bytes), len);
		check_value(len);
	}
}

TEST(what_gains_too_little_is_not_packed)
{
	for (uint32_t len = FLASH_PACK_MIN; len <= FLASH_PACK_MAX; len += 97)
		check_eq(pack(len, 256), 0);
	memset(in.packer.value, 'a', FLASH_PACK_MAX);
	check_eq(flash_pack(&in.packer, FLASH_PACK_MIN - 1), 0);
	check_eq(flash_pack(&in.packer, FLASH_PACK_MAX + 1), 0);
	check(flash_pack(&in.packer, FLASH_PACK_MIN) != 0);
	check(flash_pack(&in.packer, FLASH_PACK_MAX) != 0);
}

/* Checks that the bytes are refused or give a value of the stated length. It may be another
 * value: the page's sum detects that. */
static void
check_is_none_or_as_long_as_it_says(uint32_t bytes)
{
	uint16_t says;
	const uint32_t unpacked = unpack(bytes);

	memcpy(&says, packed, sizeof says);
	check(unpacked == 0 || unpacked == says);
	for (uint32_t i = unpacked != 0 ? unpacked : says; i < FLASH_PACK_MAX; i++)
		check_eq(out.unpacker.value[i], 0xa5);
}

TEST(a_damaged_one_is_none_or_as_long_as_it_says)
{
	const uint32_t bytes = pack(700, 3);

	for (uint32_t bit = 0; bit < bytes * 8; bit++) {
		packed[bit / 8] ^= 1u << bit % 8;
		check_is_none_or_as_long_as_it_says(bytes);
		packed[bit / 8] ^= 1u << bit % 8;
	}
	check_eq(unpack(bytes), 700);
}

TEST(one_that_is_cut_or_longer_is_none)
{
	const uint32_t bytes = pack(700, 3);

	for (uint32_t len = 0; len < bytes; len++)
		check_eq(unpack(len), 0);
	for (uint32_t more = 1; more < 9; more++)
		check_eq(unpack(bytes + more), 0);
	check_eq(unpack(FLASH_PACK_MAX + 1), 0);
}

TEST(one_that_says_another_length_is_none)
{
	const uint32_t bytes = pack(700, 3);

	for (uint32_t says = 0; says < 65536; says += says < 1000 ? 1 : 997) {
		const uint16_t length = (uint16_t)says;

		memcpy(packed, &length, sizeof length);
		check_eq(unpack(bytes), says == 700 ? 700 : 0);
	}
}

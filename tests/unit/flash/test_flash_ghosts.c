/*
 * flash_ghosts.c. Goal: a key that was seen is remembered for about as many further keys as the
 * table has bytes; a key that was not seen is hardly ever taken for one. Method: keys in rounds,
 * shorter and longer than the table.
 */
#include "flash/flash_ghosts.h"

#include "base/hash.h"
#include "support/test.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define COUNT FLASH_GHOSTS_MIN

static _Atomic uint8_t tags[COUNT];
static const struct flash_ghosts ghosts = {tags, COUNT};

/* Returns how many of this many keys are remembered in a second round. */
static uint32_t
known(uint32_t keys)
{
	uint32_t n = 0;

	memset(tags, 0, sizeof tags);
	for (uint32_t i = 0; i < 2 * keys; i++)
		n += flash_ghosts_have(&ghosts, hash_word(i % keys, 1)) && i >= keys;
	return n;
}

TEST(a_key_is_known_as_long_as_the_table_is)
{
	check(known(COUNT / 8) >= COUNT / 8 * 85 / 100);
	check(known(COUNT) >= COUNT * 30 / 100 && known(COUNT) <= COUNT * 45 / 100);
	check(known(8 * COUNT) <= 8 * COUNT / 100);
}

TEST(a_key_that_was_not_seen_is_hardly_ever_known)
{
	uint32_t n = 0;

	memset(tags, 0, sizeof tags);
	for (uint32_t i = 0; i < 40 * COUNT; i++)
		n += flash_ghosts_have(&ghosts, hash_word(i, 2));
	check(n <= 40 * COUNT / 180);
	check(!flash_ghosts_have(&(struct flash_ghosts){NULL, 0}, 1));
}

/* Also keys whose byte is 0, the table's initial value, are not known at first. */
TEST(what_is_seen_first_is_not_known)
{
	for (uint64_t i = 0; i < 256; i++) {
		memset(tags, 0, sizeof tags);
		check(!flash_ghosts_have(&ghosts, i << 56));
		check(flash_ghosts_have(&ghosts, i << 56));
	}
}

TEST(there_is_one_for_each_item_or_for_every_second)
{
	check_eq(flash_ghosts_count(0), FLASH_GHOSTS_MIN);
	for (uint64_t items = FLASH_GHOSTS_MIN; items < 1ull << 40; items = items * 3 / 2) {
		const uint64_t n = flash_ghosts_count(items);

		check((n & (n - 1)) == 0 && n <= items && n * 2 > items);
	}
}

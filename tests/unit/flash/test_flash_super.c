/*
 * The owner of a device, by its first segment. Goal: an empty device is taken, and one that a
 * tier left, also amid a write of its superblock; a device that another program has written to,
 * new or once a tier's, is refused. Method: bytes, as other programs leave them, by a table.
 */
#include "flash/flash_super.h"
#include "support/test.h"

/* The beginning of a device's first segment. */
static uint8_t begin[4 * FLASH_SUPER_BYTES];

/* Writes the superblock as a tier leaves it. */
static void
leave_super(void)
{
	struct flash_super super = {.counter = 3, .layout = {.device = 5, .shards = 64}};

	memset(begin, 0, sizeof begin);
	for (; super.counter < 5; super.counter++) {
		for (uint32_t i = 0; i < FLASH_SHARDS_MAX; i++)
			super.shard[i].head = 1000 + i;
		flash_super_write(begin + super.counter % 2 * FLASH_SUPER_BYTES, &super);
	}
}

TEST(what_is_somebody_elses_is_not_taken)
{
	memset(begin, 0, sizeof begin);
	check(flash_super_may_take(begin, 0));
	check(flash_super_may_take(begin, sizeof begin));
	for (size_t len = 1; len <= sizeof begin; len += 4095) {
		memset(begin, 0, sizeof begin);
		begin[len - 1] = 1;
		check(!flash_super_may_take(begin, len));
	}
	leave_super();
	check(flash_super_may_take(begin, sizeof begin));
	check(flash_super_may_take(begin, 2 * FLASH_SUPER_BYTES));
	check(!flash_super_may_take(begin, FLASH_SUPER_BYTES)); /* no tier leaves so little */
	memset(begin, 0, FLASH_SUPER_BYTES);                    /* the first start left one copy */
	check(flash_super_may_take(begin, sizeof begin));
}

/* Bytes that a program writes, with their place and length. */
struct written {
	uint32_t at;
	const char *bytes;
	uint32_t len, zeroed; /* zeros before the bytes, from the device's begin */
};

TEST(what_others_wrote_over_a_tier_is_not_taken)
{
	static const struct {
		const char *who;
		struct written what[2];
	} rows[] = {
		{"mkswap", {{4086, "SWAPSPACE2", 10, 1024}, {1024, "\1", 1, 0}}},
		{"mkswap, nothing zeroed", {{4086, "SWAPSPACE2", 10, 0}}},
		{"mdadm 1.2", {{4096, "\xfc\x4e\x2b\xa9\1\0\0\0", 8, 0}}},
		{"mdadm 1.1", {{0, "\xfc\x4e\x2b\xa9\1\0\0\0", 8, 0}}},
		{"mke2fs", {{1024 + 56, "\x53\xef", 2, 1024}}},
		{"mkfs.xfs", {{0, "XFSB", 4, 4096}}},
		{"pvcreate", {{512, "LABELONE", 8, 2048}}},
		{"mkfs.btrfs", {{12352, "_BHRfS_M", 8, 0}}}, /* in reality at 65600 */
		{"a partition table", {{446, "\0\x20\x21\0\x83", 5, 0}, {510, "\x55\xaa", 2, 0}}},
		{"an empty partition table", {{510, "\x55\xaa", 2, 0}}},
		{"GPT", {{510, "\x55\xaa", 2, 0}, {512, "EFI PART", 8, 0}}},
		{"another tier", {{16 + 24, "\x77", 1, 0}}},
	};

	for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		leave_super();
		memset(begin, 0, rows[i].what[0].zeroed);
		for (uint32_t w = 0; w < 2 && rows[i].what[w].len != 0; w++)
			memcpy(begin + rows[i].what[w].at, rows[i].what[w].bytes,
			       rows[i].what[w].len);
		if (flash_super_may_take(begin, sizeof begin))
			fail_msg("%s", rows[i].who);
	}
}

/* A power loss amid the write of a copy leaves old sectors and new ones. */
TEST(a_tier_whose_superblock_was_torn_is_taken)
{
	static uint8_t next[FLASH_SUPER_BYTES];
	struct flash_super super = {.counter = 5, .layout = {.device = 5, .shards = 64}};

	flash_super_write(next, &super);
	for (uint32_t sectors = 1; sectors < 255; sectors++) {
		leave_super();
		for (uint32_t i = 0; i < 8; i++)
			if ((sectors >> i & 1) != 0)
				memcpy(begin + FLASH_SUPER_BYTES + i * 512, next + i * 512, 512);
		check(flash_super_may_take(begin, sizeof begin));
	}
	begin[0] ^= 1; /* the other copy is broken, too */
	begin[FLASH_SUPER_BYTES] ^= 1;
	check(!flash_super_may_take(begin, sizeof begin));
}

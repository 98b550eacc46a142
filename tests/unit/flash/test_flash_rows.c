/*
 * Columns over a restart, and their place on a device. Goal: after a graceful stop the next start
 * has all rows, bit by bit, or none; after a kill it has them, unless its numbers cannot be a
 * process's; another shape is a cold start; a device of any size is divided without an overlap,
 * at the bytes of memory that FLASH.md states. Method: rows of few buckets on a device of memory,
 * one thing wrong at a time; plans by a table.
 */
#include "flash/flash_plan.h"
#include "flash/flash_rows.h"
#include "sim/mem_flash.h"
#include "support/test.h"

#include <stdlib.h>

#define BUCKETS 700u
#define COUNT   4u
#define PAGES   3u
#define SHARD   5u
#define KEYS    400u
#define TRIES   1000u

static struct mem_flash device;
static struct flash_column_config column;
static struct flash_columns columns;
static struct flash_super super;
static uint32_t tries, ends_at; /* hanging transfers end at this try */

static bool
tick(void *arg)
{
	if (tries == ends_at)
		mem_flash_release(&device);
	mem_flash_tick(&device, device.now_ns + 1);
	return ++tries < TRIES;
}

static const struct flash_rows_io io = {&device.device, tick, NULL};

static uint64_t
hash_of(uint32_t n)
{
	return n * 0x9e3779b97f4a7c15ull;
}

/* Puts the fingerprint of the keys of each bucket into every column. */
static void
put_all(void)
{
	for (uint32_t c = 0; c < COUNT; c++)
		for (uint32_t b = 0; b < BUCKETS; b++) {
			uint32_t f[FLASH_COLUMN_SLOTS] = {0};

			for (uint32_t n = 0; n < KEYS; n++) {
				const struct filter_place p =
					filter_place(&columns.shape, hash_of(n));

				if (p.buckets[0] == b)
					f[FLASH_COLUMN_SLOTS - 1] = p.fingerprint;
			}
			flash_columns_put(&columns, c, b, f, b % 100 == 99);
		}
	for (uint32_t c = 0; c < COUNT; c++) {
		columns.kept->number[c] = COUNT + c;
		columns.kept->pages[c] = PAGES;
	}
	columns.kept->last = 2 * COUNT - 1;
	columns.kept->salt = 4711;
	flash_columns_show(&columns, (1u << COUNT) - 2);
}

SETUP(setup)
{
	const size_t bytes = flash_rows_bytes(BUCKETS);

	mem_flash_open(&device, COUNT * PAGES * FLASH_PAGE_BYTES + bytes + FLASH_PAGE_BYTES, 8, 1);
	column = (struct flash_column_config){.count = COUNT,
					      .buckets = BUCKETS,
					      .pages = PAGES,
					      .offset = FLASH_PAGE_BYTES,
					      .memory = aligned_alloc(FLASH_PAGE_BYTES, bytes)};
	check_ptr(column.memory);
	memset(column.memory, 0, bytes);
	flash_columns_attach(&columns, column.memory, BUCKETS);
	put_all();
	super = (struct flash_super){0};
	tries = 0;
	ends_at = UINT32_MAX;
}

TEARDOWN(teardown)
{
	free(column.memory);
	mem_flash_close(&device);
}

static uint8_t *
copy_of(void)
{
	uint8_t *copy = malloc(flash_rows_bytes(BUCKETS));

	check_ptr(copy);
	memcpy(copy, column.memory, flash_rows_bytes(BUCKETS));
	return copy;
}

TEST(what_a_stop_wrote_is_there_at_the_next_start)
{
	uint8_t *was = copy_of();

	super.shard[SHARD].rows = flash_rows_write(&column, &io);
	check(super.shard[SHARD].rows != 0);
	memset(column.memory, 0x5a, flash_rows_bytes(BUCKETS));
	flash_rows_start(&column, FLASH_FROM_CLEAN, &super, SHARD, &io);
	check(column.is_kept);
	check_eq(memcmp(column.memory, was, flash_rows_bytes(BUCKETS)), 0);
	/* Bytes beyond the last column and before the first one are not written. */
	check_eq(device.now[FLASH_PAGE_BYTES * (1 + COUNT * PAGES) - 1], 0);
	free(was);
}

TEST(rows_that_are_not_whole_are_empty_columns)
{
	enum { COLD, FLIP, NO_SUM, WRITE_ERROR, READ_ERROR, HANG, OTHER_SHARD, WAYS };

	for (uint32_t way = 0; way < WAYS; way++) {
		const uint64_t end = device.device.bytes - FLASH_PAGE_BYTES;
		uint64_t sum;

		device.faults.write_errors = way == WRITE_ERROR ? 1000000 : 0;
		device.faults.hangs = way == HANG ? 1000000 : 0;
		sum = flash_rows_write(&column, &io);
		check_eq(sum == 0, way == WRITE_ERROR || way == HANG);
		super.shard[SHARD].rows = way == NO_SUM || way == OTHER_SHARD ? 0 : sum;
		super.shard[SHARD + 1].rows = sum;
		device.faults.read_errors = way == READ_ERROR ? 1000000 : 0;
		device.now[end] ^= way == FLIP;
		flash_rows_start(&column, way == COLD ? FLASH_COLD : FLASH_FROM_CLEAN, &super,
				 SHARD, &io);
		if (column.is_kept)
			fail_msg("%u", way);
		device.faults = (struct mem_flash_faults){0};
		mem_flash_release(&device);
		for (struct flash_result r; device.under_way != 0;
		     device.device.ops->poll(&device.device, &r, 1))
			mem_flash_tick(&device, device.now_ns + 1);
		tries = 0;
	}
}

/* The caller must know whether the device may still write into the memory of the columns. */
TEST(a_read_that_hangs_ends_the_start)
{
	super.shard[SHARD].rows = flash_rows_write(&column, &io);
	device.faults.hangs = 1000000;
	check(!flash_rows_start(&column, FLASH_FROM_CLEAN, &super, SHARD, &io));
	check(!column.is_kept);
	check(device.under_way != 0);
	check(tries >= TRIES && tries <= TRIES + FLASH_ROWS_WAITS);

	/* The hanging transfers have ended by now, or end while they are given up. */
	mem_flash_release(&device);
	for (struct flash_result r; device.under_way != 0;
	     device.device.ops->poll(&device.device, &r, 1))
		mem_flash_tick(&device, device.now_ns + 1);
	tries = 0;
	ends_at = TRIES + 10;
	check(flash_rows_start(&column, FLASH_FROM_CLEAN, &super, SHARD, &io));
	check(!column.is_kept);
	check_eq(device.under_way, 0);

	tries = 0;
	device.faults.hangs = 0;
	check(flash_rows_start(&column, FLASH_FROM_CLEAN, &super, SHARD, &io));
	check(column.is_kept);
}

TEST(what_a_killed_process_left_is_kept_if_a_process_may_have)
{
	enum { RIGHT, NO_SUCH, PLACE, NEWER, LONG, MANY, HIDDEN, WAYS };

	for (uint32_t way = 0; way < WAYS; way++) {
		struct flash_columns_kept *k = columns.kept;
		const struct flash_columns_kept was = *k;

		k->visible |= way == NO_SUCH ? 1u << COUNT : 0;
		k->number[1] += way == PLACE ? 1 : way == NEWER ? COUNT : 0;
		k->pages[2] += way == LONG;
		k->last = way == MANY ? UINT64_MAX : k->last;
		/* A column that is not visible is not checked. */
		k->number[0] += way == HIDDEN ? 1 : 0;
		flash_rows_start(&column, FLASH_FROM_STATE, &super, SHARD, &io);
		if (column.is_kept != (way == RIGHT || way == HIDDEN))
			fail_msg("%u", way);
		*k = was;
	}
	check_eq(device.reads, 0);
}

TEST(another_shape_is_a_cold_start, no_setup)
{
	static const size_t fields[] = {offsetof(struct flash_layout, columns),
					offsetof(struct flash_layout, column_buckets),
					offsetof(struct flash_layout, column_pages),
					offsetof(struct flash_layout, streams),
					offsetof(struct flash_layout, large_segments),
					offsetof(struct flash_layout, large_buckets)};
	const struct flash_layout mine = {.device = 1, .shards = 2};
	const struct flash_state_id none = {0};

	for (uint32_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
		struct flash_super left = {.clean = 1, .layout = mine};
		const struct flash_before before = {
			.super = &left, .state = &none, .state_words = "", .gap_words = ""};
		char words[FLASH_START_WORDS];

		check_eq(flash_start_of(&before, &mine, words), FLASH_FROM_CLEAN);
		*(uint32_t *)(void *)((uint8_t *)&left.layout + fields[i]) = 7;
		check_eq(flash_start_of(&before, &mine, words), FLASH_COLD);
		check_ptr(strstr(words, "flash.layout"));
	}
}

/* ---- the device ---- */

#define GB (1ull << 30)

static void
check_places(const struct flash_plan *p, uint64_t bytes)
{
	uint64_t end = FLASH_SEGMENT_BYTES;

	for (uint32_t i = 0; i < p->shards; i++) {
		const struct flash_plan_log *log = flash_plan_log(p, i);

		check_eq(flash_plan_stream(p, i), i / (p->shards / 2));
		check_eq(flash_plan_offset(p, i), end);
		end += (uint64_t)log->segments * FLASH_SEGMENT_BYTES;
		check(log->segments <= FLASH_SLOTS_MAX && log->live + 2 <= log->segments);
	}
	for (uint32_t i = 0; i < p->shards / 2; i++) {
		check_eq(flash_plan_column_offset(p, i), end);
		end += (uint64_t)p->column.count * p->column.pages * FLASH_PAGE_BYTES +
		       flash_rows_bytes(p->column.buckets);
	}
	/* Hardly any space remains unused. */
	check(end <= bytes && end > bytes - bytes / 40 - 20 * FLASH_SEGMENT_BYTES);
}

TEST(a_device_of_any_size_has_columns, no_setup)
{
	static const struct {
		uint64_t bytes;
		uint32_t shards;
	} rows[] = {{FLASH_PLAN_MIN, 2}, {FLASH_PLAN_MIN + 4095, 2},
		    {2 * GB, 2},         {16 * GB, 4},
		    {100 * GB, 16},      {512 * GB, 64},
		    {FLASH_PLAN_MAX, 64}};

	for (uint32_t i = 0; i < 3 * sizeof rows / sizeof rows[0]; i++)
		for (uint32_t item = 64; item <= CONFIG_FLASH_HASHED; item += 238) {
			static const uint32_t large[] = {5, 25, 50};
			const uint64_t bytes = rows[i / 3].bytes;
			const struct config_flash c = {.layout = FLASH_LAYOUT_HASH,
						       .large = large[i % 3],
						       .item_size = item};
			struct flash_plan p;

			flash_plan_make(&p, bytes, &c);
			check_eq(p.shards, rows[i / 3].shards);
			check_eq(p.column.count, FLASH_COLUMNS);
			check_places(&p, bytes);
			/* A log has room for a column, and for what arrives
			 * while the column is made. */
			check((uint64_t)p.log[0].live * (FLASH_SEGMENT_PAGES - 1) >=
			      p.column.pages + 5ull * (FLASH_SEGMENT_PAGES - 1));
			check((uint64_t)p.column.buckets * FLASH_COLUMN_SLOTS * FLASH_COLUMN_FILL /
				      1000 >=
			      p.column.items);
			check((uint64_t)p.column.pages * FLASH_PAGE_BYTES < UINT32_MAX);
		}
}

TEST(its_memory_is_what_the_page_says, no_setup)
{
	struct config_flash c = {.layout = FLASH_LAYOUT_AUTO, .large = 25, .item_size = 256};
	struct flash_plan p;
	double items;

	flash_plan_make(&p, FLASH_HASH_FROM - 1, &c);
	check(!flash_plan_has_columns(&p) && flash_plan_rows_bytes(&p) == 0);
	check(flash_plan_writes(&p) <= 1010);
	flash_plan_make(&p, FLASH_HASH_FROM, &c);
	check(flash_plan_has_columns(&p));
	check(flash_plan_writes(&p) > 2000 && flash_plan_writes(&p) < 2090);
	c.item_size = CONFIG_FLASH_HASHED + 1;
	flash_plan_make(&p, 64 * GB, &c);
	check(!flash_plan_has_columns(&p));

	c.item_size = 256;
	flash_plan_make(&p, 64 * GB, &c);
	items = (double)p.shards / 2 * p.column.count * (double)p.column.items;
	check((double)flash_plan_rows_bytes(&p) / items < 1.9);
	/* The sum of all memory that grows with the number of items that are not large. */
	check(((double)flash_plan_rows_bytes(&p) +
	       (double)p.shards / 2 * p.log[0].buckets * sizeof(struct bucket)) /
		      (double)p.items <
	      2.3);
	check(flash_plan_convert_bytes(&p) + flash_plan_transfer_bytes(&p) < 128ull << 20);
}

/*
 * test_flash_convert.c - logs that become columns, and columns that are dropped, on a device in
 * memory.
 *
 * Goal:   an evicted item is found with one read; a used item is kept when its column is dropped;
 *         the figures of FLASH.md hold: bytes of memory an item, of flash
 *         written for one, reads for a hit and for a miss, slots taken.
 * Method: a shard with 16 columns, with its thread and owner in turns; items of 16 and 200 bytes.
 *         A lookup runs at each gap of the owner's work, and a column is dropped at the gap of a
 *         lookup.
 *
 * test_flash_convert figures: more items, and how many of them a second of CPU converts.
 */
#include "flash/flash_convert.h"
#include "flash/flash_fault.h"
#include "flash/flash_shard_inside.h"

#include "../../sim/mem_flash.h"
#include "base/hash.h"
#include "base/gap.h"
#include "support/test.h"

#include <stdlib.h>
#include <time.h>

#define KEY_BYTES     16u
#define VALUE_BYTES   200u
#define RECORD_BYTES  (FLASH_RECORD_HEAD + KEY_BYTES + VALUE_BYTES)
#define SEGMENT_PAGES 32u
#define OUTPUTS       8u /* passes over the data */
#define PUMP_EVERY    4u
#define TRIES         100000u
#define ABSENT        40000u
#define USED_ONE_OF   40u
#define FEW           512u /* buckets */
#define USED_FEW      8u

static uint32_t scale = 4096; /* buckets of a column */

struct rig {
	struct flash_shard shard;
	struct flash_convert convert;
	struct flash_kept kept;
	struct flash_intents intents;
	struct mem_flash device;
	uint8_t *buckets, *pages, *columns, *workspace, *memory;
	uint64_t now_ns, puts, refused, log_writes;
	double seconds, fullest; /* seconds of conversion; the most entries of the index */
};

static void
key_of(uint64_t n, uint8_t key[KEY_BYTES])
{
	const uint64_t words[] = {n, hash_word(n, 3)};

	memcpy(key, words, KEY_BYTES);
}

static uint64_t
hash_of(void *arg, struct view key)
{
	uint64_t n;

	memcpy(&n, key.data, sizeof n);
	return hash_word(n, 7);
}

static void *
take(size_t bytes)
{
	void *p = aligned_alloc(FLASH_PAGE_BYTES, align_up(bytes, FLASH_PAGE_BYTES));

	check_ptr(p);
	memset(p, 0, bytes);
	return p;
}

static uint32_t
items_max(void)
{
	return scale * FLASH_COLUMN_SLOTS / 1000 * FLASH_COLUMN_FILL;
}

static void
rig_up(struct rig *r, uint32_t count)
{
	const uint32_t column_pages = items_max() / 18 + 2;
	const uint32_t a_segment = (SEGMENT_PAGES - 1) * FLASH_PAYLOAD_BYTES / RECORD_BYTES;
	const uint32_t live = items_max() / a_segment * 9 / 8 + 6;
	const uint32_t segments = live * 16 / 15 + 2;
	const uint32_t index = (live * a_segment * 64 / 630 + 1) & ~1u;
	const uint64_t log_bytes = (uint64_t)segments * SEGMENT_PAGES * FLASH_PAGE_BYTES;
	const uint64_t bytes = log_bytes + (uint64_t)count * column_pages * FLASH_PAGE_BYTES;
	const uint32_t output = (column_pages + OUTPUTS - 1) / OUTPUTS;
	struct flash_shard_config c = {.log = {.segments = segments,
					       .segment_pages = SEGMENT_PAGES,
					       .live = live,
					       .id = {.device = 1}},
				       .bucket_count = index,
				       .kept = &r->kept,
				       .intents = &r->intents,
				       .column = {.count = count,
						  .buckets = scale,
						  .pages = column_pages,
						  .offset = log_bytes}};
	struct region region = {.size = flash_convert_bytes(scale)};

	memset(r, 0, sizeof *r);
	mem_flash_open(&r->device, bytes, 8, 1);
	c.buckets = take(index * sizeof(struct bucket));
	c.pages = take((size_t)FLASH_BUFFERS * SEGMENT_PAGES * FLASH_PAGE_BYTES);
	c.column.memory = take(flash_columns_bytes(scale));
	r->buckets = (void *)c.buckets;
	r->pages = c.pages;
	r->columns = c.column.memory;
	r->workspace = take(region.size);
	r->memory =
		take((size_t)(FLASH_CONVERT_TRANSFERS * SEGMENT_PAGES + output) * FLASH_PAGE_BYTES);
	flash_shard_init(&r->shard, &c);
	region.base = r->workspace;
	flash_convert_init(&r->convert, &region,
			   &(struct flash_convert_config){.shards = &r->shard,
							  .shard_count = 1,
							  .device = &r->device.device,
							  .memory = r->memory,
							  .output_pages = output,
							  .reinserted = 32,
							  .hash = hash_of});
}

static void
rig_down(struct rig *r)
{
	mem_flash_close(&r->device);
	free(r->buckets);
	free(r->pages);
	free(r->columns);
	free(r->workspace);
	free(r->memory);
}

static double
cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Runs the device, the tier's thread and the owner once each. */
static void
pump(struct rig *r)
{
	struct flash_result ended;
	struct flash_io io;

	mem_flash_tick(&r->device, ++r->now_ns);
	while (r->device.device.ops->poll(&r->device.device, &ended, 1) == 1) {
		check_eq(ended.error, 0);
		if ((ended.tag & FLASH_CONVERT_TAG) != 0)
			flash_convert_ended(&r->convert, ended.tag, ended.error);
		else
			flash_log_wrote(&r->shard.log, (uint32_t)ended.tag, ended.error);
	}
	if (flash_log_write(&r->shard.log, &io)) {
		check_eq(r->device.device.ops->submit(&r->device.device, &io, 1), 1);
		r->log_writes++;
	}
	flash_shard_turn(&r->shard);

	const double begun = cpu_s();

	flash_convert_work(&r->convert);
	flash_convert_turn(&r->convert, &r->shard);
	r->seconds += cpu_s() - begun;
}

static void
put(struct rig *r, uint64_t n)
{
	uint8_t key[KEY_BYTES], value[VALUE_BYTES];
	const struct flash_record record = {
		.kind = FLASH_PUT, .value_len = VALUE_BYTES, .key = {key, KEY_BYTES}};
	const uint64_t hash = hash_word(n, 7);
	struct flash_reserved reserved;

	key_of(n, key);
	memset(value, (int)n, sizeof value);
	for (uint32_t i = 0; !flash_shard_reserve(&r->shard, &record, &reserved); i++) {
		check(i < TRIES);
		pump(r);
	}
	flash_log_fill(&r->shard.log, &reserved, 0, value, sizeof value);
	if (!flash_shard_put(&r->shard, 0, hash, &reserved, 0, 0))
		r->refused++;
	flash_log_release(&r->shard.log, &reserved);
	r->puts++;
	if ((double)r->shard.index.entries > r->fullest)
		r->fullest = (double)r->shard.index.entries;
	if (n % PUMP_EVERY == 0)
		pump(r);
}

static uint64_t
counted(const struct rig *r, enum flash_counter what)
{
	return counter_read(&r->shard.counters[what]);
}

struct looked {
	uint64_t found, reads, in_columns;
};

/* Looks the item up; reads the candidates one after the other. True if one is its record. */
static bool
look(struct rig *r, uint64_t n, struct looked *l, bool use)
{
	uint8_t pages[2 * FLASH_PAGE_BYTES], key[KEY_BYTES], value[VALUE_BYTES];
	const uint64_t hash = hash_word(n, 7);
	struct flash_look look = {0};
	struct flash_found found;

	key_of(n, key);
	flash_look_begin(&r->shard, &look);
	check(flash_look_end(&r->shard, &look, hash));
	for (uint32_t i = 0; i < look.count; i++) {
		const struct flash_candidate *at = &look.at[i];
		const bool was_buffer = flash_read_buffer(&r->shard, at, pages);

		l->reads++;
		if (!was_buffer)
			memcpy(pages, r->device.now + flash_candidate_offset(&r->shard, at),
			       (size_t)flash_candidate_pages(at) * FLASH_PAGE_BYTES);

		const enum flash_verdict v = flash_read_judge(
			&r->shard, at, pages, was_buffer, (struct view){key, KEY_BYTES}, &found);

		check_ne(v, FLASH_UNREADABLE);
		if (v != FLASH_FOUND)
			continue;
		flash_payload_get(pages, found.walk.value_at, value, sizeof value);
		check_eq(found.record.value_len, VALUE_BYTES);
		check_eq(value[0], (uint8_t)n);
		check_eq(value[VALUE_BYTES - 1], (uint8_t)n);
		l->found++;
		l->in_columns += flash_is_in_column(at);
		if (use)
			flash_candidate_use(&r->shard, hash, at);
		return true;
	}
	return false;
}

/* State of stress_gap(): it either pumps the rig or looks an item up. */
static struct {
	struct rig *r;
	bool within, pumps;
	uint64_t gaps, missed, n;
} between;

/* Looks up one of the items that are in the log or a column all the time. */
static void
look_between(struct rig *r)
{
	const uint64_t hash = hash_word(between.n, 7);
	struct flash_look look = {0};

	flash_look_begin(&r->shard, &look);
	between.gaps++;
	between.missed += flash_look_end(&r->shard, &look, hash) && look.count == 0;
	between.n = (between.n + 1) % items_max();
}

static void
go_between(struct rig *r)
{
	const uint64_t gone = counted(r, FLASH_COLUMNS_GONE);

	for (uint32_t i = 0; i < TRIES && counted(r, FLASH_COLUMNS_GONE) == gone; i++)
		pump(r);
	check_ne(counted(r, FLASH_COLUMNS_GONE), gone);
	between.pumps = false;
}

void
stress_gap(void)
{
	if (between.r == NULL || between.within)
		return;
	between.within = true;
	if (between.pumps)
		go_between(between.r);
	else
		look_between(between.r);
	between.within = false;
}

/* Puts items until this many columns are made. Returns the next number. */
static uint64_t
fill(struct rig *r, uint64_t n, uint64_t columns)
{
	while (counted(r, FLASH_COLUMNS_MADE) < columns)
		put(r, n++);
	return n;
}

TEST(what_was_evicted_is_found_at_one_read_and_at_the_bytes_that_the_page_says)
{
	struct rig r;
	struct looked hits = {0}, misses = {0};

	rig_up(&r, FLASH_COLUMNS);

	const uint64_t n = fill(&r, 0, FLASH_COLUMNS);
	const double items = (double)(counter_read(&r.convert.counters[FLASH_CONVERT_ITEMS]) -
				      counter_read(&r.convert.counters[FLASH_CONVERT_LOST]));
	const double slots = (double)scale * FLASH_COLUMN_SLOTS * FLASH_COLUMNS;
	const double record_bytes = (double)RECORD_BYTES;
	const double log = (double)r.log_writes * SEGMENT_PAGES * FLASH_PAGE_BYTES /
			   ((double)r.puts * record_bytes);
	const double data = (double)counter_read(&r.convert.counters[FLASH_CONVERT_PAGES]) *
			    FLASH_PAGE_BYTES / (items * record_bytes);

	for (uint64_t i = 0; i < n; i++)
		look(&r, i, &hits, false);
	for (uint64_t i = 0; i < ABSENT; i++)
		look(&r, (1ull << 40) + i, &misses, false);
	printf("items %llu, refused %llu, found %llu, in columns %llu\n", (unsigned long long)n,
	       (unsigned long long)r.refused, (unsigned long long)hits.found,
	       (unsigned long long)hits.in_columns);
	printf("hash_dram_bytes_per_item %.3f, occupancy %.4f\n",
	       (double)flash_columns_bytes(scale) / items, items / slots);
	printf("log_dram_bytes_per_item %.3f when it was fullest\n",
	       r.shard.index.bucket_count * sizeof(struct bucket) / r.fullest);
	printf("write_amplification by records: log %.4f, hash %.4f; by key + value %.4f, %.4f\n",
	       log, log + data, log * record_bytes / (KEY_BYTES + VALUE_BYTES),
	       (log + data) * record_bytes / (KEY_BYTES + VALUE_BYTES));
	printf("reads_per_hit %.4f, reads_per_miss %.4f\n", (double)hits.reads / (double)hits.found,
	       (double)misses.reads / ABSENT);
	printf("items converted a second of CPU: %.0f\n", items / r.seconds);
	check((double)hits.found >= (double)(n - r.refused) * 0.999);
	check((double)flash_columns_bytes(scale) / items <= 2.0);
	check(items / slots >= 0.92); /* a segment that does not fit is a 27th of a column */
	check(log + data <= 2.1);
	check((double)hits.reads / (double)hits.found <= 1.01);
	check((double)misses.reads / ABSENT <= 0.01);
	rig_down(&r);
}

TEST(what_was_used_comes_back_when_its_column_goes)
{
	const uint32_t columns = 3;
	struct looked used = {0}, again = {0}, others = {0};
	struct rig r;

	rig_up(&r, columns);

	uint64_t n = fill(&r, 0, 1);

	/* Items used here are in the first column. */
	for (uint64_t i = 0; i < items_max() * 9 / 10; i += USED_ONE_OF)
		look(&r, i, &used, true);
	n = fill(&r, n, columns + 1);
	for (uint64_t i = 0; i < items_max() * 9 / 10; i++)
		look(&r, i, i % USED_ONE_OF == 0 ? &again : &others, false);
	printf("used %llu, came back %llu, of others %llu\n", (unsigned long long)used.found,
	       (unsigned long long)again.found, (unsigned long long)others.found);
	check_eq(counted(&r, FLASH_COLUMNS_GONE), 1);
	check(again.found >= used.found * 8 / 10);
	check(others.found <= 2 * again.found);
	check_eq(again.in_columns + others.in_columns, 0);
	rig_down(&r);
}

TEST(what_a_column_has_can_be_erased_and_claimed)
{
	struct looked l = {0};
	struct rig r;

	rig_up(&r, 2);
	fill(&r, 0, 1);
	for (uint64_t i = 0; i < 200; i++) {
		check(look(&r, i, &l, false));

		const uint64_t tombs = counted(&r, FLASH_TOMBS);

		flash_shard_erase(&r.shard, hash_word(i, 7));
		check(!look(&r, i, &l, false));
		check_eq(counted(&r, FLASH_TOMBS), tombs); /* its column is kept as it is */
	}
	check_eq(l.in_columns, 200);
	flash_shard_flushed(&r.shard, 1);
	for (uint64_t i = 200; i < 400; i++)
		check(!look(&r, i, &l, false));
	rig_down(&r);
}

/* Clears the stack below, where the next callee has its variables. */
static __attribute__((noinline)) void
stack_clear(void)
{
	volatile uint8_t bytes[16384];

	for (uint32_t i = 0; i < sizeof bytes; i++)
		bytes[i] = 0;
}

/* An erasure must not trust rows that it has not compared, not even where the memory for them
 * holds the columns' sequence and no match. */
TEST(what_is_erased_is_looked_for_in_rows_of_now)
{
	struct looked l = {0};
	struct rig r;

	scale = FEW;
	rig_up(&r, 2);
	fill(&r, 0, 1);
	flash_shard_sweep(&r.shard); /* no lookup finds an entry of the log */
	for (uint64_t i = 0; i < USED_FEW; i++) {
		check(look(&r, i, &l, false));
		atomic_store(&r.shard.columns.kept->sequence, 0);
		stack_clear();
		flash_shard_erase(&r.shard, hash_word(i, 7));
		check(!look(&r, i, &l, false));
	}
	check_eq(l.in_columns, USED_FEW);
	rig_down(&r);
}

TEST(what_was_erased_of_a_column_is_not_claimed)
{
	struct rig r;

	scale = FEW;
	rig_up(&r, 2);
	fill(&r, 0, 1);
	for (uint64_t i = 0; i < USED_FEW; i++) {
		const uint64_t hash = hash_word(i, 7);
		struct flash_look l = {0};

		flash_look_begin(&r.shard, &l);
		check(flash_look_end(&r.shard, &l, hash));
		check(l.count == 1 && flash_is_in_column(&l.at[0]));
		check(flash_shard_claim(&r.shard, 0, hash, 0, &l.at[0]));
		flash_shard_claimed(&r.shard, hash);
		check(!flash_shard_claim(&r.shard, 0, hash, 0, &l.at[0]));
	}
	rig_down(&r);
}

TEST(a_flush_ends_the_column_that_is_made)
{
	struct looked l = {0};
	struct rig r;
	uint64_t n = 0;

	scale = FEW;
	rig_up(&r, 2);
	while ((r.convert.stage & 0xff) != FLASH_CONVERT_CHECK || r.convert.step == 0)
		put(&r, n++);
	flash_shard_flushed(&r.shard, 1);
	for (uint32_t i = 0; i < TRIES && (r.convert.stage & 0xff) == FLASH_CONVERT_CHECK; i++)
		pump(&r);
	for (uint64_t i = 0; i < n; i++)
		check(!look(&r, i, &l, false));
	rig_down(&r);
}

/* Pumps until the column's check has passed an item; returns that item's hash and its entry. */
static uint64_t
item_passed(struct rig *r, struct flash_candidate *at)
{
	struct flash_look l = {0};
	uint64_t n = 0, hash;

	while ((r->convert.stage & 0xff) != FLASH_CONVERT_CHECK || r->convert.step == 0)
		put(r, n++);
	hash = r->convert.items[0].hash;
	flash_look_begin(&r->shard, &l);
	check(flash_look_end(&r->shard, &l, hash));
	check(l.count == 1 && !flash_is_in_column(&l.at[0]));
	*at = l.at[0];
	return hash;
}

/* Erases the item, and pumps until the column is shown or given up: the item must not be in it. */
static void
erased_stays_away(struct rig *r, uint64_t hash)
{
	struct flash_look l = {0};

	flash_shard_erase(&r->shard, hash);
	for (uint32_t i = 0; i < TRIES && (r->convert.stage & 0xff) == FLASH_CONVERT_CHECK; i++)
		pump(r);
	flash_look_begin(&r->shard, &l);
	check(flash_look_end(&r->shard, &l, hash));
	check_eq(l.count, 0);
}

TEST(an_item_whose_segment_is_given_up_does_not_come_back_with_the_column)
{
	struct flash_candidate at;
	struct rig r;
	uint64_t hash;

	scale = FEW;
	rig_up(&r, 2);
	hash = item_passed(&r, &at);
	for (uint32_t i = 0; i < FLASH_BAD_ERRORS; i++)
		flash_shard_unreadable(&r.shard, &at);
	erased_stays_away(&r, hash);
	check_eq(counted(&r, FLASH_COLUMNS_MADE), 0);
	rig_down(&r);
}

TEST(an_item_whose_segment_the_log_drops_does_not_come_back_with_the_column)
{
	struct flash_candidate at;
	uint64_t n = 1u << 30, hash;
	uint32_t stage;
	struct rig r;

	scale = FEW;
	rig_up(&r, 2);
	hash = item_passed(&r, &at);
	stage = r.convert.stage;
	r.convert.stage = stage + 0x100; /* another shard's, so that nothing is done */
	for (uint32_t i = 0; i < TRIES && flash_log_live(&r.shard.log, at.location) != 0; i++)
		put(&r, n++);
	r.convert.stage = stage;
	check_eq(flash_log_live(&r.shard.log, at.location), 0);
	erased_stays_away(&r, hash);
	check_eq(counted(&r, FLASH_COLUMNS_MADE), 1);
	rig_down(&r);
}

TEST(a_look_beside_a_conversion_finds_what_is_converted)
{
	struct rig r;

	scale = FEW;
	rig_up(&r, 2);
	between.n = 0;
	for (uint64_t n = 0; counted(&r, FLASH_COLUMNS_MADE) < 1; n++) {
		put(&r, n);
		/* By now all items of the lookups are in the log or a column. */
		between.r = n > items_max() && r.refused == 0 ? &r : NULL;
		pump(&r);
		between.r = NULL;
	}
	check(between.gaps > 100);
	check_eq(between.missed, 0);
	rig_down(&r);
}

TEST(a_look_beside_which_a_column_goes_finds_what_came_back_or_begins_again)
{
	struct looked used = {0}, now = {0};
	uint64_t begun_again = 0;
	struct rig r;

	scale = FEW;
	rig_up(&r, 1);

	uint64_t n = fill(&r, 0, 1);

	for (uint64_t i = 0; i < USED_FEW; i++)
		check(look(&r, i, &used, true));
	while ((r.convert.stage & 0xff) < FLASH_CONVERT_OLD)
		put(&r, n++);
	for (uint64_t i = 0; i < USED_FEW && between.missed == 0; i++) {
		struct flash_look l = {0};

		flash_look_begin(&r.shard, &l);
		between.r = &r;
		between.pumps = i == 0;

		const bool final = flash_look_end(&r.shard, &l, hash_word(i, 7));

		between.r = NULL;
		begun_again += !final;
		check(!final || l.count != 0);
		check(look(&r, i, &now, false));
	}
	check_eq(begun_again, 1);
	check_eq(now.in_columns, 0);
	rig_down(&r);
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		scale = 1u << 14;
	return tests_run(NULL, NULL);
}

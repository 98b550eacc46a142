/*
 * A shard after a restart. Goal: an item that was left whole is found whole; an item that a
 * restart cannot keep does not reappear at the next; a superblock torn at any sector is the one
 * before, and a start is warm only if it may be; a device of any size is divided; enough errors
 * turn a device off. Method: a shard on a device of memory, small; starts by a table.
 * tests/stress/stress_tier kills at any gap.
 */
#include "support/test.h"
#include "flash_hash.h"
#include "flash/flash_fault.h"
#include "flash/flash_plan.h"
#include "flash/flash_recover.h"
#include "flash/flash_super.h"
#include "sim/mem_flash.h"

#include <errno.h>
#include <stdlib.h>

#define PAGES    3u
#define SEGMENTS 8u
#define LARGE    64u /* buckets */
#define SMALL    16u
#define KEYS     240u
#define HALF     100u
#define TEARS    300u

static struct flash_shard shard;
static struct flash_kept kept;
static struct flash_intents intents;
static struct bucket buckets[LARGE];
static _Alignas(FLASH_PAGE_BYTES) uint8_t pages[FLASH_BUFFERS * PAGES * FLASH_PAGE_BYTES];
static _Alignas(FLASH_PAGE_BYTES) uint8_t memory[2 * PAGES * FLASH_PAGE_BYTES];
static _Alignas(FLASH_PAGE_BYTES) uint8_t copies[2 * FLASH_SUPER_BYTES];
static struct mem_flash device;

static void
tick(void *arg)
{
	mem_flash_tick(&device, device.now_ns + 1);
}

static const struct flash_recover_config how = {.device = &device.device,
						.memory = memory,
						.depth = 2,
						.shards = 1,
						.hash = hash_of,
						.wait = tick};

static struct flash_recovered
start_by(const struct flash_recover_config *by, uint32_t bucket_count)
{
	const struct flash_shard_config c = {
		.log = {.segments = SEGMENTS, .segment_pages = PAGES, .live = SEGMENTS - 2},
		.buckets = buckets,
		.bucket_count = bucket_count,
		.kept = &kept,
		.intents = &intents,
		.pages = pages};

	memset(buckets, 0, sizeof buckets);
	memset(&intents, 0, sizeof intents);
	return flash_shard_recover(&shard, &c, by);
}

static struct flash_recovered
start(uint32_t bucket_count)
{
	return start_by(&how, bucket_count);
}

SETUP(setup)
{
	if (device.now != NULL)
		mem_flash_close(&device);
	mem_flash_open(&device, SEGMENTS * PAGES * FLASH_PAGE_BYTES, 4, 1);
	memset(&kept, 0, sizeof kept);
	memset(pages, 0, sizeof pages);
	start(LARGE);
}

/* Puts a record. A full segment is written when another one is needed. */
static bool
try_put(uint32_t n, uint32_t value_len)
{
	const struct flash_record record = {
		.kind = FLASH_PUT, .key = {(const uint8_t *)&n, sizeof n}, .value_len = value_len};
	struct flash_reserved r;
	struct flash_io io;
	struct flash_result ended;

	if (flash_log_write(&shard.log, &io)) {
		check_eq(device.device.ops->submit(&device.device, &io, 1), 1);
		check_eq(device.device.ops->poll(&device.device, &ended, 1), 1);
		flash_log_wrote(&shard.log, (uint32_t)ended.tag, ended.error);
		flash_shard_turn(&shard);
	}
	check(flash_shard_reserve(&shard, &record, &r));

	const bool there = flash_shard_put(&shard, 0, hash_of_number(n), &r, 0, 0);

	flash_log_release(&shard.log, &r);
	return there;
}

static void
put(uint32_t n, uint32_t value_len)
{
	check(try_put(n, value_len));
}

static bool
has(uint32_t n)
{
	struct flash_look l = {0};

	flash_look_begin(&shard, &l);
	check(flash_look_end(&shard, &l, hash_of_number(n)));
	return l.count != 0;
}

TEST(what_left_is_found_whole)
{
	for (uint32_t n = 0; n < KEYS; n++)
		put(n, 20);
	flash_shard_erase(&shard, hash_of_number(3));
	check(flash_shard_leave(&shard, &how));

	/* Buffers are lost: only the superblock's values are known. */
	const struct flash_kept left = {.head = kept.head, .first = kept.first};

	memset(pages, 0xaa, sizeof pages);
	memcpy(&kept, &left, sizeof kept);

	const struct flash_recovered r = start(LARGE);

	check_eq(r.puts, KEYS);
	check_eq(r.bad, 0);
	for (uint32_t n = 0; n < KEYS; n++)
		check_eq(has(n), n != 3);
}

TEST(what_was_forgotten_whole_does_not_come_back)
{
	for (uint32_t n = 0; n < KEYS; n++)
		put(n, 20);
	kept.unjournaled = 1;
	check_eq(start(LARGE).puts, 0);
	put(KEYS, 20);
	check_eq(start(LARGE).puts, 1);
	check(has(KEYS));
	check(!has(0));
}

TEST(a_buffer_that_cannot_be_written_makes_it_cold)
{
	put(1, 20);
	device.faults.write_errors = 1000000;
	check_eq(start(LARGE).puts, 0);
	device.faults.write_errors = 0;
	check_eq(start(LARGE).puts, 0);
	check(!has(1));
}

/* Ends the write of the open segment with an error. */
static void
lose_segment(void)
{
	struct flash_result ended;
	struct flash_io io;

	flash_log_close(&shard.log);
	check(flash_log_write(&shard.log, &io));
	check_eq(device.device.ops->submit(&device.device, &io, 1), 1);
	check_eq(device.device.ops->poll(&device.device, &ended, 1), 1);
	flash_log_wrote(&shard.log, (uint32_t)io.tag, -5);
	flash_shard_turn(&shard);
}

/* Half of the records are dead by the log, and the restart has no room for all of the others. */
TEST(what_the_index_has_no_room_for_does_not_come_back)
{
	bool there[KEYS];
	uint32_t gone = 0;

	start(SMALL);
	for (uint32_t n = 0; n < HALF; n++)
		put(n, 20);
	lose_segment();
	for (uint32_t i = 0; i < 4; i++) /* turns sweep the lost segment */
		flash_shard_turn(&shard);
	for (uint32_t n = HALF; n < KEYS; n++)
		put(n, 20);

	const struct flash_recovered r = start(SMALL);

	check_eq(r.puts, KEYS);
	check(r.unindexed > 0);
	for (uint32_t n = 0; n < KEYS; n++)
		gone += !(there[n] = has(n));
	check(gone > HALF);
	/* The lost segment leaves the log; then there would be room. */
	for (uint32_t i = 0; i < SEGMENTS - 5; i++) {
		flash_log_close(&shard.log);
		try_put(KEYS + i, 20);
	}
	check_eq(start(SMALL).unindexed, 0);
	for (uint32_t n = 0; n < KEYS; n++)
		if (!there[n] && has(n))
			fail_msg("%u", n);
}

static bool
count_down(void *left, uint32_t done, uint32_t all)
{
	uint32_t *n = left;

	check(done <= all);
	return (*n)-- != 0;
}

/* A recovery may stop at any moment: the next one finds what is kept. */
TEST(a_recovery_that_is_stopped_can_be_done_again)
{
	struct flash_recover_config stops = how;
	struct flash_recovered r = {.stopped = true};
	struct flash_result ended;
	uint32_t stopped = 0;

	stops.go_on = count_down;
	for (; r.stopped; stopped++) {
		uint32_t left = stopped;

		setup();
		for (uint32_t n = 0; n < KEYS; n++)
			put(n, 100);
		flash_shard_erase(&shard, hash_of_number(3));
		stops.go_on_arg = &left;
		r = start_by(&stops, LARGE);
		check(!r.hangs);
		tick(NULL);
		check_eq(device.device.ops->poll(&device.device, &ended, 1), 0);
		check_eq(start(LARGE).puts, KEYS);
		for (uint32_t n = 0; n < KEYS; n++)
			check_eq(has(n), n != 3);
	}
	check(stopped > 5);
}

TEST(a_recovery_of_a_device_that_hangs_can_be_stopped)
{
	struct flash_recover_config stops = how;
	uint32_t left = 50;

	put(1, 20);
	stops.go_on = count_down;
	stops.go_on_arg = &left;
	device.faults.hangs = 1000000;

	const struct flash_recovered r = start_by(&stops, LARGE);

	check(r.stopped);
	check(r.hangs);
	device.faults.hangs = 0;
}

TEST(a_bad_segment_takes_those_before_it_for_good)
{
	uint8_t *byte;

	for (uint32_t n = 0; n < 3; n++) {
		put(n, 20);
		check_eq(start(LARGE).bad, 0);
	}
	/* A byte of the second segment is wrong in one restart and right in the next. */
	byte = device.now +
	       (flash_slot(&shard.log, shard.log.head - 2) * PAGES + 1) * FLASH_PAGE_BYTES;
	byte[100] ^= 1;
	check_eq(start(LARGE).bad, 1);
	check(!has(0));
	check(!has(1));
	check(has(2));
	byte[100] ^= 1;
	check_eq(start(LARGE).bad, 0);
	check(!has(0));
	check(!has(1));
	check(has(2));
}

/* Reports read errors of the item's segment until the shard gives the segment up. */
static void
give_up_segment_of(uint32_t n)
{
	struct flash_look l = {0};

	flash_look_begin(&shard, &l);
	check(flash_look_end(&shard, &l, hash_of_number(n)));
	check_eq(l.count, 1);
	for (uint32_t i = 0; i < FLASH_BAD_ERRORS; i++) {
		check(has(n));
		flash_shard_unreadable(&shard, &l.at[0]);
	}
	check(!has(n));
	flash_shard_unreadable(&shard, &l.at[0]);
	check_eq(counter_read(&shard.counters[FLASH_SEGMENTS_GIVEN_UP]), 1);
}

TEST(what_a_segment_given_up_shadowed_stays_gone)
{
	for (uint32_t readable = 0; readable < 2; readable++) {
		setup();
		put(0, 20);
		put(1, 20);
		start(LARGE);
		flash_shard_erase(&shard, hash_of_number(0));
		put(2, 20);
		start(LARGE);
		check(has(1) && has(2));
		give_up_segment_of(2);
		check(has(1));
		start(LARGE);
		check_eq(has(1), true);
		if (!readable)
			device.now[(flash_slot(&shard.log, shard.log.head - 2) * PAGES + 1) *
					   FLASH_PAGE_BYTES +
				   100] ^= 1;
		check_eq(start(LARGE).bad, !readable);
		check_eq(has(1), readable);
		check(!has(0));
		check(!has(2));
	}
}

TEST(a_device_is_turned_off_when_it_is_enough, no_setup)
{
	static const struct {
		const char
			*ends; /* a letter for each end: ok, error, gone (g), or ten times ok (t) */
		bool writes;
		enum flash_off off;
	} rows[] = {
		{"eeeeeeeeeeeeeee", false, FLASH_ON},
		{"eeeeeeeeeeeeeeee", false, FLASH_OFF_READS},
		{"eeeeeeeeeeeeeeeoeeeeeeeeeeeeeee", false, FLASH_ON},
		{"og", false, FLASH_OFF_GONE},
		{"og", true, FLASH_OFF_GONE},
		{"eeeeeeeeeeeeeee", true, FLASH_ON},
		{"eeeeeeeeeeeeeeee", true, FLASH_OFF_WRITES},
		{"etetetetetetetetetetetetetetet", true, FLASH_ON},
		{"etetetetetetetetetetetetetetete", true, FLASH_OFF_WRITES},
		/* An error in every 21 ends is allowed: the device stays on before and after the
		 * window halves. */
		{"ettettettettettettettettettettettettettettettettettettettettettettettettett",
		 true, FLASH_ON},
		{"eeeeeeeeeeeeeeeeg", true, FLASH_OFF_WRITES}, /* the first reason stays */
	};

	for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct flash_health h = {FLASH_ON};
		struct flash_ends e = {0};

		for (const char *end = rows[i].ends; *end != '\0'; end++)
			for (uint32_t n = 0; n < (*end == 't' ? 10u : 1u); n++)
				flash_health_ended(&h, &e, rows[i].writes,
						   *end == 'e'   ? -EIO
						   : *end == 'g' ? -ENODEV
								 : 0);
		if (flash_health_off(&h) != rows[i].off)
			fail_msg("%s: %s", rows[i].ends,
				 flash_off_names[flash_health_off(&h)].words);
	}
}

static int32_t
write_super(const struct flash_super *super, bool syncs)
{
	static _Alignas(FLASH_PAGE_BYTES) uint8_t page[FLASH_SUPER_BYTES];
	const uint64_t offset = flash_super_write(page, super);
	const struct flash_io ios[] = {
		{.offset = offset, .data = page, .len = sizeof page, .kind = FLASH_WRITE},
		{.kind = FLASH_SYNC}};
	struct flash_result ended;

	for (uint32_t i = 0; i < (syncs ? 2u : 1u); i++) {
		check_eq(device.device.ops->submit(&device.device, &ios[i], 1), 1);
		check_eq(device.device.ops->poll(&device.device, &ended, 1), 1);
		check_eq(ended.error, 0);
	}
	return ended.error;
}

TEST(a_torn_superblock_is_the_one_before)
{
	struct flash_super s = {.clean = 1, .layout = {.device = 5}}, found;
	uint32_t old = 0;

	memset(copies, 0, sizeof copies);
	check(!flash_super_read(copies, &found));
	write_super(&s, true);
	for (uint32_t i = 0; i < TEARS; i++) {
		s.counter++;
		s.clean ^= 1;
		s.shard[FLASH_SHARDS_MAX - 1].head = s.counter;
		write_super(&s, false);
		mem_flash_cut(&device);
		memcpy(copies, device.now, sizeof copies);
		check(flash_super_read(copies, &found));
		check(found.counter == s.counter || found.counter + 1 == s.counter);
		check_eq(found.shard[FLASH_SHARDS_MAX - 1].head, found.counter);
		old += found.counter != s.counter;
		s = found;
	}
	check(old > TEARS / 10);
	check(old < TEARS);
}

/* Changes the field that the row's `other` names. */
static void
alter(struct flash_super *super, struct flash_state_id *state, uint32_t other)
{
	super->layout.device += other == 1;
	super->layout.seed += other == 2;
	super->layout.segments += other == 3;
	state->layout.seed += other == 4;
	super->shard[1].head = 50;
	super->shard[1].first = 40;
	if (other == 5)
		super->shard[0] = (typeof(super->shard[0])){.head = UINT64_MAX};
	if (other == 6)
		super->shard[1].first = 52;
}

/* Checks where the second shard's log continues. */
static void
check_kept(enum flash_start start, const struct flash_super *super)
{
	struct flash_kept k = {.head = 70, .first = 60};

	flash_start_kept(start, super, 1, 1000, &k);
	if (start == FLASH_FROM_STATE)
		check_eq(k.head, 70);
	else if (start == FLASH_FROM_CLEAN)
		check(k.head == 50 && k.first == 40);
	else
		check(k.first == k.head + 1 && k.head > 1000);
}

TEST(a_start_is_warm_only_if_it_may_be, no_setup)
{
	const struct flash_layout mine = {.device = 1,
					  .seed = 2,
					  .shards = 3,
					  .segments = 8,
					  .segment_pages = 512,
					  .buckets = 16};
	const struct {
		const char *words; /* the reason of a cold start */
		enum flash_start start;
		uint32_t clean;
		uint64_t state_incarnation; /* 9 is the superblock's */
		const char *gap_words;
		bool no_super;
		uint32_t other; /* of the superblock: device, seed, segments; of the state: seed */
		bool has_store;
		struct flash_served store;
	} rows[] = {
		{"", FLASH_FROM_CLEAN, .clean = 1},
		{"", FLASH_FROM_CLEAN, .clean = 1,
		 .state_incarnation = 8}, /* an older state is present */
		{"", FLASH_FROM_CLEAN, .clean = 1, .has_store = true, .store = {1, 9}},
		{"", FLASH_FROM_STATE, .state_incarnation = 9},
		{"", FLASH_FROM_STATE, .state_incarnation = 9, .has_store = true, .store = {1, 9}},
		{"killed, and of flash.state nothing is kept: no file", FLASH_COLD, .clean = 0,
		 .state_incarnation = 0},
		{"nothing is kept: it is of another process", FLASH_COLD, .clean = 0,
		 .state_incarnation = 8},
		{"nothing is kept: it is of another process", FLASH_COLD, .clean = 0,
		 .state_incarnation = 9, .other = 4},
		{"too long ago", FLASH_COLD, .clean = 1, .state_incarnation = 9,
		 .gap_words = "too long ago"},
		{"it is new", FLASH_COLD, .clean = 1, .state_incarnation = 9, .no_super = true},
		{"another device", FLASH_COLD, .clean = 1, .state_incarnation = 9, .other = 1},
		{"another hash", FLASH_COLD, .clean = 1, .state_incarnation = 9, .other = 2},
		{"another flash.size", FLASH_COLD, .clean = 1, .state_incarnation = 9, .other = 3},
		{"its numbers are damaged", FLASH_COLD, .clean = 1, .other = 5},
		{"its numbers are damaged", FLASH_COLD, .clean = 1, .other = 6},
		{"served without it", FLASH_COLD, .clean = 1, .has_store = true},
		{"served without it", FLASH_COLD, .clean = 1, .has_store = true, .store = {1, 8}},
		{"served without it", FLASH_COLD, .clean = 0, .state_incarnation = 9,
		 .has_store = true, .store = {2, 9}},
	};

	for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct flash_super super = {
			.incarnation = 9, .clean = rows[i].clean, .layout = mine};
		struct flash_state_id state = {.incarnation = rows[i].state_incarnation,
					       .layout = mine};
		const struct flash_before before = {
			.super = rows[i].no_super ? NULL : &super,
			.state = &state,
			.state_words = "no file",
			.gap_words = rows[i].gap_words != NULL ? rows[i].gap_words : "",
			.has_store = rows[i].has_store,
			.store = rows[i].store};
		char words[FLASH_START_WORDS];

		alter(&super, &state, rows[i].other);
		if (flash_start_of(&before, &mine, words) != rows[i].start ||
		    (words[0] == '\0') != (rows[i].words[0] == '\0') ||
		    strstr(words, rows[i].words) == NULL)
			fail_msg("%u: %s", i, words);
		check_kept(rows[i].start, &super);
	}
}

#define GB (1ull << 30)

TEST(a_device_of_any_size_is_divided, no_setup)
{
	static const struct {
		uint64_t bytes;
		uint32_t shards, segments, live;
	} rows[] = {
		{FLASH_PLAN_MIN, 1, 127, 120},
		{FLASH_PLAN_MIN + FLASH_SEGMENT_BYTES - 1, 1, 127, 120},
		{2 * GB, 1, 1023, 960},
		{16 * GB - 1, 1, 8190, 7679},
		{16 * GB, 2, 4095, 3840},
		{64 * GB, 8, 4095, 3840},
		{512 * GB, 64, 4095, 3840},
		{FLASH_PLAN_MAX, 64, FLASH_SLOTS_MAX - 1, 15360},
	};

	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		for (uint32_t item = 64; item <= 65536; item *= 4) {
			const uint64_t slot = FLASH_SEGMENT_BYTES;
			struct flash_plan p;

			flash_plan_make(&p, rows[i].bytes,
					&(struct config_flash){.layout = FLASH_LAYOUT_LOG,
							       .item_size = item});
			check_eq(p.shards, rows[i].shards);
			check_eq(p.log[0].segments, rows[i].segments);
			check_eq(p.log[0].live, rows[i].live);
			check_eq(flash_plan_offset(&p, 0), slot);
			check_eq(flash_plan_offset(&p, 1), (1 + p.log[0].segments) * slot);
			check(flash_plan_offset(&p, p.shards) <= rows[i].bytes);
			check(p.items * item <= rows[i].bytes);
			/* The index has slots for the items at 98.6 % load, and hardly more. */
			check(p.items * 1000 / 986 <=
			      (uint64_t)p.shards * (p.log[0].buckets + 2) * 10);
			check(item > 16384 ||
			      (double)flash_plan_index_bytes(&p) / (double)p.items < 6.6);
		}
}

int
main(void)
{
	const int failed = tests_run(NULL, NULL);

	mem_flash_close(&device);
	return failed;
}

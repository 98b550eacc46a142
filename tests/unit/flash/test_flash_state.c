/*
 * flash.state. Goal: the next process finds what a killed one left, except for what cannot be
 * trusted, each with one line; records in buffers are found again, and erased ones are not.
 * Method: a file on a tmpfs, opened twice; before the second time the file or the machine has
 * changed. A shard over it on a device of memory.
 */
#include "flash_hash.h"
#include "flash/flash_recover.h"
#include "flash/flash_state.h"
#include "sim/mem_flash.h"
#include "image/store_image.h"
#include "support/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define TMPFS    "/dev/shm"
#define SHARDS   2u
#define PAGES    3u
#define SEGMENTS 8u
#define BUCKETS  64u
#define KEYS     400u
#define ROWS     8192u /* bytes of columns' rows */
#define HEAD_AT  8192  /* offset in the file: after the page */
#define S        1000000000ull
#define BOOT     (1000 * S)

static char folder[64], path[96];

#define AT_KILL                                                                                    \
	{                                                                                          \
		BOOT, 5 * BOOT, "here"                                                             \
	} /* a constant also for clang, which accepts no object as one */

static const struct gap_now at_kill = AT_KILL;

static const struct flash_state_id mine = {
	.incarnation = 7,
	.layout = {.device = 1, .seed = 2, .shards = SHARDS, .segments = SEGMENTS}};

static void
make_folder(void)
{
	snprintf(folder, sizeof folder, TMPFS "/clockoo-test-XXXXXX");
	check_ptr(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/state", folder);
}

static void
remove_folder(void)
{
	check_eq(rmdir(folder), 0);
}

TEARDOWN(remove_file)
{
	unlink(path);
}

static struct flash_state_config
config(void)
{
	return (struct flash_state_config){.path = path,
					   .shards = SHARDS,
					   .segment_pages = PAGES,
					   .rows_bytes = ROWS,
					   .other_uid = MEMORY_FILE_NO_UID,
					   .keep_for_s = 60,
					   .pid = 4711};
}

static void
open_at(struct flash_state *s, const struct gap_now *now)
{
	const struct flash_state_config c = config();
	struct error err;

	if (!flash_state_open(s, &c, now, &err))
		fail_msg("%s", err.text);
}

static void
begin(struct flash_state *s)
{
	const struct beat beat = {BOOT, 5 * BOOT, 100 * S, BOOT};

	flash_state_begin(s, &mine, &at_kill, 155); /* the file is whole from this call on */
	flash_state_beat(s, &beat);
}

/* Leaves the file as a killed process does. */
static void
leave_killed(void)
{
	struct flash_state s;

	open_at(&s, &at_kill);
	begin(&s);
	s.kept[1].head = 9;
	s.kept[1].first = 3;
	s.intents->hash[2] = 77;
	memset(s.pages, 0x5a, s.pages_bytes);
	memset(s.rows, 0x3c, ROWS);
	flash_state_close(&s);
}

TEST(a_killed_process_leaves_all_of_it)
{
	struct flash_state s;

	for (uint32_t i = 0; i < 2; i++) { /* the next process, and the one after that */
		leave_killed();
		open_at(&s, &at_kill);
		check_str(s.words, "");
		check_eq(s.id.incarnation, 7);
		check_eq(memcmp(&s.id.layout, &mine.layout, sizeof mine.layout), 0);
		check_eq(s.kept[1].head, 9);
		check_eq(s.kept[1].first, 3);
		check_eq(s.intents->hash[2], 77);
		check_eq(s.pages_bytes, SHARDS * FLASH_BUFFERS * PAGES * FLASH_PAGE_BYTES);
		check_eq(s.pages[s.pages_bytes - 1], 0x5a);
		check_eq((uintptr_t)s.rows % FLASH_PAGE_BYTES, 0);
		check_eq(s.rows[0] + s.rows[ROWS - 1], 2 * 0x3c);
		check_eq(s.flush_due, 155);
		check_eq(s.gap.store_ns, 100 * S);
		begin(&s);
		flash_state_close(&s);
	}
}

/* A start that is refused or stopped counts as no crash. */
TEST(a_start_that_ends_by_itself_keeps_it)
{
	struct flash_state s;

	leave_killed();
	for (uint32_t i = 0; i <= CRASHES_MAX; i++) {
		open_at(&s, &at_kill);
		check_str(s.words, "");
		check_eq(s.id.incarnation, 7);
		flash_state_close(&s);
	}
}

TEST(a_delayed_flush_is_kept_until_it_was_due)
{
	const struct beat later = {BOOT, 5 * BOOT, 156 * S, BOOT};
	struct flash_state s;

	open_at(&s, &at_kill);
	begin(&s);
	check_eq(*s.due, 155);
	flash_state_beat(&s, &later);
	check_eq(*s.due, 0);
	flash_state_close(&s);
}

/* ---- states that are not kept ---- */

static void
poke(size_t at, const void *bytes, size_t len)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);

	check(pwrite(fd, bytes, len, (off_t)at) == (ssize_t)len);
	close(fd);
}

static void
poke_word(size_t at, uint64_t word)
{
	poke(at, &word, sizeof word);
}

static void
leave_graceful(void)
{
	struct flash_state s;

	open_at(&s, &at_kill);
	flash_state_end(&s);
	flash_state_close(&s);
}

static void
leave_amid_start(void)
{
	struct flash_state s;

	open_at(&s, &at_kill);
	flash_state_forget(&s);
	flash_state_close(&s);
}

/* Starts three times and is killed each time. */
static void
crash_at_starts(void)
{
	struct flash_state s;

	for (uint32_t i = 0; i < CRASHES_MAX; i++) {
		open_at(&s, &at_kill);
		check_eq(s.id.incarnation, 7);
		memory_file_close(&s.file);
	}
}

static void
change_long_ago(void)
{
	poke_word(MEMORY_PAGE_BYTES + offsetof(struct memory_page, changed_ns), 1);
}

static void
damage_numbers(void)
{
	struct flash_state s;

	open_at(&s, &at_kill);
	s.kept[1].first = s.kept[1].head + 2;
	flash_state_close(&s);
}

static void
cut(void)
{
	check_eq(truncate(path, 16384), 0);
}

static void
nothing(void)
{
}

TEST(what_may_not_be_believed_is_not_kept)
{
	static const struct {
		void (*happens)(void);
		struct gap_now now;
		const char *words;
	} rows[] = {
		{nothing, {BOOT + 61 * S, 5 * BOOT + 61 * S, "here"}, "has not served for 61.0 s"},
		{nothing, {BOOT, 5 * BOOT, "there"}, "the machine has been started since"},
		{nothing, {BOOT, 5 * BOOT + 9 * S, "here"}, "the wall clock moved by +9 s"},
		{leave_graceful, AT_KILL, "had not begun to serve, or has ended"},
		{leave_amid_start, AT_KILL, "nothing whole lies there"},
		{crash_at_starts, AT_KILL, "3 crashes with the kept memory"},
		{change_long_ago, AT_KILL, "its file was changed"},
		{damage_numbers, AT_KILL, "its numbers are damaged"},
		{cut, AT_KILL, "it had 16 KB, and"},
	};

	for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct flash_state s;

		unlink(path);
		leave_killed();
		rows[i].happens();
		open_at(&s, &rows[i].now);
		if (strstr(s.words, rows[i].words) == NULL || strchr(s.words, '\n') != NULL)
			fail_msg("%u: %s", i, s.words);
		check_eq(s.id.incarnation, 0);
		check_eq(s.kept[1].head, 0);
		check_eq(s.intents->hash[2], 0);
		begin(&s);
		flash_state_close(&s);
		open_at(&s, &at_kill); /* the new process continues from there */
		check_eq(s.id.incarnation, 7);
		flash_state_close(&s);
	}
}

TEST(an_altered_byte_of_its_head_is_seen)
{
	const uint32_t bytes = sizeof(struct flash_state_id) + 16;

	for (uint32_t at = 0; at < bytes; at++) {
		struct flash_state s;
		uint8_t byte;
		int fd;

		leave_killed();
		fd = open(path, O_RDONLY | O_CLOEXEC);
		check(pread(fd, &byte, 1, HEAD_AT + at) == 1);
		close(fd);
		byte ^= 0x10;
		poke(HEAD_AT + at, &byte, 1);
		open_at(&s, &at_kill);
		if (s.id.incarnation != 0 || strcmp(s.words, "it is damaged") != 0)
			fail_msg("%u: %s", at, s.words);
		flash_state_close(&s);
	}
}

static void
check_refused(const char *words)
{
	const struct flash_state_config c = config();
	struct flash_state s;
	struct error err;

	check(!flash_state_open(&s, &c, &at_kill, &err));
	if (strncmp(err.text, "--flash-state: ", 15) != 0 || strstr(err.text, words) == NULL)
		fail_msg("%s", err.text);
}

TEST(what_others_have_or_may_open_is_refused)
{
	struct flash_state s;

	leave_killed();
	chmod(path, 0644);
	check_refused("others may open it; chmod 600");
	chmod(path, 0600);
	open_at(&s, &at_kill);
	check_refused("in use by process 4711");
	flash_state_close(&s);
	poke_word(0, STORE_IMAGE_MAGIC); /* the magic of an instance's memory.file */
	check_refused("another option has its memory there");
	poke_word(0, 1);
	poke_word(MEMORY_PAGE_BYTES, 1);
	check_refused("not a memory file of clockoo's");
}

TEST(without_a_path_it_is_memory, no_setup)
{
	struct flash_state_config c = config();
	struct flash_state s;
	struct error err;

	c.path = NULL;
	check(flash_state_open(&s, &c, &at_kill, &err));
	check_str(s.words, "flash.state names no file");
	begin(&s);
	memset(s.pages, 1, s.pages_bytes);
	memset(s.rows, 1, ROWS);
	flash_state_end(&s);
	flash_state_close(&s);
}

/* ---- a shard over it ---- */

static struct mem_flash device;
static struct bucket buckets[BUCKETS];
static _Alignas(FLASH_PAGE_BYTES) uint8_t memory[2 * PAGES * FLASH_PAGE_BYTES];

static void
tick(void *arg)
{
	mem_flash_tick(&device, device.now_ns + 1);
}

static struct flash_recovered
recover(struct flash_state *s, struct flash_shard *shard)
{
	const struct flash_recover_config how = {.device = &device.device,
						 .memory = memory,
						 .depth = 2,
						 .shards = 1,
						 .hash = hash_of,
						 .wait = tick};
	const struct flash_shard_config c = {
		.log = {.segments = SEGMENTS, .segment_pages = PAGES, .live = SEGMENTS - 2},
		.buckets = buckets,
		.bucket_count = BUCKETS,
		.kept = s->kept,
		.intents = s->intents,
		.pages = s->pages};

	memset(buckets, 0, sizeof buckets);
	return flash_shard_recover(shard, &c, &how);
}

static void
put(struct flash_shard *shard, uint32_t n)
{
	const struct flash_record record = {
		.kind = FLASH_PUT, .key = {(const uint8_t *)&n, sizeof n}, .value_len = 20};
	struct flash_reserved r;
	struct flash_io io;
	struct flash_result ended;

	if (flash_log_write(&shard->log, &io)) {
		check_eq(device.device.ops->submit(&device.device, &io, 1), 1);
		check_eq(device.device.ops->poll(&device.device, &ended, 1), 1);
		flash_log_wrote(&shard->log, (uint32_t)ended.tag, ended.error);
		flash_shard_turn(shard);
	}
	check(flash_shard_reserve(shard, &record, &r));
	check(flash_shard_put(shard, 0, hash_of_number(n), &r, 0, 0));
	flash_log_release(&shard->log, &r);
}

static void
fill_and_kill(void)
{
	struct flash_shard shard;
	struct flash_state s;

	unlink(path);
	mem_flash_open(&device, SEGMENTS * PAGES * FLASH_PAGE_BYTES, 4, 1);
	open_at(&s, &at_kill);
	recover(&s, &shard);
	begin(&s);
	for (uint32_t n = 0; n < KEYS; n++)
		put(&shard, n);
	flash_shard_erase(&shard, hash_of_number(3));
	check(s.kept[0].sequence[0] != 0 || s.kept[0].sequence[1] != 0);
	check(device.writes > 0); /* some of them are on flash */
	s.intents->hash[0] = hash_of_number(4);
	flash_state_close(&s);
}

TEST(records_of_buffers_are_there_again)
{
	struct flash_shard shard;
	struct flash_state s;

	fill_and_kill();
	open_at(&s, &at_kill);
	check_eq(recover(&s, &shard).puts, KEYS);
	for (uint32_t n = 0; n < KEYS; n++)
		check_eq(flash_may_have(&shard, hash_of_number(n)), n != 3 && n != 4);
	flash_state_close(&s);
	mem_flash_close(&device);
}

/* Buffers with any word of a page's head altered are forgotten. */
TEST(buffers_that_no_process_left_are_forgotten)
{
	static const uint16_t words[] = {0xfff0, FLASH_PAYLOAD_BYTES + 1, 0x1001};

	for (uint32_t i = 0; i < 2 * sizeof words / sizeof *words; i++) {
		const uint32_t buffers = FLASH_BUFFERS;
		struct flash_shard shard;
		struct flash_state s;

		fill_and_kill();
		open_at(&s, &at_kill);
		for (uint32_t b = 0; b < buffers; b++)
			for (uint32_t p = 1; p < PAGES; p++)
				memcpy(s.pages + (b * PAGES + p) * FLASH_PAGE_BYTES +
					       (i % 2 == 0 ? offsetof(struct flash_page, used)
							   : offsetof(struct flash_page, first)),
				       &words[i / 2], sizeof *words);
		check_eq(recover(&s, &shard).puts, 0);
		check_eq(recover(&s, &shard).puts, 0);
		flash_state_close(&s);
		mem_flash_close(&device);
	}
}

int
main(void)
{
	return tests_run(make_folder, remove_folder);
}

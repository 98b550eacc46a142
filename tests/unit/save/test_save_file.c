/*
 * A saved file's life. Goal: a file is loaded once; a file that must not be loaded is recognized,
 * with a reason; the gap is judged by the clocks that can measure it; a stop that could not write
 * reports it beforehand. Method: files in a folder of this test's; a table of clocks.
 */
#include "support/test.h"
#include "save_rig.h"

#include <stdlib.h>

#define S 1000000000ull

static char folder[] = "/tmp/save_file_XXXXXX";
static struct save_paths paths;

static void
write_file(const char *path, const void *at, size_t len)
{
	FILE *f = fopen(path, "w");

	check_ptr(f);
	check_eq(fwrite(at, 1, len, f), len);
	fclose(f);
	chmod(path, 0600);
}

static void
make(const struct beat *beat, uint32_t layout)
{
	static uint64_t floors[STORE_SAVED_FLOORS];
	uint8_t front[SAVE_FRONT_BYTES];
	struct save_head head = {
		.layout = layout, .hashes_crc = store_hashes_crc(), .beat = *beat, .boot_id = "b1"};

	save_front_write(front, RIG_FILE, &head, floors);
	write_file(paths.file, front, sizeof front);
}

static enum save_found
look(const struct gap_now *now, uint32_t keep_for_s, struct save_look *look)
{
	save_look_at(look, paths.file, now, keep_for_s, SAVE_NO_UID);
	return look->found;
}

TEST(the_gap_is_judged_by_the_clocks_that_know_it)
{
	static const struct {
		const char *boot_id;
		uint64_t boot_s, wall_s;
		uint32_t keep_for_s;
		enum save_found found;
		uint64_t away_s, store_s;
	} rows[] = {
		{"b1", 150, 1050, 60, SAVE_FOUND_WHOLE, 50, 80},
		{"b1", 161, 1061, 60, SAVE_FOUND_OLD, 0, 0},
		{"b1", 150, 1080, 60, SAVE_FOUND_OLD, 0, 0}, /* the wall clock was set */
		{"b1", 90, 990, KEEP_FOR_ALWAYS, SAVE_FOUND_OLD, 0, 0},
		/* After a reboot, or on another machine, the boot clock is meaningless. */
		{"b2", 5, 1050, 60, SAVE_FOUND_WHOLE, 50, 80},
		{"b2", 900000, 1050, 60, SAVE_FOUND_WHOLE, 50, 80},
		{"b2", 5, 1061, 60, SAVE_FOUND_OLD, 0, 0},
		{"b2", 5, 100000, KEEP_FOR_ALWAYS, SAVE_FOUND_WHOLE, 99000, 99030},
		{"b2", 5, 999, KEEP_FOR_ALWAYS, SAVE_FOUND_OLD, 0, 0}, /* saved in the future */
		{"b2", 5, 1050, KEEP_FOR_NEVER, SAVE_FOUND_OLD, 0, 0},
	};
	struct save_look l;

	make(&(struct beat){100 * S, 1000 * S, 30 * S, 100 * S}, SAVE_LAYOUT);
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct gap_now now = {rows[i].boot_s * S, rows[i].wall_s * S, ""};

		strcpy(now.boot_id, rows[i].boot_id);
		check_eq(look(&now, rows[i].keep_for_s, &l), rows[i].found);
		check_eq(l.words[0] == '\0', l.found == SAVE_FOUND_WHOLE);
		if (l.found != SAVE_FOUND_WHOLE)
			continue;
		check_eq(l.gap.away_ns, rows[i].away_s * S);
		check_eq(l.gap.store_ns, rows[i].store_s * S);
	}
}

TEST(a_file_that_is_no_saved_cache_is_recognized)
{
	const struct beat beat = {100 * S, 1000 * S, 30 * S, 100 * S};
	const struct gap_now now = {101 * S, 1001 * S, "b1"};
	struct save_look l;

	save_forget(paths.file);
	check_eq(look(&now, 60, &l), SAVE_FOUND_NONE);
	write_file(paths.file, "somebody's text", 15);
	check_eq(look(&now, 60, &l), SAVE_FOUND_OTHER);
	write_file(paths.file, "", 0);
	check_eq(look(&now, 60, &l), SAVE_FOUND_OTHER);
	make(&beat, SAVE_LAYOUT + 1);
	check_eq(look(&now, 60, &l), SAVE_FOUND_OTHER);
	check_str(l.words, "it was saved by another version");
	make(&(struct beat){100 * S, 1000 * S, UINT64_MAX, 100 * S}, SAVE_LAYOUT);
	check_eq(look(&now, 60, &l), SAVE_FOUND_OLD);
	make(&beat, SAVE_LAYOUT);
	chmod(paths.file, 0622);
	check_eq(look(&now, 60, &l), SAVE_FOUND_OTHER);
	chmod(paths.file, 0600);
	check_eq(look(&now, 60, &l), SAVE_FOUND_WHOLE);
	check_eq(symlink(paths.file, paths.loading), 0);
	save_look_at(&l, paths.loading, &now, 60, SAVE_NO_UID);
	check_eq(l.found, SAVE_FOUND_OTHER);
	save_forget(paths.loading);
}

TEST(it_is_taken_once)
{
	const struct beat beat = {100 * S, 1000 * S, 30 * S, 100 * S};
	const struct gap_now now = {101 * S, 1001 * S, "b1"};
	struct save_look l;
	struct error err;

	make(&beat, SAVE_LAYOUT);
	check(save_take(&paths, &err));
	check_eq(look(&now, 60, &l), SAVE_FOUND_NONE);
	check(!save_take(&paths, &err));
	check_eq(rename(paths.loading, paths.part), 0);
	check(save_publish(&paths, &err));
	check_eq(look(&now, 60, &l), SAVE_FOUND_WHOLE);
	save_refuse(&paths);
	check_eq(look(&now, 60, &l), SAVE_FOUND_NONE);
	check_eq(access(paths.refused, F_OK), 0);
	save_forget(paths.refused);
}

TEST(one_process_has_it)
{
	struct save_paths nowhere;
	struct error err;
	char words[64], other[SAVE_PATH_BYTES];
	int first, second;

	check(save_lock(&paths, 0, &first, &err));
	check(first >= 0);
	check(!save_lock(&paths, 60, &second, &err));
	snprintf(words, sizeof words, "in use by process %d;", getpid());
	check_ptr(strstr(err.text, words));
	close(first);
	check(save_lock(&paths, 0, &second, &err));
	close(second);
	save_forget(paths.lock);
	/* The second name of another file is no lock: that file would lose its content. */
	snprintf(other, sizeof other, "%s/other", folder);
	first = open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	check_eq(write(first, "kept", 4), 4);
	check_eq(link(other, paths.lock), 0);
	check(!save_lock(&paths, 0, &second, &err));
	check_eq(second, -1);
	check_ptr(strstr(err.text, "has another name too"));
	check_eq(lseek(first, 0, SEEK_END), 4);
	close(first);
	unlink(other);
	save_forget(paths.lock);
	/* A folder that cannot be written needs no lock. */
	save_paths_set(&nowhere, "/proc/none/x");
	check(save_lock(&nowhere, 0, &first, &err));
	check_eq(first, -1);
}

TEST(a_place_that_cannot_take_it_is_named)
{
	char path[SAVE_PATH_BYTES], plain[SAVE_PATH_BYTES];
	struct error err;

	check(save_place_ok(paths.file, &err));
	check(save_room_ok(paths.file, 1 << 20, &err));
	check(!save_room_ok(paths.file, 1ull << 60, &err));
	check_ptr(strstr(err.text, "MB are free"));
	check(!save_place_ok(folder, &err));
	snprintf(path, sizeof path, "%s/none/x", folder);
	check(!save_place_ok(path, &err));
	check_ptr(strstr(err.text, "cannot write"));
	snprintf(path, sizeof path, "%s/file/x", folder);
	snprintf(plain, sizeof plain, "%s/file", folder);
	close(open(plain, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	check(!save_place_ok(path, &err));
	check_ptr(strstr(err.text, "is no folder"));
	unlink(plain);
}

static void
begin(void)
{
	char path[SAVE_PATH_BYTES];

	check_ptr(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/saved", folder);
	save_paths_set(&paths, path);
}

static void
end(void)
{
	save_forget(paths.file);
	check_eq(rmdir(folder), 0);
}

int
main(void)
{
	return tests_run(begin, end);
}

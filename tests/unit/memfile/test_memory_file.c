/*
 * The named file. Goal: one process owns it, and a second one learns which; a file that others
 * could have written or can read is refused; a file of another size, or a new one, is empty; the
 * next process reads what was written. Method: a folder of our own on a tmpfs, and children that
 * hold the lock.
 */
#include "memfile/memory_file.h"
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TMPFS   "/dev/shm"
#define BYTES   (128u << 10)
#define PAGE_AT 4096u
#define MAGIC   0x1234567812345678u

static char folder[64];
static char path[96];

static void
make_folder(void)
{
	snprintf(folder, sizeof folder, TMPFS "/clockoo-test-XXXXXX");
	check_ptr(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/memory", folder);
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

static struct memory_file_wanted
wanted(size_t bytes)
{
	return (struct memory_file_wanted){.option = "--memory-file",
					   .size_option = "-m",
					   .path = path,
					   .bytes = bytes,
					   .page_at = PAGE_AT,
					   .magic = MAGIC,
					   .other_magic = MAGIC + 1,
					   .other_uid = MEMORY_FILE_NO_UID};
}

static void
open_well(struct memory_file *f, size_t bytes)
{
	const struct memory_file_wanted w = wanted(bytes);
	struct error err;

	if (!memory_file_open(f, &w, &err) || !memory_file_map(f, &err) ||
	    !memory_file_populate(f, &err))
		fail_msg("%s", err.text);
	while (memory_file_populate_more(f))
		;
}

static void
check_refused_of(size_t bytes, const char *why)
{
	const struct memory_file_wanted w = wanted(bytes);
	struct memory_file f;
	struct error err;

	check(!memory_file_open(&f, &w, &err));
	check_eq(f.fd, -1);
	if (strstr(err.text, why) == NULL)
		fail_msg("%s", err.text);
}

static void
check_refused(const char *why)
{
	check_refused_of(BYTES, why);
}

TEST(what_is_written_outlives_the_process)
{
	struct memory_file f;
	struct stat st;
	const pid_t child = fork();

	if (child == 0) {
		open_well(&f, BYTES);
		check(f.fresh);
		strcpy((char *)f.base + 100, "kept");
		raise(SIGKILL);
	}
	waitpid(child, NULL, 0);
	open_well(&f, BYTES);
	check(!f.fresh);
	check_eq(f.before_bytes, 0);
	check_str((char *)f.base + 100, "kept");
	check_eq(stat(path, &st), 0);
	check_eq(st.st_mode & 07777, 0600);
	check_eq(st.st_ino, f.id.inode);
	memory_file_close(&f);
}

TEST(another_size_or_a_renewed_file_is_empty)
{
	const struct memory_file_wanted w = wanted(BYTES);
	struct memory_file f;
	struct error err;
	struct file_id was;

	open_well(&f, BYTES);
	f.base[100] = 1;
	memory_file_close(&f);
	open_well(&f, 2 * BYTES);
	check(f.fresh);
	check_eq(f.before_bytes, BYTES);
	check_eq(f.base[100], 0);
	f.base[100] = 1;
	memory_file_close(&f);

	open_well(&f, BYTES);
	f.base[100] = 1;
	memory_file_unmap(&f);
	was = f.id;
	check(memory_file_renew(&f, &w, &err));
	check(f.fresh);
	check(f.id.inode != was.inode);
	check(memory_file_map(&f, &err));
	check_eq(f.base[100], 0);
	memory_file_close(&f);
}

TEST(a_size_that_does_not_fit_empties_nothing)
{
	struct memory_file f;

	open_well(&f, BYTES);
	f.base[100] = 1;
	memory_file_close(&f);
	check_refused_of((size_t)1 << 50, "MB do not fit: it has 0, and");
	open_well(&f, BYTES);
	check(!f.fresh);
	check_eq(f.base[100], 1);
	memory_file_close(&f);
}

/* Returns a child that has the file until it is killed; the file's page names it. */
static pid_t
start_holder(void)
{
	struct memory_file f;
	int ends[2];
	char word;
	pid_t child;

	check_eq(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		static const struct file_id id;

		open_well(&f, BYTES);
		memory_page_begin((struct memory_page *)(void *)(f.base + PAGE_AT), id, "boot",
				  4711);
		if (write(ends[1], "r", 1) == 1)
			pause();
		_exit(1);
	}
	check_eq(read(ends[0], &word, 1), 1);
	close(ends[0]);
	close(ends[1]);
	return child;
}

TEST(the_second_process_learns_who_has_it)
{
	const pid_t child = start_holder();

	check_refused("in use by process 4711");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	memory_file_close(&(struct memory_file){.fd = -1});
	struct memory_file f;

	open_well(&f, BYTES);
	memory_file_close(&f);
}

/* A restart begins before the old process has ended. */
TEST(the_second_process_waits_for_the_first_to_end)
{
	struct memory_file_wanted w = wanted(BYTES);
	const pid_t child = start_holder();
	struct memory_file f;
	struct error err;
	pid_t killer;

	w.wait_ms = 60000;
	killer = fork();
	if (killer == 0) {
		usleep(150000);
		kill(child, SIGKILL);
		_exit(0);
	}
	check(memory_file_open(&f, &w, &err));
	memory_file_close(&f);
	waitpid(killer, NULL, 0);
	waitpid(child, NULL, 0);
}

/* The holder's file has lost its name: the next process makes and locks another file. */
TEST(a_removed_file_does_not_keep_its_name)
{
	const pid_t child = start_holder();
	struct memory_file f;

	check_eq(unlink(path), 0);
	open_well(&f, BYTES);
	check(f.fresh);
	memory_file_close(&f);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Skips the test under an emulator that takes any advice about memory and follows none. */
static void
need_advice_followed(void)
{
	static _Alignas(PAGE_AT) uint8_t page[PAGE_AT];

	if (madvise(page, sizeof page, -1) == 0) {
		printf("advice about memory is not followed here (qemu-user)\n");
		skip();
	}
}

/* A child made by fork has neither the mapping nor, after exec, the descriptor. */
TEST(a_child_does_not_keep_the_file)
{
	struct memory_file f;
	pid_t child;

	need_advice_followed();
	open_well(&f, BYTES);
	child = fork();
	if (child == 0) {
		unsigned char in_core;

		_exit(mincore(f.base, 4096, &in_core) == -1 && errno == ENOMEM &&
				      (fcntl(f.fd, F_GETFD) & FD_CLOEXEC) != 0
			      ? 0
			      : 1);
	}
	int status;

	waitpid(child, &status, 0);
	check_eq(status, 0);
	memory_file_close(&f);
}

static void
make(const char *name, mode_t mode)
{
	const int fd = open(name, O_CREAT | O_RDWR, mode);

	check(fd >= 0);
	fchmod(fd, mode);
	close(fd);
}

TEST(what_is_someone_elses_is_left_alone)
{
	char text[2 * 4096 + 1] = "", back[sizeof text];
	int fd;

	for (uint32_t len = 1; len < sizeof text; len += 4095) {
		memset(text, 'n', len);
		fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
		check_eq(write(fd, text, len), len);
		check_refused("not a memory file of clockoo's");
		check_eq(pread(fd, back, sizeof back, 0), len);
		check(memcmp(text, back, len) == 0);
		close(fd);
	}
}

/* A file of another option is left alone; the first word names the option.
 * Its instance has ended. */
TEST(what_another_option_keeps_is_left_alone)
{
	static const struct {
		uint64_t first, page;
		const char *words; /* NULL: the file is ours */
	} rows[] = {
		{MAGIC, MEMORY_PAGE_MAGIC, NULL},
		{MAGIC, 0, NULL}, /* a start was killed over it */
		{0, MEMORY_PAGE_MAGIC, NULL},
		{MAGIC + 1, MEMORY_PAGE_MAGIC, "another option has its memory there"},
		{MAGIC + 1, 0, "not a memory file of clockoo's"},
		{MAGIC + 2, 0, "not a memory file of clockoo's"},
		{MAGIC, 1, "it is damaged"},
		{MAGIC + 2, MEMORY_PAGE_MAGIC, "it is damaged"},
	};

	for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint64_t bytes[2 * PAGE_AT / 8] = {[0] = rows[i].first,
						   [PAGE_AT / 8] = rows[i].page};
		const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
		struct memory_file f;

		check_eq(write(fd, bytes, sizeof bytes), sizeof bytes);
		if (rows[i].words != NULL) {
			check_refused(rows[i].words);
			check_eq(lseek(fd, 0, SEEK_END), sizeof bytes);
		} else {
			open_well(&f, BYTES);
			memory_file_close(&f);
		}
		close(fd);
	}
}

/* A file that was cut, or has other first bytes, is renamed and kept as it was; a new one takes
 * its place. */
TEST(a_damaged_file_is_put_aside)
{
	static const struct {
		size_t len;
		uint64_t first, page;
	} rows[] = {
		{4096, MAGIC, 0},
		{8, MAGIC, 0},
		{2 * PAGE_AT, MAGIC + 2, MEMORY_PAGE_MAGIC},
		{2 * PAGE_AT, MAGIC, 1},
	};
	struct memory_file_wanted w = wanted(BYTES);
	uint64_t back[2 * PAGE_AT / 8];
	char aside[sizeof path + sizeof ".damaged"];

	w.renews_damaged = true;
	snprintf(aside, sizeof aside, "%s.damaged", path);
	for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint64_t bytes[2 * PAGE_AT / 8] = {[0] = rows[i].first,
						   [PAGE_AT / 8] = rows[i].page};
		const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
		struct memory_file f;
		struct error err;

		check_eq(write(fd, bytes, rows[i].len), rows[i].len);
		close(fd);
		if (!memory_file_open(&f, &w, &err))
			fail_msg("%s", err.text);
		check(f.fresh);
		check(strstr(f.damaged, "kept aside") != NULL);
		check_eq(lseek(f.fd, 0, SEEK_END), BYTES);
		memory_file_close(&f);

		const int kept = open(aside, O_RDONLY);

		check_eq(read(kept, back, sizeof back), rows[i].len);
		check(memcmp(back, bytes, rows[i].len) == 0);
		close(kept);
		unlink(aside);
		unlink(path);
	}
}

TEST(what_others_may_write_is_refused)
{
	char other[96];

	make(path, 0640);
	check_refused("others may open it");
	check_eq(chmod(path, 0600), 0);
	snprintf(other, sizeof other, "%s/other", folder);
	check_eq(link(path, other), 0);
	check_refused("not a file of its own");
	check_eq(unlink(path), 0);
	check_eq(symlink(other, path), 0);
	check_refused("a symbolic link");
	check_eq(unlink(path), 0);
	check_eq(unlink(other), 0);
	check_eq(mkdir(path, 0700), 0);
	check_refused("");
	check_eq(rmdir(path), 0);
	check_eq(mkfifo(path, 0600), 0);
	check_refused("not a file of its own");
	check_eq(unlink(path), 0);
	if (geteuid() == 0) {
		make(path, 0600);
		check_eq(chown(path, 12345, 12345), 0);
		check_refused("belongs to user 12345");
	}
}

/* The file may belong to the user that root becomes, and belongs to it afterwards. */
TEST(the_user_to_become_owns_it)
{
	struct memory_file_wanted w = wanted(BYTES);
	struct memory_file f;
	struct error err;
	struct stat st;

	if (geteuid() != 0) {
		printf("not root: no other user can be given a file\n");
		skip();
	}
	w.other_uid = 12345;
	for (uint32_t i = 0; i < 2; i++) {
		check(memory_file_open(&f, &w, &err));
		memory_file_close(&f);
		check_eq(stat(path, &st), 0);
		check_eq(st.st_uid, 12345);
	}
}

TEST(a_disk_is_refused_before_anything_is_made)
{
	struct memory_file_wanted w = wanted(BYTES);
	struct memory_file f;
	struct error err;

	bool huge;

	w.path = "/proc/clockoo-no-memory";
	check(!memory_file_open(&f, &w, &err));
	check_ptr(strstr(err.text, "not on a hugetlbfs or tmpfs"));
	check(!memory_file_place_ok("--memory-file", w.path, &huge, &err));
	w.path = "/dev/shm/no/such/folder";
	check(!memory_file_open(&f, &w, &err));
	check_ptr(strstr(err.text, "its folder /dev/shm/no/such: No such file"));
	check(memory_file_place_ok("--memory-file", path, &huge, &err));
	check(!huge);
}

static uint64_t
huge_mapped_kb(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	unsigned long long kb = 0;
	char line[160];

	while (f != NULL && fgets(line, sizeof line, f) != NULL && kb == 0)
		sscanf(line, "ShmemPmdMapped: %llu", &kb);
	if (f != NULL)
		fclose(f);
	return kb;
}

/* True if this kernel makes huge pages of a tmpfs's pages and has some left. */
static bool
kernel_has_huge_pages(void)
{
	const size_t huge = 2u << 20;
	const int fd = open(path, O_RDWR | O_CREAT, 0600);
	uint8_t *room = mmap(NULL, 2 * huge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *at = room + (huge - (uintptr_t)room % huge) % huge;
	bool has;

	check(fallocate(fd, 0, 0, (off_t)huge) == 0);
	check(mmap(at, huge, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == at);
	has = madvise(at, huge, 25 /* MADV_COLLAPSE */) == 0;
	munmap(room, 2 * huge);
	close(fd);
	unlink(path);
	return has;
}

/* With huge pages a successor maps the file in a few steps, and a get uses as few TLB entries as
 * in private memory. */
TEST(a_new_file_on_a_tmpfs_lies_in_huge_pages)
{
	const uint32_t bytes = (9u << 20) + 4096;
	struct memory_file f;

	need_advice_followed();
	open_well(&f, bytes);
	for (uint32_t at = 2 * PAGE_AT; at < bytes; at += 4096) {
		check_eq(f.base[at], 0);
		f.base[at] = 1;
	}
	memory_file_close(&f);
	open_well(&f, bytes);
	check(!f.fresh);
	for (uint32_t at = 2 * PAGE_AT; at < bytes; at += 4096)
		check_eq(f.base[at], 1);

	const uint64_t kb = huge_mapped_kb();

	memory_file_close(&f);
	unlink(path);
	if (kb >= 8u << 10)
		return;
	if (kernel_has_huge_pages())
		fail_msg("%llu KB of a file lie in huge pages", (unsigned long long)kb);
	printf("this kernel makes no huge pages on " TMPFS "\n");
	skip();
}

int
main(void)
{
	return tests_run(make_folder, remove_folder);
}

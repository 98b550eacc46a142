/*
 * memory_file.c - opens, locks, sizes and maps the file.
 */
#include "memory_file.h"
#include "base/region.h"
#include "base/time_units.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <libgen.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define RETRY_MS    50u
#define MODE        0600
#define HUGE_REMEDY "reserve more (clockoo doctor says how many)"
#define OPTION      "%s: %s: " /* the arguments are option and path of struct memory_file */
#define STAT_BLOCK  512u       /* unit of st_blocks */
#define HUGE_BYTES  ((size_t)2 << 20)
#define SMALL_BYTES 4096
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif
/* Suffix that a damaged file's name gets. */
#define DAMAGED_SUFFIX ".damaged"
#define OPENED_ONLY    (O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)

static bool
refuse_place(const char *option, const char *path, struct error *err)
{
	return error_set(err, OPTION "not on a hugetlbfs or tmpfs; choose a path on one of them",
			 option, path);
}

/* Opens the folder of the file, which may not exist yet, and reads the folder's file system. */
static int
open_folder(const char *option, const char *path, struct statfs *fs, struct error *err)
{
	char text[2 * CONFIG_PATH_BYTES];
	const char *folder;
	int fd;

	snprintf(text, sizeof text, "%s", path);
	folder = dirname(text);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstatfs(fd, fs) != 0) {
		error_set(err, OPTION "its folder %s: %s", option, path, folder, strerror(errno));
	} else if (fs->f_type != HUGETLBFS_MAGIC && fs->f_type != TMPFS_MAGIC) {
		refuse_place(option, path, err);
	} else {
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

bool
memory_file_place_ok(const char *option, const char *path, bool *huge, struct error *err)
{
	struct statfs fs;
	const int fd = open_folder(option, path, &fs, err);

	if (fd >= 0)
		close(fd);
	*huge = fd >= 0 && fs.f_type == HUGETLBFS_MAGIC;
	return fd >= 0;
}

/* True if owner, type and mode of the file are such that its content can be trusted. */
static bool
is_ours(const struct memory_file *f, const struct stat *st, uid_t other_uid, struct error *err)
{
	if (!S_ISREG(st->st_mode) || st->st_nlink > 1)
		return error_set(err, OPTION "not a file of its own; choose another path",
				 f->option, f->path);
	if (st->st_uid != geteuid() && (other_uid == MEMORY_FILE_NO_UID || st->st_uid != other_uid))
		return error_set(err,
				 OPTION "belongs to user %u; remove it, or choose another path",
				 f->option, f->path, st->st_uid);
	if ((st->st_mode & 077) != 0)
		return error_set(err, OPTION "others may open it; chmod 600, or remove it",
				 f->option, f->path);
	return true;
}

/* Returns the process that holds the lock, according to the page in the file; 0: the page does not
 * say. */
static uint32_t
holder(const struct memory_file *f, size_t page_at)
{
	struct memory_page page;

	if (pread(f->fd, &page, sizeof page, (off_t)page_at) != (ssize_t)sizeof page ||
	    !memory_page_is_set(&page))
		return 0;
	return page.pid;
}

static bool
refuse_in_use(const struct memory_file *f, const struct memory_file_wanted *wanted,
	      struct error *err)
{
	const uint32_t pid = holder(f, wanted->page_at);
	char who[32] = "another process";

	if (pid != 0)
		snprintf(who, sizeof who, "process %u", pid);
	return error_set(err, OPTION "in use by %s; stop it, or choose another path", f->option,
			 f->path, who);
}

static uint64_t
changed_ns(const struct memory_file *f, const struct stat *st)
{
	return f->huge ? 0
		       : (uint64_t)st->st_ctim.tv_sec * NS_PER_S + (uint64_t)st->st_ctim.tv_nsec;
}

uint64_t
memory_file_changed_ns(const struct memory_file *f)
{
	struct stat st;

	return fstat(f->fd, &st) == 0 ? changed_ns(f, &st) : 0;
}

enum lock_result { LOCK_MINE, LOCK_BUSY, LOCK_OTHER_FILE, LOCK_FAILED };

/* Tries once to lock the file. If the file was removed or replaced meanwhile, it no longer has the
 * name, and is refused. */
static enum lock_result
try_lock(struct memory_file *f, int folder, const char *name, uid_t other_uid, struct error *err)
{
	struct stat st, named;

	f->fd = openat(folder, name, OPENED_ONLY | O_CREAT, MODE);
	if (f->fd < 0 || fstat(f->fd, &st) != 0) {
		error_set(err, OPTION "%s", f->option, f->path,
			  errno == ELOOP ? "a symbolic link; name the file itself"
					 : strerror(errno));
		return LOCK_FAILED;
	}
	if (!is_ours(f, &st, other_uid, err))
		return LOCK_FAILED;
	if (flock(f->fd, LOCK_EX | LOCK_NB) != 0)
		return LOCK_BUSY;
	if (fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) != 0 || named.st_ino != st.st_ino ||
	    named.st_dev != st.st_dev)
		return LOCK_OTHER_FILE;
	/* Root creates the file for the user to which it changes (-u). */
	if (other_uid != MEMORY_FILE_NO_UID && st.st_uid != other_uid &&
	    fchown(f->fd, other_uid, (gid_t)-1) != 0) {
		error_set(err, OPTION "cannot give it to user %u: %s", f->option, f->path,
			  other_uid, strerror(errno));
		return LOCK_FAILED;
	}
	f->id = (struct file_id){st.st_dev, st.st_ino};
	f->changed_ns = changed_ns(f, &st);
	f->before_bytes = (size_t)st.st_size;
	return LOCK_MINE;
}

static void
drop(struct memory_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

static bool
lock(struct memory_file *f, int folder, const struct memory_file_wanted *wanted, struct error *err)
{
	const struct timespec pause = {.tv_nsec = RETRY_MS * NS_PER_MS};
	const char *slash = strrchr(f->path, '/');
	const char *const name = slash != NULL ? slash + 1 : f->path;

	for (uint32_t waited_ms = 0;; waited_ms += RETRY_MS) {
		const enum lock_result got = try_lock(f, folder, name, wanted->other_uid, err);

		if (got == LOCK_MINE)
			return true;
		if (got == LOCK_BUSY && waited_ms >= wanted->wait_ms)
			refuse_in_use(f, wanted, err);
		else if (waited_ms >= wanted->wait_ms && got == LOCK_OTHER_FILE)
			error_set(err, OPTION "another process exchanges it", f->option, f->path);
		drop(f);
		if (got == LOCK_FAILED || waited_ms >= wanted->wait_ms)
			return false;
		nanosleep(&pause, NULL);
	}
}

enum whose { WHOSE_OURS, WHOSE_OURS_DAMAGED, WHOSE_OTHER_OPTION, WHOSE_FOREIGN };

/* Returns whose file it is. A file of this program has its magic word and its page. One of the two
 * is zero if a start was killed while it created the file. Each of them alone is enough to
 * recognise a file that was truncated or overwritten. */
static enum whose
whose(const struct memory_file *f, const struct memory_file_wanted *wanted)
{
	static const uint8_t zeros[sizeof(struct memory_page)];
	uint8_t bytes[sizeof(struct memory_page)];
	struct memory_page page = {0};
	uint64_t first = 0;
	bool whole, set;

	if (f->before_bytes == 0)
		return WHOSE_OURS;
	if (pread(f->fd, &first, sizeof first, 0) != (ssize_t)sizeof first)
		return WHOSE_FOREIGN;
	whole = pread(f->fd, bytes, sizeof bytes, (off_t)wanted->page_at) == (ssize_t)sizeof bytes;
	if (whole)
		memcpy(&page, bytes, sizeof page);
	set = whole && memory_page_is_set(&page);
	if (set && first != 0 && first == wanted->other_magic)
		return WHOSE_OTHER_OPTION;
	if (whole && (first == 0 ||
		      (first == wanted->magic && (set || memcmp(bytes, zeros, sizeof zeros) == 0))))
		return WHOSE_OURS;
	return set || first == wanted->magic ? WHOSE_OURS_DAMAGED : WHOSE_FOREIGN;
}

/* Renames the damaged file. Nothing is written to it. */
static bool
put_aside(struct memory_file *f, int folder, const struct memory_file_wanted *wanted,
	  struct error *err)
{
	const char *slash = strrchr(f->path, '/');
	const char *const name = slash != NULL ? slash + 1 : f->path;
	char aside[NAME_MAX + 1];

	if ((size_t)snprintf(aside, sizeof aside, "%s" DAMAGED_SUFFIX, name) >= sizeof aside ||
	    renameat(folder, name, folder, aside) != 0)
		return error_set(err, OPTION "it is damaged, and cannot be renamed: %s", f->option,
				 f->path, strerror(errno));
	drop(f);
	if (!lock(f, folder, wanted, err))
		return false;
	f->damaged = "it was damaged, and is kept aside as *" DAMAGED_SUFFIX;
	return true;
}

static bool
take_ours(struct memory_file *f, int folder, const struct memory_file_wanted *wanted,
	  struct error *err)
{
	switch (whose(f, wanted)) {
	case WHOSE_OURS:
		return true;
	case WHOSE_OURS_DAMAGED:
		if (wanted->renews_damaged)
			return put_aside(f, folder, wanted, err);
		return error_set(err, OPTION "it is damaged; remove it", f->option, f->path);
	case WHOSE_OTHER_OPTION:
		return error_set(err,
				 OPTION "another option has its memory there (memory.file or "
					"flash.state); choose another path",
				 f->option, f->path);
	case WHOSE_FOREIGN:
		break;
	}
	return error_set(err, OPTION "not a memory file of clockoo's; choose another path",
			 f->option, f->path);
}

/* True if there would be room for the file once its present blocks are freed. A file system that
 * does not count its blocks (hugetlbfs without a size) allocates the pages when the file is
 * mapped. */
static bool
fits(const struct memory_file *f, const struct statfs *fs, struct error *err)
{
	const uint64_t left = (uint64_t)fs->f_bavail * f->page_bytes;
	struct stat st = {0};

	if (fs->f_blocks == 0 || fstat(f->fd, &st) != 0 ||
	    left + (uint64_t)st.st_blocks * STAT_BLOCK >= f->bytes)
		return true;
	return error_set(err,
			 OPTION "%zu MB do not fit: it has %llu, and %llu are free; lower %s, or "
				"enlarge the file system",
			 f->option, f->path, f->bytes >> 20,
			 (unsigned long long)st.st_blocks * STAT_BLOCK >> 20,
			 (unsigned long long)left >> 20, f->size_option);
}

/* Removes a damaged file, kept only for inspection, if it leaves no room for a new one. */
static void
give_back_damaged(struct memory_file *f, int folder, const struct statfs *fs)
{
	const char *slash = strrchr(f->path, '/');
	char aside[NAME_MAX + 1];
	struct error none;

	if (fits(f, fs, &none))
		return;
	snprintf(aside, sizeof aside, "%.*s" DAMAGED_SUFFIX, NAME_MAX - (int)strlen(DAMAGED_SUFFIX),
		 slash != NULL ? slash + 1 : f->path);
	if (unlinkat(folder, aside, 0) == 0)
		f->damaged = "it was damaged, and is removed: there is no memory for both";
}

/* Gives the file its size. A file of another size is freed first, since old and new pages may not
 * fit together. */
static bool
resize(struct memory_file *f, const struct statfs *fs, struct error *err)
{
	if (f->before_bytes == f->bytes) {
		f->before_bytes = 0;
		return true;
	}
	if (!fits(f, fs, err))
		return false;
	f->fresh = true;
	if (ftruncate(f->fd, 0) != 0 || ftruncate(f->fd, (off_t)f->bytes) != 0)
		return error_set(err, OPTION "cannot make it %zu MB: %s", f->option, f->path,
				 f->bytes >> 20, strerror(errno));
	return true;
}

bool
memory_file_open(struct memory_file *f, const struct memory_file_wanted *wanted, struct error *err)
{
	struct statfs fs;
	bool good;
	int folder;

	*f = (struct memory_file){.fd = -1};
	f->option = wanted->option;
	f->size_option = wanted->size_option;
	snprintf(f->path, sizeof f->path, "%s", wanted->path);
	folder = open_folder(f->option, wanted->path, &fs, err);
	if (folder < 0)
		return false;
	f->huge = fs.f_type == HUGETLBFS_MAGIC;
	f->page_bytes = (size_t)fs.f_bsize;
	f->bytes = align_up(wanted->bytes, f->page_bytes);
	good = lock(f, folder, wanted, err) && take_ours(f, folder, wanted, err);
	if (good && f->damaged != NULL)
		give_back_damaged(f, folder, &fs);
	good = good && resize(f, &fs, err);
	close(folder);
	if (!good)
		drop(f);
	return good;
}

bool
memory_file_renew(struct memory_file *f, const struct memory_file_wanted *wanted, struct error *err)
{
	if (unlink(f->path) != 0)
		return error_set(err, OPTION "cannot remove it: %s", f->option, f->path,
				 strerror(errno));
	drop(f);
	return memory_file_open(f, wanted, err);
}

/* Returns an address at which huge pages of a tmpfs can be mapped as such; NULL: any address will
 * do. */
static void *
huge_place(const struct memory_file *f)
{
	uint8_t *at;
	size_t skip;

	if (f->huge)
		return NULL;
	at = mmap(NULL, f->bytes + HUGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	munmap(at, f->bytes + HUGE_BYTES);
	skip = align_up((uintptr_t)at, HUGE_BYTES) - (uintptr_t)at;
	return at + skip;
}

bool
memory_file_map(struct memory_file *f, struct error *err)
{
	/* The address is free, since no other thread runs. If it is not, the kernel chooses
	 * another. */
	void *at = mmap(huge_place(f), f->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);

	if (at == MAP_FAILED)
		return error_set(err, OPTION "cannot map %zu MB: %s; %s%s", f->option, f->path,
				 f->bytes >> 20, strerror(errno), f->huge ? HUGE_REMEDY : "lower ",
				 f->huge ? "" : f->size_option);
	f->base = at;
	/* A child must not inherit the mapping, since it would keep the lock; and a core file needs
	 * no copy of the memory. */
	madvise(at, f->bytes, MADV_DONTFORK);
	madvise(at, f->bytes, MADV_DONTDUMP);
	return true;
}

/* Gives an empty tmpfs file huge pages, as far as the kernel has them, independent of the mount
 * options. MADV_COLLAPSE considers only addresses that already have a page. */
static void
make_huge(struct memory_file *f)
{
	const size_t end = f->bytes / HUGE_BYTES * HUGE_BYTES;

	for (size_t at = 0; at < end; at += MEMORY_FILE_STEP) {
		const size_t step = end - at < MEMORY_FILE_STEP ? end - at : MEMORY_FILE_STEP;

		for (size_t i = at; i < at + step; i += HUGE_BYTES)
			if (fallocate(f->fd, 0, (off_t)i, SMALL_BYTES) != 0)
				return;
		if (madvise(f->base + at, step, MADV_COLLAPSE) != 0)
			return;
	}
}

bool
memory_file_populate(struct memory_file *f, struct error *err)
{
	if (!f->huge && f->fresh)
		make_huge(f);

	const bool there = f->huge ? madvise(f->base, f->bytes, MADV_POPULATE_WRITE) == 0
				   : fallocate(f->fd, 0, 0, (off_t)f->bytes) == 0;

	f->populated = f->huge ? f->bytes : 0;
	/* Kernels before 5.14 do not have the advice, but hugepages are reserved in any case. */
	return there || (f->huge && errno == EINVAL) ||
	       error_set(err, OPTION "%zu MB are not there (%s): %s%s", f->option, f->path,
			 f->bytes >> 20, strerror(errno),
			 f->huge ? HUGE_REMEDY : "enlarge the tmpfs, or lower ",
			 f->huge ? "" : f->size_option);
}

bool
memory_file_populate_more(struct memory_file *f)
{
	const size_t left = f->bytes - f->populated;
	const size_t step = left < MEMORY_FILE_STEP ? left : MEMORY_FILE_STEP;

	if (step == 0)
		return false;
	madvise(f->base + f->populated, step, MADV_POPULATE_WRITE);
	f->populated += step;
	return true;
}

void
memory_file_unmap(struct memory_file *f)
{
	if (f->base != NULL)
		munmap(f->base, f->bytes);
	f->base = NULL;
}

void
memory_file_close(struct memory_file *f)
{
	memory_file_unmap(f);
	drop(f);
}

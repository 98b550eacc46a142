/*
 * flash_check.c - checks the second tier's file or block device: it exists or can be made, is large
 * enough, and has no data of others.
 */
#include "flash_check.h"
#include "base/size_units.h"
#include "flash/flash_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define STAT_BLOCK 512u
#define DAY_S      (24.0 * 3600)
/* A process that ends releases its lock first, and the device a moment later. */
#define BUSY_TRIES    20u
#define BUSY_PAUSE_NS 50000000

static_assert((uint64_t)CONFIG_FLASH_MIN_MB << MB_SHIFT == FLASH_PLAN_MIN &&
		      (uint64_t)CONFIG_FLASH_MAX_MB << MB_SHIFT == FLASH_PLAN_MAX,
	      "what the option allows can be divided");

static unsigned long long
mb(uint64_t bytes)
{
	return bytes >> MB_SHIFT;
}

static uint64_t
wanted(const struct config *cfg)
{
	return (uint64_t)cfg->flash.size_mb << MB_SHIFT;
}

/* ---- its kind ---- */

/* Refuses a path that is neither a file nor a block device. A path that does not exist becomes a
 * file. */
static bool
check_kind(const struct config *cfg, struct error *err)
{
	const char *path = cfg->flash.device;
	struct stat st;

	return stat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) ||
	       error_set(err, "--flash-device: %s is neither a file nor a block device: name one",
			 path);
}

/* Refuses a file on a file system that is in memory. */
static bool
check_disk(const struct config *cfg, struct error *err)
{
	char path[CONFIG_PATH_BYTES];
	struct stat st;
	struct statfs fs;

	strcpy(path, cfg->flash.device);
	if (stat(path, &st) == 0 && S_ISBLK(st.st_mode))
		return true;
	return (statfs(path, &fs) != 0 && statfs(dirname(path), &fs) != 0) ||
	       (fs.f_type != TMPFS_MAGIC && fs.f_type != HUGETLBFS_MAGIC) ||
	       error_set(err,
			 "--flash-device: %s is on a %s, which is memory: name a file on a disk, "
			 "or a block device",
			 cfg->flash.device, fs.f_type == TMPFS_MAGIC ? "tmpfs" : "hugetlbfs");
}

/* ---- its size ---- */

/* Returns the size of the file or device. */
static uint64_t
size_of(int fd)
{
	const off_t end = lseek(fd, 0, SEEK_END);

	return end > 0 ? (uint64_t)end : 0;
}

static bool
is_large_enough(const struct config *cfg, uint64_t have, struct error *err)
{
	if (have >= FLASH_PLAN_MIN && have <= FLASH_PLAN_MAX)
		return true;
	return error_set(err,
			 "--flash-device: %s has %llu MB, expected %u to %u: give --flash-size",
			 cfg->flash.device, mb(have), CONFIG_FLASH_MIN_MB, CONFIG_FLASH_MAX_MB);
}

bool
flash_check_bytes(uint64_t *bytes, const struct config *cfg, struct error *err)
{
	int fd;

	*bytes = wanted(cfg);
	if (cfg->flash.device[0] == '\0' || *bytes != 0)
		return true;
	if (cfg->sysfs[0] != '\0')
		return error_set(err, "--flash-device: --sysfs does not tell how large it is: give "
				      "--flash-size");
	if (!check_kind(cfg, err))
		return false;
	fd = open(cfg->flash.device, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, "--flash-device: %s: %s%s", cfg->flash.device,
				 strerror(errno),
				 errno == ENOENT ? "; give --flash-size to make it" : "");
	*bytes = size_of(fd);
	close(fd);
	return is_large_enough(cfg, *bytes, err);
}

/* True if the file system has room for `more` bytes. */
static bool
has_room(const struct config *cfg, const struct statvfs *fs, uint64_t more, struct error *err)
{
	const uint64_t free_bytes = (uint64_t)fs->f_bavail * fs->f_frsize;

	return more <= free_bytes ||
	       error_set(err, "--flash-size: %s lacks %llu MB, its file system has %llu MB left",
			 cfg->flash.device, mb(more), mb(free_bytes));
}

/* ---- what is there ---- */

/* Checks the folder in which the file will be made. */
static bool
check_folder(const struct config *cfg, struct error *err)
{
	char path[CONFIG_PATH_BYTES];
	struct statvfs fs;
	const char *folder;

	if (wanted(cfg) == 0)
		return error_set(err,
				 "--flash-device: %s: No such file or directory; give --flash-size "
				 "to make it",
				 cfg->flash.device);
	strcpy(path, cfg->flash.device);
	folder = dirname(path);
	if (statvfs(folder, &fs) != 0 || (access(folder, W_OK) != 0 && errno != EACCES))
		return error_set(err, "--flash-device: %s: %s: %s", cfg->flash.device, folder,
				 strerror(errno));
	return has_room(cfg, &fs, wanted(cfg), err);
}

static bool
check_size(const struct config *cfg, int fd, struct error *err)
{
	const uint64_t have = size_of(fd);
	struct statvfs fs;
	struct stat st;

	if (wanted(cfg) == 0)
		return is_large_enough(cfg, have, err);
	if (fstat(fd, &st) != 0 || S_ISBLK(st.st_mode))
		return have >= wanted(cfg) ||
		       error_set(err, "--flash-size: %u MB, and %s has %llu; give less, or none",
				 cfg->flash.size_mb, cfg->flash.device, mb(have));

	const uint64_t there = (uint64_t)st.st_blocks * STAT_BLOCK;

	return fstatvfs(fd, &fs) != 0 || there >= wanted(cfg) ||
	       has_room(cfg, &fs, wanted(cfg) - there, err);
}

/* Refuses a block device that is mounted or belongs to another one. The start itself reports a lock
 * of another appliance. */
static bool
check_free(const struct config *cfg, int fd, struct error *err)
{
	const struct timespec pause = {.tv_nsec = BUSY_PAUSE_NS};
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISBLK(st.st_mode))
		return true;
	for (uint32_t i = 0; i < BUSY_TRIES; i++) {
		const int alone = open(cfg->flash.device, O_RDONLY | O_EXCL | O_CLOEXEC);

		if (alone >= 0)
			close(alone);
		if (alone >= 0 || errno != EBUSY)
			return true;
		if (flock(fd, LOCK_SH | LOCK_NB) != 0)
			return true;
		flock(fd, LOCK_UN);
		nanosleep(&pause, NULL);
	}
	return error_set(err,
			 "--flash-device: %s is mounted, or part of something else (lsblk shows "
			 "it): name another, or free it",
			 cfg->flash.device);
}

static bool
check_bytes(const struct config *cfg, int fd, struct error *err)
{
	uint8_t *bytes = aligned_alloc(FLASH_PAGE_BYTES, FLASH_SEGMENT_BYTES);
	const ssize_t got = bytes != NULL ? pread(fd, bytes, FLASH_SEGMENT_BYTES, 0) : 0;
	const int error = errno;
	const bool ours = got >= 0 && flash_super_may_take(bytes, (size_t)got);

	free(bytes);
	if (got < 0)
		return error_set(err, "--flash-device: %s: %s", cfg->flash.device, strerror(error));
	return ours || error_set(err,
				 "--flash-device: %s has something else's data, and would be "
				 "written over: name another, remove the file, or wipe the device",
				 cfg->flash.device);
}

bool
flash_check(const struct config *cfg, struct error *err)
{
	const char *path = cfg->flash.device;
	bool ok;
	int fd;

	if (path[0] == '\0' || cfg->sysfs[0] != '\0')
		return true;
	if (!check_kind(cfg, err) || !check_disk(cfg, err))
		return false;
	fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT)
		return check_folder(cfg, err);
	if (fd < 0 && errno == EACCES && geteuid() != 0)
		return true;
	if (fd < 0)
		return error_set(err, "--flash-device: %s: %s%s", path, strerror(errno),
				 errno == EINVAL  ? "; its file system has no O_DIRECT: use another"
				 : errno == ELOOP ? "; name what the symbolic link leads to"
				 : errno == EPERM ? "; a service's unit must allow it (DeviceAllow)"
						  : "");
	ok = check_size(cfg, fd, err) && check_free(cfg, fd, err) && check_bytes(cfg, fd, err);
	close(fd);
	return ok;
}

void
flash_check_words(const struct config *cfg, uint64_t bytes, char words[FLASH_CHECK_BYTES])
{
	const double writes = cfg->flash.budget_mb * DAY_S / (double)mb(bytes);
	struct flash_plan p;
	unsigned long long large;
	int n;

	flash_plan_make(&p, bytes, &cfg->flash);
	large = p.log[1].items;
	n = snprintf(words, FLASH_CHECK_BYTES,
		     "%llu MB, layout %s, room for %llu items of %u bytes", mb(bytes),
		     flash_plan_has_columns(&p) ? "hash" : "log", (unsigned long long)p.items,
		     cfg->flash.item_size);
	if (flash_plan_has_columns(&p))
		n += snprintf(words + n, FLASH_CHECK_BYTES - (size_t)n, " and %llu above %u",
			      p.shards / p.streams * large, CONFIG_FLASH_HASHED);
	if (cfg->flash.budget_mb != 0)
		snprintf(words + n, FLASH_CHECK_BYTES - (size_t)n,
			 "; --flash-budget is %.3g drive writes a day, a turnover in %.3g days",
			 writes, 1 / writes);
}

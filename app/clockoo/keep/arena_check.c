/*
 * arena_check.c - reads a file of --memory-file without changing it, and runs `clockoo arena list`
 * and `remove`.
 */
#include "arena_check.h"
#include "base/size_units.h"
#include "base/time_units.h"
#include "flash/flash_state.h"
#include "process/privileges.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define STAT_BLOCK 512u /* unit of st_blocks, in bytes */

size_t
arena_store_bytes(const struct config *cfg)
{
	const size_t bytes = (size_t)config_reserved_mb(cfg) << 20;

	return bytes > STORE_MEMORY_MIN ? bytes : STORE_MEMORY_MIN;
}

size_t
arena_file_bytes(const struct config *cfg)
{
	return cfg->memory_file[0] != '\0' ? arena_store_bytes(cfg) : 0;
}

void
arena_gap_now(struct gap_now *now)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	memset(now, 0, sizeof *now);
	now->boot_ns = clock_ns(CLOCK_BOOTTIME);
	now->wall_ns = clock_ns(CLOCK_REALTIME);
	if (file == NULL)
		return;
	if (fgets(now->boot_id, sizeof now->boot_id, file) != NULL)
		now->boot_id[strcspn(now->boot_id, "\n")] = '\0';
	fclose(file);
}

/* True if a process has locked the file. Takes a shared lock for a moment; a start that finds it
 * tries again. */
static bool
is_in_use(int fd)
{
	if (flock(fd, LOCK_SH | LOCK_NB) != 0)
		return errno == EWOULDBLOCK;
	flock(fd, LOCK_UN);
	return false;
}

static struct memory_page_file
file_of(int fd, const struct stat *st)
{
	struct memory_file file = {.fd = fd};
	struct statfs fs;

	file.huge = fstatfs(fd, &fs) == 0 && fs.f_type == HUGETLBFS_MAGIC;
	return (struct memory_page_file){{st->st_dev, st->st_ino}, memory_file_changed_ns(&file)};
}

/* True if a store of this size keeps the items of the file. bytes 0: any size. */
static bool
image_is_whole(struct arena_check *check, const void *head, uint64_t bytes)
{
	struct store_config cfg = {.memory_bytes = bytes};
	struct store_image_look image;

	store_image_look(head, &cfg, &image);
	if (bytes == 0 && image.fault == STORE_IMAGE_RESIZED) {
		cfg.memory_bytes = image.memory_bytes;
		store_image_look(head, &cfg, &image);
	}
	check->dirty = image.kind == STORE_IMAGE_DIRTY;
	if (image.kind == STORE_IMAGE_EMPTY)
		strcpy(check->words, store_image_fault_words(image.fault));
	return image.kind != STORE_IMAGE_EMPTY;
}

/* Judges an open regular file. store_bytes is the size of the store that a start would make; 0: any
 * size. */
static void
judge_file(struct arena_check *check, int fd, const struct stat *st, const struct config *cfg,
	   uint64_t bytes, uint64_t store_bytes)
{
	static uint8_t head[STORE_IMAGE_HEAD_BYTES];
	const struct memory_page *page = (const void *)(head + STORE_IMAGE_APP_AT);
	const struct memory_page_file file = file_of(fd, st);
	const ssize_t got = pread(fd, head, sizeof head, 0);
	struct gap_now now;
	struct gap gap;

	check->state = ARENA_LOST;
	arena_gap_now(&now);
	if (got != (ssize_t)sizeof head || !memory_page_is_set(page)) {
		strcpy(check->words, "nothing whole lies there");
		return;
	}
	check->pid = page->pid;
	if (is_in_use(fd)) {
		check->state = ARENA_IN_USE;
		snprintf(check->words, sizeof check->words, "in use by process %u", page->pid);
	} else if (bytes != 0 && bytes != check->bytes) {
		snprintf(check->words, sizeof check->words,
			 "it has %llu MB, and %llu are configured",
			 (unsigned long long)check->bytes >> MB_SHIFT,
			 (unsigned long long)bytes >> MB_SHIFT);
	} else if (memory_page_is_whole(page, &file, &now, cfg->keep_for_s, &gap, check->words) &&
		   image_is_whole(check, head, store_bytes)) {
		check->state = ARENA_WHOLE;
		snprintf(check->words, sizeof check->words,
			 "would be %skept, %.0f s without service",
			 check->dirty ? "repaired and " : "", (double)gap.away_ns / NS_PER_S);
	}
}

void
arena_check(struct arena_check *check, const struct config *cfg, const char *path, uint64_t bytes)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	memset(check, 0, sizeof *check);
	if (fd < 0) {
		check->state = errno == ENOENT ? ARENA_ABSENT : ARENA_UNKNOWN;
		snprintf(check->words, sizeof check->words, "%s",
			 errno == ENOENT ? "not there yet" : strerror(errno));
		return;
	}
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		check->state = ARENA_UNKNOWN;
		strcpy(check->words, "not a file");
	} else {
		check->bytes = (uint64_t)st.st_size;
		check->allocated = (uint64_t)st.st_blocks * STAT_BLOCK;
		judge_file(check, fd, &st, cfg, align_up(bytes, (size_t)st.st_blksize), bytes);
	}
	close(fd);
}

void
arena_check_configured(struct arena_check *check, const struct config *cfg)
{
	arena_check(check, cfg, cfg->memory_file, arena_file_bytes(cfg));
}

uint32_t
arena_place_warnings(const struct config *cfg, struct memory_warning out[MEMORY_PLACE_WARNINGS_MAX])
{
	struct memory_place place = {.uid = geteuid()};
	char path[CONFIG_PATH_BYTES], folder[PATH_MAX];
	struct privileges id;
	struct error err;
	FILE *swaps;

	snprintf(path, sizeof path, "%s", cfg->memory_file);
	if (!memory_file_place_ok(MEMORY_OPTION, cfg->memory_file, &place.huge, &err) ||
	    realpath(dirname(path), folder) == NULL)
		return 0;
	place.folder = folder;
	if (privileges_lookup(&id, cfg->user, &err) && id.change)
		place.uid = id.uid;
	swaps = fopen("/proc/swaps", "re");
	if (swaps != NULL) {
		place.swaps = memory_place_swaps(swaps);
		fclose(swaps);
	}
	return memory_place_warnings(&place, out);
}

uint64_t
arena_huge_bytes_needed(const struct config *cfg)
{
	const uint64_t bytes = arena_file_bytes(cfg);
	struct arena_check check;
	struct error err;
	bool huge;

	if (bytes == 0 || !memory_file_place_ok(MEMORY_OPTION, cfg->memory_file, &huge, &err) ||
	    !huge)
		return 0;
	arena_check_configured(&check, cfg);
	return bytes > check.allocated ? bytes - check.allocated : 0;
}

/* ---- the commands ---- */

static bool
is_named(const struct config *cfg, struct error *err)
{
	return cfg->memory_file[0] != '\0' ||
	       error_set(err, "arena: no --memory-file is configured; name it with -e FILE");
}

static void
print_one(const struct config *cfg, const char *path, FILE *out)
{
	const uint64_t bytes = strcmp(path, cfg->memory_file) == 0 ? arena_file_bytes(cfg) : 0;
	struct arena_check check;

	arena_check(&check, cfg, path, bytes);
	if (check.pid == 0 && strcmp(path, cfg->memory_file) != 0)
		return; /* skips files of other programs */
	fprintf(out, "%s: %llu MB, %llu of them in memory: %s%s\n", path,
		(unsigned long long)check.bytes >> MB_SHIFT,
		(unsigned long long)check.allocated >> MB_SHIFT,
		check.state == ARENA_LOST ? "would start empty: " : "", check.words);
}

int
arena_list(const struct config *cfg, FILE *out, struct error *err)
{
	char folder[CONFIG_PATH_BYTES], path[2 * CONFIG_PATH_BYTES];
	const struct dirent *entry;
	DIR *dir;

	if (!is_named(cfg, err))
		return -1;
	snprintf(folder, sizeof folder, "%s", cfg->memory_file);
	print_one(cfg, cfg->memory_file, out);
	dir = opendir(dirname(folder));
	for (uint32_t i = 0; dir != NULL && i < ARENA_LIST_MAX && (entry = readdir(dir)) != NULL;
	     i++) {
		snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		if (entry->d_type == DT_REG && strcmp(path, cfg->memory_file) != 0)
			print_one(cfg, path, out);
	}
	if (dir != NULL)
		closedir(dir);
	return 0;
}

int
arena_remove(const struct config *cfg, FILE *out, struct error *err)
{
	struct memory_file file;
	struct stat st;

	if (!is_named(cfg, err))
		return -1;
	if (lstat(cfg->memory_file, &st) != 0) {
		if (errno != ENOENT)
			return error_set(err, "arena: %s: %s", cfg->memory_file, strerror(errno)) -
			       1;
		fprintf(out, "%s: not there\n", cfg->memory_file);
		return 0;
	}
	if (!memory_file_open(&file,
			      &(struct memory_file_wanted){
				      .option = MEMORY_OPTION,
				      .size_option = "-m",
				      .path = cfg->memory_file,
				      .bytes = (size_t)st.st_size,
				      .page_at = STORE_IMAGE_APP_AT,
				      .magic = STORE_IMAGE_MAGIC,
				      .other_magic = FLASH_STATE_MAGIC,
				      .other_uid = geteuid() == 0 ? st.st_uid : MEMORY_FILE_NO_UID,
			      },
			      err))
		return -1;
	if (unlink(cfg->memory_file) != 0) {
		error_set(err, "arena: %s: %s", cfg->memory_file, strerror(errno));
		memory_file_close(&file);
		return -1;
	}
	memory_file_close(&file);
	fprintf(out, "%s: removed, %llu MB given back\n", cfg->memory_file,
		(unsigned long long)st.st_blocks * STAT_BLOCK >> MB_SHIFT);
	return 0;
}

/*
 * save_file.c - checks names, owners and space, and renames the files of a save.
 */
#include "save_file.h"

#include "base/one_name.h"
#include "base/size_units.h"
#include "base/time_units.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define OPTION           "--memory-save: %s: "
#define RETRY_MS         50u
#define LOCK_MODE        0600
#define STAT_BLOCK_BYTES 512u /* of st_blocks */

void
save_paths_set(struct save_paths *p, const char *file)
{
	snprintf(p->file, sizeof p->file, "%s", file);
	snprintf(p->part, sizeof p->part, "%s.part", file);
	snprintf(p->loading, sizeof p->loading, "%s.loading", file);
	snprintf(p->refused, sizeof p->refused, "%s.refused", file);
	snprintf(p->lock, sizeof p->lock, "%s.lock", file);
}

static void
folder_of(const char *path, char folder[SAVE_PATH_BYTES])
{
	char copy[SAVE_PATH_BYTES];

	snprintf(copy, sizeof copy, "%s", path);
	snprintf(folder, SAVE_PATH_BYTES, "%s", dirname(copy));
}

bool
save_place_ok(const char *path, struct error *err)
{
	char folder[SAVE_PATH_BYTES];
	struct stat st;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return error_set(err, OPTION "not a file; choose another path", path);
	folder_of(path, folder);
	if (stat(folder, &st) == 0 && !S_ISDIR(st.st_mode))
		return error_set(err, OPTION "%s is no folder", path, folder);
	return access(folder, W_OK | X_OK) == 0 ||
	       error_set(err, OPTION "cannot write to %s: %s", path, folder, strerror(errno));
}

bool
save_room_ok(const char *path, uint64_t bytes, struct error *err)
{
	char folder[SAVE_PATH_BYTES];
	struct statvfs fs;
	struct stat st;
	uint64_t room;

	folder_of(path, folder);
	if (statvfs(folder, &fs) != 0)
		return error_set(err, OPTION "%s: %s", path, folder, strerror(errno));
	room = fs.f_bavail * (uint64_t)fs.f_frsize;
	if (stat(path, &st) == 0) /* the existing file is removed before the next one is written */
		room += (uint64_t)st.st_blocks * STAT_BLOCK_BYTES;
	return room >= bytes ||
	       error_set(err, OPTION "%llu MB are free in %s, and a full cache takes up to %llu",
			 path, (unsigned long long)(room >> MB_SHIFT), folder,
			 (unsigned long long)(bytes >> MB_SHIFT));
}

/* ---- one process a file ---- */

static bool
refuse_in_use(const struct save_paths *p, int fd, struct error *err)
{
	char text[16] = "", who[32] = "another process";

	if (pread(fd, text, sizeof text - 1, 0) > 0 && atoi(text) > 0)
		snprintf(who, sizeof who, "process %d", atoi(text));
	return error_set(err, OPTION "in use by %s; stop it, or choose another path", p->file, who);
}

bool
save_lock(const struct save_paths *p, uint32_t wait_ms, int *fd, struct error *err)
{
	const struct timespec pause = {.tv_nsec = RETRY_MS * NS_PER_MS};

	*fd = open(p->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, LOCK_MODE);
	if (*fd < 0)
		return true;
	if (!file_has_one_name(*fd)) {
		error_set(err, OPTION "%s has another name too; remove it, or choose another path",
			  p->file, p->lock);
		close(*fd);
		*fd = -1;
		return false;
	}
	for (uint32_t ms = 0; flock(*fd, LOCK_EX | LOCK_NB) != 0; ms += RETRY_MS) {
		if (ms >= wait_ms) {
			refuse_in_use(p, *fd, err);
			close(*fd);
			*fd = -1;
			return false;
		}
		nanosleep(&pause, NULL);
	}
	if (ftruncate(*fd, 0) == 0)
		dprintf(*fd, "%d\n", getpid());
	return true;
}

/* ---- what is there ---- */

static void
say(struct save_look *look, enum save_found found, const char *words)
{
	look->found = found;
	snprintf(look->words, sizeof look->words, "%s", words);
}

/* True if no other user could write the file: checksums prove nothing against another writer. */
static bool
is_ours(const struct stat *st, uid_t other_uid)
{
	return S_ISREG(st->st_mode) && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
	       (st->st_uid == 0 || st->st_uid == geteuid() ||
		(other_uid != SAVE_NO_UID && st->st_uid == other_uid));
}

static void
look_into(struct save_look *look, int fd, const struct gap_now *now, uint32_t keep_for_s)
{
	uint8_t front[SAVE_FRONT_BYTES];
	const ssize_t got = pread(fd, front, sizeof front, 0);
	const char *why;

	if (got < 0) {
		say(look, SAVE_FOUND_OTHER, strerror(errno));
		return;
	}
	if (!save_front_read(front, (size_t)got, &look->file, &look->head, look->floors, &why)) {
		say(look, SAVE_FOUND_OTHER, why);
		return;
	}
	gap_judge_saved(&look->gap, &look->head.beat, look->head.boot_id, now, keep_for_s);
	if (look->gap.verdict != GAP_KEEP)
		say(look, SAVE_FOUND_OLD, look->gap.words);
	else
		look->found = SAVE_FOUND_WHOLE;
}

void
save_look_at(struct save_look *look, const char *path, const struct gap_now *now,
	     uint32_t keep_for_s, uid_t other_uid)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	memset(look, 0, sizeof *look);
	if (fd < 0) {
		if (errno != ENOENT)
			say(look, SAVE_FOUND_OTHER, strerror(errno));
		return;
	}
	if (fstat(fd, &st) != 0 || !is_ours(&st, other_uid)) {
		say(look, SAVE_FOUND_OTHER, "others may have written to it");
	} else {
		look->bytes = (uint64_t)st.st_size;
		look_into(look, fd, now, keep_for_s);
	}
	close(fd);
}

/* Renames a file so that the rename survives a power cut. */
static bool
rename_surely(const char *from, const char *to, struct error *err)
{
	char folder[SAVE_PATH_BYTES];
	bool done;
	int fd;

	folder_of(to, folder);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	done = fd >= 0 && rename(from, to) == 0 && fsync(fd) == 0;
	if (!done)
		error_set(err, OPTION "%s", to, strerror(errno));
	if (fd >= 0)
		close(fd);
	return done;
}

bool
save_publish(const struct save_paths *p, struct error *err)
{
	return rename_surely(p->part, p->file, err);
}

bool
save_take(const struct save_paths *p, struct error *err)
{
	return rename_surely(p->file, p->loading, err);
}

void
save_refuse(const struct save_paths *p)
{
	if (rename(p->file, p->refused) != 0)
		unlink(p->file);
}

void
save_forget(const char *path)
{
	unlink(path);
}

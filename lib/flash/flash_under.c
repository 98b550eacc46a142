/*
 * flash_under.c - follows a block device in sysfs down to the files and devices under it, and locks
 * them.
 */
#include "flash_under.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Room for a path in sysfs: the folder and some names in it. */
#define SYSFS_PATH_BYTES (FLASH_UNDER_PATH_BYTES + 320)

struct walk {
	struct flash_under *under;
	const char *sysfs;
};

static int under_block(const struct walk *w, const char *folder, uint32_t depth);

/* Reads the first line of a file of sysfs. */
static bool
line_of(char line[FLASH_UNDER_PATH_BYTES], const char *folder, const char *name)
{
	char path[SYSFS_PATH_BYTES];
	FILE *file;
	bool is_read;

	if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
		return false;
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	is_read = fgets(line, FLASH_UNDER_PATH_BYTES, file) != NULL;
	fclose(file);
	if (is_read)
		line[strcspn(line, "\n")] = '\0';
	return is_read;
}

static void
folder_of(char folder[FLASH_UNDER_PATH_BYTES], const struct walk *w, unsigned device_major,
	  unsigned device_minor)
{
	snprintf(folder, FLASH_UNDER_PATH_BYTES, "%s/dev/block/%u:%u", w->sysfs, device_major,
		 device_minor);
}

/* ---- loop devices of a file ---- */

/* True if the loop device of this folder uses the file. */
static bool
lies_over(const char *folder, const struct stat *st)
{
	char path[FLASH_UNDER_PATH_BYTES];
	struct stat behind;

	return line_of(path, folder, "loop/backing_file") && stat(path, &behind) == 0 &&
	       behind.st_dev == st->st_dev && behind.st_ino == st->st_ino;
}

/* Returns -EEXIST if a loop device other than `but` uses the file. */
static int
no_loop_over(const struct walk *w, const struct stat *st, const char *but)
{
	char blocks[FLASH_UNDER_PATH_BYTES], folder[SYSFS_PATH_BYTES];
	char own[FLASH_UNDER_PATH_BYTES], device[FLASH_UNDER_PATH_BYTES];
	const bool has_own = but != NULL && line_of(own, but, "dev");
	const struct dirent *e;
	DIR *dir;
	int found = 0;

	snprintf(blocks, sizeof blocks, "%s/block", w->sysfs);
	dir = opendir(blocks);
	while (dir != NULL && found == 0 && (e = readdir(dir)) != NULL) {
		if (strncmp(e->d_name, "loop", 4) != 0)
			continue;
		if ((size_t)snprintf(folder, sizeof folder, "%s/%s", blocks, e->d_name) >=
			    sizeof folder ||
		    !lies_over(folder, st) ||
		    (has_own && line_of(device, folder, "dev") && strcmp(device, own) == 0))
			continue;
		snprintf(w->under->at, sizeof w->under->at, "%s", e->d_name);
		found = -EEXIST;
	}
	if (dir != NULL)
		closedir(dir);
	return found;
}

/* ---- going down ---- */

/* Locks the file or block device of the loop device of this folder, as a user of it would. */
static int
lock_behind(const struct walk *w, const char *folder, const char *path, uint32_t depth)
{
	struct flash_under *u = w->under;
	/* O_EXCL without O_CREAT applies to block devices (open(2)). */
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_EXCL);
	char next[FLASH_UNDER_PATH_BYTES];
	struct stat st;
	int e;

	snprintf(u->at, sizeof u->at, "%s", path);
	if (fd < 0 && errno == EBUSY)
		return -EBUSY;
	if (fd < 0 || u->count == FLASH_UNDER_MAX || fstat(fd, &st) != 0) {
		if (u->unopened[0] == '\0')
			snprintf(u->unopened, sizeof u->unopened, "%s", path);
		if (fd >= 0)
			close(fd);
		return 0;
	}
	u->fds[u->count++] = fd;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		return -errno;
	e = no_loop_over(w, &st, folder);
	if (e != 0 || !S_ISBLK(st.st_mode))
		return e;
	folder_of(next, w, major(st.st_rdev), minor(st.st_rdev));
	return under_block(w, next, depth + 1);
}

/* Goes down to the devices from which device-mapper or md has made this one. The kernel has claimed
 * those devices, but not what is below them. */
static int
under_slaves(const struct walk *w, const char *folder, uint32_t depth)
{
	char slaves[SYSFS_PATH_BYTES], device[FLASH_UNDER_PATH_BYTES];
	char next[FLASH_UNDER_PATH_BYTES], name[SYSFS_PATH_BYTES];
	unsigned device_major, device_minor;
	const struct dirent *e;
	DIR *dir;
	int error = 0;

	snprintf(slaves, sizeof slaves, "%s/slaves", folder);
	dir = opendir(slaves);
	while (dir != NULL && error == 0 && (e = readdir(dir)) != NULL) {
		snprintf(name, sizeof name, "slaves/%s/dev", e->d_name);
		if (e->d_name[0] == '.' || !line_of(device, folder, name) ||
		    sscanf(device, "%u:%u", &device_major, &device_minor) != 2)
			continue;
		folder_of(next, w, device_major, device_minor);
		error = under_block(w, next, depth + 1);
	}
	if (dir != NULL)
		closedir(dir);
	return error;
}

/* Goes down from the block device of this folder in sysfs. */
static int
under_block(const struct walk *w, const char *folder, uint32_t depth)
{
	char line[FLASH_UNDER_PATH_BYTES], next[FLASH_UNDER_PATH_BYTES];
	unsigned device_major, device_minor;

	if (depth == FLASH_UNDER_DEPTH)
		return 0;
	if (line_of(line, folder, "loop/backing_file"))
		return lock_behind(w, folder, line, depth);
	if (line_of(line, folder, "partition")) {
		/* The folder of a partition is within the folder of its disk. */
		if (!line_of(line, folder, "../dev") ||
		    sscanf(line, "%u:%u", &device_major, &device_minor) != 2)
			return 0;
		folder_of(next, w, device_major, device_minor);
		return under_block(w, next, depth + 1);
	}
	return under_slaves(w, folder, depth);
}

int
flash_under_lock_device(struct flash_under *u, const char *sysfs, unsigned device_major,
			unsigned device_minor)
{
	const struct walk w = {u, sysfs};
	char folder[FLASH_UNDER_PATH_BYTES];
	int e;

	*u = (struct flash_under){.count = 0};
	folder_of(folder, &w, device_major, device_minor);
	e = under_block(&w, folder, 0);
	if (e != 0)
		flash_under_unlock(u);
	return e;
}

int
flash_under_lock(struct flash_under *u, const char *sysfs, int fd)
{
	const struct walk w = {u, sysfs};
	struct stat st;
	int e;

	*u = (struct flash_under){.count = 0};
	if (fstat(fd, &st) != 0)
		return -errno;
	e = no_loop_over(&w, &st, NULL);
	if (e != 0 || !S_ISBLK(st.st_mode))
		return e;
	return flash_under_lock_device(u, sysfs, major(st.st_rdev), minor(st.st_rdev));
}

void
flash_under_unlock(struct flash_under *u)
{
	while (u->count > 0)
		close(u->fds[--u->count]);
}

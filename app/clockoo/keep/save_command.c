/*
 * save_command.c - makes the file, asks the appliance to write it, and gives it its name.
 */
#include "save_command.h"
#include "base/one_name.h"
#include "base/time_units.h"
#include "save/save_file.h"
#include "save_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MODE 0600
#define GB        (double)(1 << 30)

/* Makes the names of FILE and of the files beside it. Their folder's path is the kernel's. */
static bool
names_set(struct save_paths *paths, const char *file, struct error *err)
{
	char copies[2][CONFIG_PATH_BYTES], path[CONFIG_PATH_BYTES];
	char *folder;
	int len;

	if (file[0] == '\0' || strlen(file) >= CONFIG_PATH_BYTES)
		return error_set_code(err, ERROR_USAGE,
				      "save: no file is named: clockoo save FILE");
	snprintf(copies[0], sizeof copies[0], "%s", file);
	snprintf(copies[1], sizeof copies[1], "%s", file);
	folder = realpath(dirname(copies[0]), NULL);
	if (folder == NULL)
		return error_set(err, "save: %s: %s", file, strerror(errno));
	len = snprintf(path, sizeof path, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder,
		       basename(copies[1]));
	free(folder);
	if ((size_t)len >= sizeof path)
		return error_set(err, "save: %s: the name is too long", file);
	save_paths_set(paths, path);
	return true;
}

/* Refuses FILE if a running appliance has it as memory.save: after a crash it would load the file,
 * and clients have changed the items since. */
static bool
is_free(const struct save_paths *paths, struct error *err)
{
	const int fd = open(paths->lock, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	const bool taken = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0;

	/* A file of another user: its lock cannot be checked. */
	if (fd < 0 && errno != ENOENT)
		return error_set(err, "save: %s: %s; choose another path", paths->lock,
				 strerror(errno));
	if (fd >= 0)
		close(fd);
	return !taken || error_set(err,
				   "save: %s is the memory.save of a running appliance, whose next "
				   "start would take old items from it; choose another path",
				   paths->file);
}

/* True if the descriptor is the file of this name. Another command may have renamed it before it
 * was locked here. */
static bool
has_name(int fd, const char *path)
{
	struct stat mine, named;

	return fstat(fd, &mine) == 0 && stat(path, &named) == 0 && mine.st_dev == named.st_dev &&
	       mine.st_ino == named.st_ino;
}

/* True if the file is this user's, has one name, and only this user may open it. Another user
 * may have made any other file there, to read the values or to have some file overwritten. */
static bool
is_private(int fd)
{
	struct stat st;

	return file_has_one_name(fd) && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	       fchmod(fd, FILE_MODE) == 0;
}

/* Opens an empty FILE.part for this command alone. Returns -1 with *err set on failure. */
static int
part_open(const struct save_paths *paths, struct error *err)
{
	struct stat st;
	int fd;

	if (stat(paths->file, &st) == 0 && !S_ISREG(st.st_mode)) {
		error_set(err, "save: %s: not a file; choose another path", paths->file);
		return -1;
	}
	fd = open(paths->part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
	if (fd >= 0 && !is_private(fd))
		error_set(err,
			  "save: %s: not a file of yours alone; remove it, or choose another path",
			  paths->part);
	else if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && has_name(fd, paths->part) &&
		 ftruncate(fd, 0) == 0)
		return fd;
	else
		error_set(err, "save: %s: %s", paths->part,
			  fd >= 0 && errno == EWOULDBLOCK ? "another save is writing it"
							  : strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool
request_send(int fd, const char *path, int file, struct error *err)
{
	struct save_request request = {.magic = SAVE_WIRE};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.bytes = {0}};
	struct iovec part = {&request, sizeof request};
	const struct msghdr message = {.msg_iov = &part,
				       .msg_iovlen = 1,
				       .msg_control = control.bytes,
				       .msg_controllen = sizeof control.bytes};

	memcpy(request.path, path, strlen(path) + 1);
	control.head = (struct cmsghdr){CMSG_LEN(sizeof file), SOL_SOCKET, SCM_RIGHTS};
	memcpy(CMSG_DATA(&control.head), &file, sizeof file);
	return sendmsg(fd, &message, MSG_NOSIGNAL) > 0 ||
	       errno == EPIPE || /* after a refusal its reason can be read */
	       error_set(err, "save: %s", strerror(errno));
}

static bool
answer_read(int fd, struct save_summary *sum, struct error *err)
{
	uint8_t message[ERROR_BYTES + sizeof *sum];
	ssize_t got = recv(fd, message, sizeof message, 0);

	/* The kernel reports it once, before the last message. */
	if (got < 0 && errno == ECONNRESET)
		got = recv(fd, message, sizeof message, 0);
	if (got <= 0)
		return error_set(err, "save: the appliance has ended");
	if (message[0] == COMMAND_REFUSED)
		return command_socket_refused(SAVE_COMMAND, message + 1, (size_t)got - 1, err);
	if (message[0] != SAVE_OVER || got != (ssize_t)(1 + sizeof *sum))
		return error_set(err, "save: the appliance is of another version");
	memcpy(sum, message + 1, sizeof *sum);
	sum->how[sizeof sum->how - 1] = '\0';
	return true;
}

/* Waits for the answer. A signal ends the save. */
static bool
answer_wait(int fd, struct save_summary *sum, struct error *err)
{
	struct pollfd files[2] = {{fd, POLLIN, 0}};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	files[1] = (struct pollfd){signalfd(-1, &set, SFD_CLOEXEC), POLLIN, 0};
	while (poll(files, 2, -1) < 0 && errno == EINTR)
		;
	return files[0].revents != 0 ? answer_read(fd, sum, err)
				     : error_set(err, "save: ended by a signal");
}

/* Renames FILE.part to FILE. If an appliance with FILE as its memory.save has begun since, it has
 * removed FILE.part, and a file of that name is not this one. */
static bool
publish(const struct save_paths *paths, int file, struct error *err)
{
	if (!is_free(paths, err))
		return false;
	if (!has_name(file, paths->part))
		return error_set(err, "save: %s was removed meanwhile", paths->part);
	return save_publish(paths, err);
}

static bool
save_to(int fd, const struct save_paths *paths, int file, struct error *err)
{
	struct save_summary sum;

	if (!request_send(fd, paths->file, file, err) || !answer_wait(fd, &sum, err) ||
	    !publish(paths, file, err))
		return false;
	printf("%s: saved %llu items, %.1f GB in %.2f s (%s), snapshot_skew_ms %llu\n", paths->file,
	       (unsigned long long)sum.items, (double)sum.value_bytes / GB,
	       (double)sum.took_ns / NS_PER_S, sum.how,
	       (unsigned long long)(sum.skew_ns / NS_PER_MS));
	return true;
}

int
save_command(const struct config *cfg, const char *file, struct error *err)
{
	struct save_paths paths;
	int fd, part;
	bool saved;

	if (!names_set(&paths, file, err) || !is_free(&paths, err))
		return -1;
	fd = command_socket_connect(cfg->file_prefix, SAVE_COMMAND, " and memory.save", err);
	if (fd < 0)
		return -1;
	part = part_open(&paths, err);
	saved = part >= 0 && save_to(fd, &paths, part, err);
	if (part >= 0 && !saved && has_name(part, paths.part))
		save_forget(paths.part);
	return saved ? 0 : -1;
}

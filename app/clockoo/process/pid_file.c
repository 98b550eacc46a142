/*
 * pid_file.c - the file of -P.
 */
#include "pid_file.h"
#include "base/one_name.h"
#include "paths.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Returns the process that the file names if it lives, otherwise 0. */
static pid_t
running_pid(int fd)
{
	char text[24] = {0};
	long pid;

	if (pread(fd, text, sizeof text - 1, 0) <= 0 || sscanf(text, "%ld", &pid) != 1 || pid <= 1)
		return 0;
	return (pid_t)pid != getpid() && (kill((pid_t)pid, 0) == 0 || errno == EPERM) ? (pid_t)pid
										      : 0;
}

uint32_t
pid_file_read(const char *name)
{
	const int fd = name[0] != '\0' ? open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	pid_t pid;

	if (fd < 0)
		return 0;
	pid = running_pid(fd);
	close(fd);
	return (uint32_t)pid;
}

bool
pid_file_write(struct pid_file *p, const char *name, struct error *err)
{
	char text[24];
	int len;

	p->fd = -1;
	if (name[0] == '\0')
		return true;
	if (!paths_make_absolute(p->path, sizeof p->path, name))
		return error_set(err, "--pidfile: cannot determine the current directory");
	p->fd = open(p->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (p->fd < 0)
		return error_set(err, "--pidfile: cannot write %s: %s", p->path, strerror(errno));
	if (!file_has_one_name(p->fd)) {
		close(p->fd);
		p->fd = -1;
		return error_set(
			err,
			"--pidfile: %s has another name too, or is no file; choose another path",
			p->path);
	}
	if (running_pid(p->fd) != 0)
		fprintf(stderr,
			"clockoo: warning: --pidfile: %s names process %ld, which is running\n",
			p->path, (long)running_pid(p->fd));
	len = snprintf(text, sizeof text, "%ld\n", (long)getpid());
	if (ftruncate(p->fd, 0) != 0 || pwrite(p->fd, text, (size_t)len, 0) != len)
		return error_set(err, "--pidfile: cannot write %s: %s", p->path, strerror(errno));
	return true;
}

void
pid_file_remove(struct pid_file *p)
{
	if (p->fd < 0)
		return;
	if (unlink(p->path) != 0 && ftruncate(p->fd, 0) != 0)
		perror("clockoo: --pidfile: neither removed nor emptied");
	close(p->fd);
	p->fd = -1;
}

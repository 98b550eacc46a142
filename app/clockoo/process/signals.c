/*
 * signals.c - blocks the program's signals, and makes its output non-blocking.
 */
#include "signals.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define FD_PATH_BYTES 32u

sigset_t
signals_taken(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGHUP);
	return set;
}

void
signals_block(void)
{
	sigset_t set = signals_taken();

	sigaddset(&set, SIGPIPE);
	sigaddset(&set, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

bool
signals_stop_is_pending(void)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
	       sigismember(&pending, SIGUSR1) == 1;
}

/* Makes output non-blocking. Opens a pipe or a terminal again, since other processes share its open
 * file and expect it to block. Sets a socket directly: it comes from a service manager, and only
 * this process writes to it. */
static void
unblock(int fd)
{
	char path[FD_PATH_BYTES];
	struct stat st;
	int own;

	if (fstat(fd, &st) != 0)
		return;
	if (S_ISSOCK(st.st_mode))
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
		return;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (own < 0)
		return;
	dup2(own, fd);
	close(own);
}

void
signals_unblock_output(void)
{
	unblock(STDOUT_FILENO);
	unblock(STDERR_FILENO);
}

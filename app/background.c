/*
 * background.c - the fork of -d, the pipe by which the child reports that it serves, and stderr
 * handed to syslog.
 */
#include "background.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#define SYSLOG_NAME "clockoo"

/* The second process closes its end without a word only by ending. */
static int
wait_for_child(pid_t pid, int fd)
{
	char word;
	int status;

	if (read(fd, &word, 1) == 1)
		return 0;
	if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) != 0)
		return WEXITSTATUS(status);
	return ERROR_GENERAL;
}

bool
background_begin(struct background *b, int *status)
{
	int ends[2];
	pid_t pid;

	*status = ERROR_OS;
	if (pipe2(ends, O_CLOEXEC) != 0 || (pid = fork()) < 0) {
		perror("clockoo: -d: cannot fork");
		return false;
	}
	if (pid == 0) {
		close(ends[0]);
		b->ready_fd = ends[1];
		setsid();
		return true;
	}
	close(ends[1]);
	*status = wait_for_child(pid, ends[0]);
	return false;
}

/* A whole line at a time; syslog puts our name in front by itself. */
static ssize_t
write_to_syslog(void *unused, const char *text, size_t len)
{
	const char *end = text + len;
	const size_t name_len = strlen(SYSLOG_NAME ": ");

	(void)unused;
	while (text < end) {
		const char *line = text, *stop = memchr(text, '\n', (size_t)(end - text));

		stop = stop != NULL ? stop : end;
		if ((size_t)(stop - line) > name_len &&
		    memcmp(line, SYSLOG_NAME ": ", name_len) == 0)
			line += name_len;
		if (stop > line)
			syslog(LOG_NOTICE, "%.*s", (int)(stop - line), line);
		text = stop + 1;
	}
	return (ssize_t)len;
}

/* From here on nobody reads what we say: the system's log does. */
static void
redirect_stderr_to_syslog(void)
{
	FILE *log = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_to_syslog});

	if (log == NULL)
		return;
	openlog(SYSLOG_NAME, LOG_PID | LOG_NDELAY, LOG_DAEMON);
	setvbuf(log, NULL, _IOLBF, BUFSIZ);
	stderr = log;
}

void
background_ready(struct background *b, const struct config *cfg)
{
	int null_fd;

	if (b->ready_fd < 0)
		return;
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (!cfg->coredumps && chdir("/") != 0)
		perror("clockoo: -d: cannot change the directory to /");
	/* As memcached: who asked for words keeps hearing them. */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && cfg->verbosity == 0; fd++)
		dup2(null_fd, fd);
	close(null_fd);
	if (cfg->verbosity == 0)
		redirect_stderr_to_syslog();
	if (write(b->ready_fd, "r", 1) != 1)
		perror("clockoo: -d: the parent process is gone");
	close(b->ready_fd);
	b->ready_fd = -1;
}

/*
 * background.c - -d: the process forks; the first one ends when the second serves or fails. The
 * second one writes its messages to syslog.
 */
#include "background.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#define SYSLOG_NAME    "clockoo"
#define LOG_SOCKET     "/dev/log"
#define LOG_LINE_BYTES 2048u
#define LOG_TIME_BYTES 32u
#define LOG_TRIES      2u /* the second one after a new connection */

/* Waits until the second process is ready or ends. Without a message, its end of the pipe closes
 * only when it ends. */
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

static int
log_connect(void)
{
	const struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = LOG_SOCKET};
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof to) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Sends a line to the system log. Unlike syslog(3) it never waits: if the daemon does not read, the
 * line is lost. After a restart of the daemon it connects again. */
static void
log_send(struct background *b, const char *line, int len)
{
	char text[LOG_LINE_BYTES], when[LOG_TIME_BYTES];
	const time_t now = time(NULL);
	struct tm tm;
	size_t bytes;

	strftime(when, sizeof when, "%h %e %T", localtime_r(&now, &tm));
	bytes = (size_t)snprintf(text, sizeof text, "<%d>%s " SYSLOG_NAME "[%d]: %.*s",
				 LOG_DAEMON | LOG_NOTICE, when, (int)getpid(), len, line);
	if (bytes >= sizeof text)
		bytes = sizeof text - 1;
	for (uint32_t i = 0; i < LOG_TRIES; i++) {
		if (b->log_fd < 0)
			b->log_fd = log_connect();
		if (send(b->log_fd, text, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ||
		    errno == EAGAIN)
			return;
		close(b->log_fd);
		b->log_fd = -1;
	}
}

/* Sends each line to the log, without the program's name, which log_send() adds. */
static ssize_t
write_to_syslog(void *background, const char *text, size_t len)
{
	const char *end = text + len;
	const size_t name_len = strlen(SYSLOG_NAME ": ");
	struct background *b = background;

	while (text < end) {
		const char *line = text, *stop = memchr(text, '\n', (size_t)(end - text));

		stop = stop != NULL ? stop : end;
		if ((size_t)(stop - line) > name_len &&
		    memcmp(line, SYSLOG_NAME ": ", name_len) == 0)
			line += name_len;
		if (stop > line)
			log_send(b, line, (int)(stop - line));
		text = stop + 1;
	}
	return (ssize_t)len;
}

/* Sends all later messages to the system log. */
static void
redirect_stderr_to_syslog(struct background *b)
{
	FILE *log = fopencookie(b, "w", (cookie_io_functions_t){.write = write_to_syslog});

	b->log_fd = log_connect();
	if (log == NULL)
		return;
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
	/* With -v messages stay on the terminal, as in memcached. */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && cfg->verbosity == 0; fd++)
		dup2(null_fd, fd);
	close(null_fd);
	if (cfg->verbosity == 0)
		redirect_stderr_to_syslog(b);
	if (write(b->ready_fd, "r", 1) != 1)
		perror("clockoo: -d: the parent process is gone");
	close(b->ready_fd);
	b->ready_fd = -1;
}

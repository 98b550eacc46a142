/*
 * hook_commands.c - two commands of scripts to a running appliance: is it ready, and drain.
 */
#include "hook_commands.h"
#include "base/time_units.h"
#include "monitor/http_listen.h"
#include "process/pid_file.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_BYTES 1024u
#define POLL_NS      (100 * NS_PER_MS)
/* For the stop after the drain, which may save items. */
#define STOP_MAX_S 600u

/* Reads the answer to a request for /readyz. False: none within the time limit of fd. */
static bool
ask_ready(int fd, char answer[ANSWER_BYTES])
{
	static const char request[] = "GET /readyz HTTP/1.0\r\nHost: localhost\r\n\r\n";
	size_t have = 0;
	ssize_t n;

	if (send(fd, request, sizeof request - 1, MSG_NOSIGNAL) != (ssize_t)sizeof request - 1)
		return false;
	while (have < ANSWER_BYTES - 1 &&
	       (n = recv(fd, answer + have, ANSWER_BYTES - 1 - have, 0)) > 0)
		have += (size_t)n;
	answer[have] = '\0';
	return have != 0;
}

int
ready_command(const struct config *cfg, struct error *err)
{
	char answer[ANSWER_BYTES];
	const char *body;
	bool answered;
	int fd;

	if (cfg->http.text[0] == '\0') {
		error_set(err, "ready: no --telemetry-http, which answers it: give one, such as "
			       "127.0.0.1:9150");
		return -1;
	}
	fd = http_connect(&cfg->http, READY_WAIT_MS);
	answered = fd >= 0 && ask_ready(fd, answer);
	if (fd >= 0)
		close(fd);
	if (!answered) {
		printf("no answer from %s\n", cfg->http.text);
		return 1;
	}
	body = strstr(answer, "\r\n\r\n");
	printf("%s", body != NULL ? body + 4 : "no answer\n");
	return strncmp(answer, "HTTP/1.", 7) == 0 && strncmp(answer + 8, " 200 ", 5) == 0 ? 0 : 1;
}

int
drain_command(const struct config *cfg, struct error *err)
{
	const uint32_t pid = cfg->pid_file[0] != '\0' ? pid_file_read(cfg->pid_file) : 0;
	const struct timespec pause = {.tv_nsec = POLL_NS};
	const uint64_t polls = (cfg->drain_time_s + STOP_MAX_S) * (NS_PER_S / POLL_NS);

	if (pid == 0) {
		error_set(err, "drain: --pidfile names no running process; give the one that the "
			       "appliance was started with");
		return -1;
	}
	if (kill((pid_t)pid, SIGUSR2) != 0) {
		error_set(err, "drain: process %u: %s", pid, strerror(errno));
		return -1;
	}
	printf("process %u drains; it stops within %u s\n", pid, cfg->drain_time_s);
	fflush(stdout);
	for (uint64_t i = 0; i < polls; i++) {
		/* The process removes its pid file at its end. kill(2) would still find a process
		 * for which its parent has not waited. */
		if (pid_file_read(cfg->pid_file) != pid)
			return 0;
		nanosleep(&pause, NULL);
	}
	error_set(err, "drain: process %u still runs", pid);
	return -1;
}

/*
 * notify.c - the datagrams of sd_notify(3), without libsystemd.
 */
#include "notify.h"

#include "base/time_units.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINES_BYTES 64u

/* Returns the manager's time limit; 0 if it has none, or has it for another process
 * (sd_watchdog_enabled(3)). */
static uint64_t
watchdog_asked(void)
{
	const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (us == NULL || (pid != NULL && strtol(pid, NULL, 10) != (long)getpid()))
		return 0;
	return strtoull(us, NULL, 10) * NS_PER_US;
}

void
notify_begin(struct notify *n)
{
	const char *path = getenv("NOTIFY_SOCKET");
	const size_t len = path != NULL ? strlen(path) : 0;

	*n = (struct notify){.fd = -1, .to.sun_family = AF_UNIX};
	if (len < 2 || len >= sizeof n->to.sun_path || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(n->to.sun_path, path, len);
	if (path[0] == '@')
		n->to.sun_path[0] = '\0'; /* an abstract name (unix(7)) */
	n->to_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	n->watchdog_ns = watchdog_asked();
}

void
notify_send(const struct notify *n, const char *lines)
{
	if (n->fd >= 0)
		(void)!sendto(n->fd, lines, strlen(lines), MSG_NOSIGNAL,
			      (const struct sockaddr *)&n->to, n->to_bytes);
}

void
notify_reloading(const struct notify *n, uint64_t now_ns)
{
	char lines[LINES_BYTES];

	/* The time distinguishes this reload from earlier ones. */
	snprintf(lines, sizeof lines, "RELOADING=1\nMONOTONIC_USEC=%llu",
		 (unsigned long long)(now_ns / NS_PER_US));
	notify_send(n, lines);
}

void
notify_end(struct notify *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

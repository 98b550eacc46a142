/*
 * run_delay.c - reads /proc/thread-self/schedstat repeatedly through one descriptor.
 */
#include "run_delay.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define TEXT_BYTES 96u /* three numbers */

static uint64_t
delay_ns(int fd)
{
	char text[TEXT_BYTES];
	const ssize_t len = pread(fd, text, sizeof text - 1, 0);
	char *end;

	if (len <= 0)
		return 0;
	text[len] = '\0';
	strtoull(text, &end, 10);
	return strtoull(end, NULL, 10);
}

void
run_delay_begin(struct run_delay *d, uint64_t now_ns)
{
	d->fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	d->due_ns = d->fd >= 0 ? now_ns + RUN_DELAY_EVERY_NS : UINT64_MAX;
	d->last_ns = d->fd >= 0 ? delay_ns(d->fd) : 0;
}

uint64_t
run_delay_since_ns(struct run_delay *d, uint64_t now_ns)
{
	const uint64_t ns = delay_ns(d->fd);
	const uint64_t since = ns > d->last_ns ? ns - d->last_ns : 0;

	d->due_ns = now_ns + RUN_DELAY_EVERY_NS;
	d->last_ns = ns;
	return since;
}

void
run_delay_end(struct run_delay *d)
{
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
}

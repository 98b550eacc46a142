/*
 * Input that browsers, scrapers and others send to telemetry.http. Goal: any bytes, cut
 * anywhere, are answered with a status or not at all; the next request is answered in full; no
 * connection is left. Method: the server over a socket of the kernel, its rows made here; the
 * first byte says where the input is cut.
 */
#include "monitor/http_server.h"
#include "monitor/stat_rows.h"
#include "base/check.h"
#include "base/time_units.h"
#include "fuzz_target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define TURNS      8u
#define ANSWER_MAX (1u << 20)

/* ---- rows ---- */

void *
stat_pages(size_t bytes)
{
	return calloc(1, bytes);
}

bool
stat_rows_create(struct stat_rows *r, const struct stat_source *from)
{
	(void)from;
	r->text_room = 4096;
	r->metrics = calloc(1, sizeof *r->metrics);
	return r->metrics != NULL;
}

bool
stat_rows_read(struct stat_rows *r, uint64_t now_ns)
{
	static const char text[] = "stats\nSTAT pid 1\nSTAT version 1.2\nstats net\nSTAT rx 7\n"
				   "STAT 3:tx 8\nEND\n";

	if (r->read != 0)
		return false;
	metrics_read(r->metrics, (struct view){(const uint8_t *)text, sizeof text - 1});
	r->read_ns = now_ns;
	r->read = 1;
	return true;
}

/* ---- a server, and clients ---- */

static struct sockaddr_un name = {.sun_family = AF_UNIX};
static struct http_server *server;
static uint64_t now_ns = NS_PER_S;
static char answer[ANSWER_MAX];

static void
start(void)
{
	static struct counter counters[HTTP_COUNTER_COUNT];
	static struct config_http config = {.text = "127.0.0.1:80"};
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct error err;

	snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "fuzz-http-%ld", (long)getpid());
	ensure(fd >= 0 && bind(fd, (const struct sockaddr *)&name, sizeof name) == 0 &&
	       listen(fd, 4) == 0);
	ensure(http_start(&server, &(struct http_at){&config, fd, counters}, &err) &&
	       http_serve(server, NULL, &err));
}

static int
client_open(void)
{
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	ensure(fd >= 0 && connect(fd, (const struct sockaddr *)&name, sizeof name) == 0);
	return fd;
}

static size_t
client_hear(int fd, size_t heard)
{
	for (uint32_t i = 0; i < TURNS; i++) {
		ssize_t n;

		now_ns += 1000;
		http_run(server, now_ns);
		while (heard < sizeof answer - 1 &&
		       (n = recv(fd, answer + heard, sizeof answer - 1 - heard, 0)) > 0)
			heard += (size_t)n;
	}
	answer[heard] = '\0';
	return heard;
}

static size_t
client_say(int fd, const void *bytes, size_t size, size_t heard)
{
	if (size != 0)
		(void)send(fd, bytes, size, MSG_NOSIGNAL); /* it may be over */
	return client_hear(fd, heard);
}

/* Every answer begins with a status line, of those that there are. */
static void
check_status(const char *at)
{
	static const unsigned known[] = {100, 200, 400, 403, 404, 405, 408, 411,
					 413, 414, 417, 431, 500, 501, 503, 505};
	unsigned status;
	bool is_known = false;

	ensure(sscanf(at, "HTTP/1.%*1u %3u ", &status) == 1);
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		is_known |= known[i] == status;
	ensure(is_known);
}

/* Checks that a request is answered in full. It arrives whole, and one turn more is made than it
 * may need. */
static void
next_is_answered(void)
{
	static const char ask[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n"
				  "Connection: close\r\n\r\n";
	const int fd = client_open();

	client_say(fd, ask, sizeof ask - 1, 0);
	ensure(strncmp(answer, "HTTP/1.1 200 ", 13) == 0);
	ensure(strstr(answer, "clockoo_net_rx") != NULL);
	close(fd);
	client_hear(-1, 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t cut = size > 1 ? data[0] * (size - 1) / 256 : 0;
	size_t heard;
	int fd;

	if (server == NULL)
		start();
	if (size < 1)
		return 0;
	fd = client_open();
	heard = client_say(fd, data + 1, cut, 0);
	heard = client_say(fd, data + 1 + cut, size - 1 - cut, heard);
	shutdown(fd, SHUT_WR);
	heard = client_hear(fd, heard);
	if (heard != 0)
		check_status(answer);
	close(fd);
	client_hear(-1, 0);
	next_is_answered();
	return 0;
}

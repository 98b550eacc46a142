/*
 * connect_probe.c - opens connections one after the other at a steady pace, and measures the time
 * until each has its answers.
 *
 * Every --every-ms a connection is opened, sends one set and one get, and is closed when both
 * answers are right. A connection without answers within the limit has failed. Ends with one line
 * of JSON.
 *
 *     connect_probe HOST PORT [--every-ms MS] [--ms MS] [--limit-ms MS]
 */
#include "bench_load.h"

#include "base/time_units.h"

#include "../../support/sorted.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MS_MAX      600000u
#define CALLERS_MAX 1024u /* connections at a time; one that finds no place has failed */
#define TIMES_MAX   65536u
#define ANSWER_MAX  128u

static const char question[] = "set connect_probe 0 0 5\r\nhello\r\nget connect_probe\r\n";
static const char answer[] = "STORED\r\nVALUE connect_probe 0 5\r\nhello\r\nEND\r\n";

struct caller {
	int fd; /* 0: free */
	bool asked;
	uint64_t since_ns;
	uint32_t got;
	char answer[ANSWER_MAX];
};

struct connect_probe {
	struct sockaddr_in server;
	uint32_t every_ms, ms, limit_ms;
	struct caller callers[CALLERS_MAX];
	uint64_t times_ns[TIMES_MAX];
	uint32_t answered, failed, tried;
};

static void
end(struct connect_probe *k, struct caller *c, bool good, uint64_t now_ns)
{
	if (good && k->answered < TIMES_MAX)
		k->times_ns[k->answered++] = now_ns - c->since_ns;
	else
		k->failed++;
	close(c->fd);
	*c = (struct caller){0};
}

static void
begin(struct connect_probe *k, uint64_t now_ns)
{
	k->tried++;
	for (uint32_t i = 0; i < CALLERS_MAX; i++) {
		struct caller *c = &k->callers[i];

		if (c->fd != 0)
			continue;
		c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		c->since_ns = now_ns;
		if (c->fd < 0 ||
		    (connect(c->fd, (struct sockaddr *)&k->server, sizeof k->server) != 0 &&
		     errno != EINPROGRESS)) {
			perror("connect_probe: connect");
			exit(1);
		}
		return;
	}
	k->failed++;
}

static void
visit(struct connect_probe *k, struct caller *c, short events, uint64_t now_ns)
{
	ssize_t n;

	if ((events & POLLOUT) != 0 && !c->asked) {
		c->asked = true;
		if (send(c->fd, question, sizeof question - 1, MSG_NOSIGNAL) !=
		    sizeof question - 1) {
			end(k, c, false, now_ns);
			return;
		}
	}
	if ((events & (POLLIN | POLLERR | POLLHUP)) == 0)
		return;
	n = recv(c->fd, c->answer + c->got, sizeof c->answer - c->got, 0);
	if (n < 0 && errno == EAGAIN)
		return;
	c->got += n > 0 ? (uint32_t)n : 0;
	if (n <= 0 || c->got >= sizeof answer - 1)
		end(k, c, n > 0 && memcmp(c->answer, answer, sizeof answer - 1) == 0, now_ns);
}

static void
look(struct connect_probe *k, uint64_t now_ns)
{
	struct pollfd poll_fd[CALLERS_MAX];
	struct caller *who[CALLERS_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < CALLERS_MAX; i++) {
		struct caller *c = &k->callers[i];

		if (c->fd == 0)
			continue;
		who[n] = c;
		poll_fd[n++] =
			(struct pollfd){c->fd, (short)(POLLIN | (c->asked ? 0 : POLLOUT)), 0};
	}
	poll(poll_fd, n, 1);
	now_ns = bench_ns();
	for (uint32_t i = 0; i < n; i++) {
		if (poll_fd[i].revents != 0)
			visit(k, who[i], poll_fd[i].revents, now_ns);
		if (who[i]->fd != 0 && now_ns - who[i]->since_ns > k->limit_ms * NS_PER_MS)
			end(k, who[i], false, now_ns);
	}
}

static uint32_t
pending(const struct connect_probe *k)
{
	return k->tried - k->answered - k->failed;
}

static void
run(struct connect_probe *k)
{
	const uint64_t start_ns = bench_ns(), end_ns = start_ns + k->ms * NS_PER_MS;

	for (;;) {
		const uint64_t now_ns = bench_ns();

		if (now_ns < end_ns && now_ns >= start_ns + k->tried * k->every_ms * NS_PER_MS)
			begin(k, now_ns);
		if (now_ns >= end_ns && pending(k) == 0)
			return;
		look(k, now_ns);
	}
}

static void
options_of(struct connect_probe *k, int argc, char **argv)
{

	*k = (struct connect_probe){.every_ms = 100, .ms = 1000, .limit_ms = 10000};
	const struct bench_option known[] = {BENCH_NUMBER("every-ms", &k->every_ms, 10, MS_MAX),
					     BENCH_NUMBER("ms", &k->ms, 1, MS_MAX),
					     BENCH_NUMBER("limit-ms", &k->limit_ms, 1, MS_MAX),
					     {0}};

	bench_options(argc, argv, known);
	k->server.sin_family = AF_INET;
	if (argc - optind != 2 || inet_pton(AF_INET, argv[optind], &k->server.sin_addr) != 1) {
		fprintf(stderr, "connect_probe: an IPv4 address and a port are expected\n");
		exit(1);
	}
	k->server.sin_port = htons((uint16_t)bench_number(argv[optind + 1], 1, UINT16_MAX));
}

int
main(int argc, char **argv)
{
	static struct connect_probe k;

	options_of(&k, argc, argv);
	run(&k);
	sort_u64(k.times_ns, k.answered);
	printf("{\"part\": \"connect_probe\", \"tried\": %u, \"answered\": %u, \"failed\": %u, "
	       "\"median_s\": %.4f, \"longest_s\": %.4f}\n",
	       k.tried, k.answered, k.failed,
	       k.answered == 0 ? 0.0 : (double)k.times_ns[k.answered / 2] / 1e9,
	       k.answered == 0 ? 0.0 : (double)k.times_ns[k.answered - 1] / 1e9);
	return 0;
}

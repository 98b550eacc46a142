/*
 * talk.c - a client of many kernel connections that pipelines sets and gets of values from 1 byte
 * up, and compares every byte of every value.
 *
 * Goodput counts value bytes: of sets when they are answered, of gets as they arrive. A
 * connection that was reset is counted and opened again. The longest stall is the longest time in
 * which a waiting connection had no byte acknowledged and none received (TCP_INFO, read every
 * SWEEP_NS). Ends with one line of JSON.
 *
 * With --connect-ms the warm-up begins when all are connected, or after that time, and
 * "connected" is printed to stderr: a fault that must not hit a handshake begins at that line. At
 * the end of the measured time "draining" is printed: no request follows, and a test of recovery
 * repairs the link.
 *
 *     talk HOST PORT [--connections N] [--connect-ms MS] [--warm-ms MS] [--ms MS] [--drain-ms MS]
 *          [--depth N] [--keys N] [--value-max BYTES] [--value-min BYTES] [--sets PERCENT]
 *          [--seed N]
 */
#include "talk_conn.h"

#include "bench_load.h"

#include "base/time_units.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define SWEEP_NS        (10 * NS_PER_MS)
#define CONNECTIONS_MAX 4096u
#define EVENTS_MAX      256
#define MS_MAX          3600000u
#define REOPENS_MAX     10000u /* of all connections together */

struct options {
	struct talk_plan plan;
	uint32_t connections, connect_ms, warm_ms, ms, drain_ms, seed;
};

struct talk {
	struct options opt;
	int epoll;
	uint32_t last_id;
	struct talk_conn *conns;
	struct talk_counts counts;
	bool connecting, draining;
	uint64_t longest_stall_ns, longest_connect_ns, retransmits;
	double rtt_sum_ms;
	uint32_t rtt_count;
};

static void
fail(const char *words)
{
	perror(words);
	exit(1);
}

static void
watch(struct talk *t, struct talk_conn *c, int how)
{
	struct epoll_event e = {.events = EPOLLIN | (c->blocked ? EPOLLOUT : 0), .data.ptr = c};

	if (epoll_ctl(t->epoll, how, c->fd, &e) != 0)
		fail("talk: epoll_ctl");
}

static void
begin(struct talk *t, struct talk_conn *c)
{
	c->id = ++t->last_id;
	if (!talk_open(c, &t->opt.plan, bench_ns()))
		fail("talk: connect");
	watch(t, c, EPOLL_CTL_ADD);
}

/* Reads the kernel's state of a connection, with the bytes that went either way in total. */
static struct tcp_info
info_of(const struct talk_conn *c)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof info;

	getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len);
	return info;
}

static void
note_progress(struct talk *t, struct talk_conn *c, uint64_t now_ns)
{
	const struct tcp_info info = info_of(c);
	const uint64_t moved = info.tcpi_bytes_acked + info.tcpi_bytes_received;

	if (moved == c->moved_bytes && talk_waiting(c) != 0) {
		if (now_ns - c->moved_ns > t->longest_stall_ns)
			t->longest_stall_ns = now_ns - c->moved_ns;
		return;
	}
	c->moved_bytes = moved;
	c->moved_ns = now_ns;
}

static void
note_end(struct talk *t, const struct talk_conn *c)
{
	const struct tcp_info info = info_of(c);

	t->retransmits += info.tcpi_total_retrans;
	t->rtt_sum_ms += info.tcpi_rtt / 1e3;
	t->rtt_count++;
}

static void
ended(struct talk *t, struct talk_conn *c)
{
	note_end(t, c);
	talk_close(c);
	if (c->hopeless)
		return;
	if (++t->counts.resets > REOPENS_MAX) {
		fprintf(stderr, "talk: %u connections were reset: given up\n", REOPENS_MAX);
		exit(1);
	}
	if (!t->draining)
		begin(t, c);
}

static void
connected(struct talk *t, struct talk_conn *c)
{
	const uint64_t now_ns = bench_ns();

	c->connected = true;
	c->moved_ns = now_ns;
	if (now_ns - c->opened_ns > t->longest_connect_ns)
		t->longest_connect_ns = now_ns - c->opened_ns;
}

static void
visit(struct talk *t, struct talk_conn *c, uint32_t events)
{
	const bool was_blocked = c->blocked;

	if (events & EPOLLOUT) {
		if (!c->connected && (events & (EPOLLERR | EPOLLHUP)) == 0)
			connected(t, c);
		c->blocked = false;
	}
	if ((events & ~(uint32_t)EPOLLOUT) != 0 && !talk_read(c)) {
		ended(t, c);
		return;
	}
	if (!t->draining)
		talk_fill(c, &t->opt.plan);
	if (!talk_write(c)) {
		ended(t, c);
		return;
	}
	if (c->blocked != was_blocked)
		watch(t, c, EPOLL_CTL_MOD);
}

static uint32_t
waiting(const struct talk *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->opt.connections; i++)
		n += t->conns[i].fd >= 0 && talk_waiting(&t->conns[i]) != 0;
	return n;
}

static bool
all_connected(const struct talk *t)
{
	for (uint32_t i = 0; i < t->opt.connections; i++)
		if (!t->conns[i].connected)
			return false;
	return true;
}

static bool
reached(const struct talk *t)
{
	if (t->connecting)
		return all_connected(t);
	return t->draining && waiting(t) == 0;
}

/* Runs until that time; or until all are connected, or, while draining, until no connection waits
 * any more. */
static void
run(struct talk *t, const char *words, uint64_t ms)
{
	const uint64_t start_ns = bench_ns(), end_ns = start_ns + ms * NS_PER_MS;
	uint64_t sweep_ns = 0;
	struct epoll_event events[EVENTS_MAX];

	for (;;) {
		const int n = epoll_wait(t->epoll, events, EVENTS_MAX, SWEEP_NS / NS_PER_MS);
		const uint64_t now_ns = bench_ns();

		for (int i = 0; i < n; i++)
			visit(t, events[i].data.ptr, events[i].events);
		if (now_ns - sweep_ns >= SWEEP_NS) {
			sweep_ns = now_ns;
			for (uint32_t i = 0; i < t->opt.connections; i++)
				if (t->conns[i].fd >= 0 && t->conns[i].connected)
					note_progress(t, &t->conns[i], now_ns);
			bench_progress(words, (now_ns - start_ns) / NS_PER_MS, ms);
		}
		if (now_ns >= end_ns || reached(t))
			return;
	}
}

static void
connect_all(struct talk *t)
{
	t->connecting = true;
	run(t, "connecting", t->opt.connect_ms);
	t->connecting = false;
	if (!all_connected(t)) {
		fprintf(stderr, "talk: not all are connected after %u ms\n", t->opt.connect_ms);
		exit(1);
	}
	fprintf(stderr, "connected\n");
}

/* Prints the rates of the measured time; all other figures are of the whole run, warm-up and
 * draining included. */
static void
report_rates(const struct talk_counts *from, const struct talk_counts *to, double seconds)
{
	const uint64_t set_bytes = to->set_bytes - from->set_bytes;
	const uint64_t get_bytes = to->get_bytes - from->get_bytes;
	const uint64_t operations = to->sets + to->gets - from->sets - from->gets;

	printf("{\"part\": \"talk\", \"seconds\": %.3f, \"goodput_mbs\": %.3f, "
	       "\"set_mbs\": %.3f, \"get_mbs\": %.3f, \"operations_s\": %.1f, ",
	       seconds, (double)(set_bytes + get_bytes) / seconds / 1e6,
	       (double)set_bytes / seconds / 1e6, (double)get_bytes / seconds / 1e6,
	       (double)operations / seconds);
}

static void
report_counts(const struct talk *t, uint32_t stuck)
{
	const struct talk_counts *c = &t->counts;

	printf("\"sets\": %lu, \"gets\": %lu, \"misses\": %lu, \"refused\": %lu, "
	       "\"wrong_bytes\": %lu, \"wrong_answers\": %lu, \"resets\": %lu, \"connects\": %lu, "
	       "\"stuck\": %u, \"longest_stall_s\": %.3f, \"longest_connect_s\": %.3f, "
	       "\"retransmits\": %lu, \"rtt_ms\": %.3f}\n",
	       c->sets, c->gets, c->misses, c->refused, c->wrong_bytes, c->wrong_answers, c->resets,
	       c->connects, stuck, (double)t->longest_stall_ns / 1e9,
	       (double)t->longest_connect_ns / 1e9, t->retransmits,
	       t->rtt_count == 0 ? 0.0 : t->rtt_sum_ms / t->rtt_count);
}

static struct options
options_of(int argc, char **argv)
{
	struct options opt = {
		.plan = {.depth = 4, .keys = 16, .value_max = 1 << 20, .sets_percent = 50},
		.connections = 50,
		.ms = 1000,
		.drain_ms = 30000,
		.seed = 1,
	};

	const struct bench_option known[] = {
		BENCH_NUMBER("connections", &opt.connections, 1, CONNECTIONS_MAX),
		BENCH_NUMBER("connect-ms", &opt.connect_ms, 1, MS_MAX),
		BENCH_NUMBER("warm-ms", &opt.warm_ms, 0, MS_MAX),
		BENCH_NUMBER("ms", &opt.ms, 1, MS_MAX),
		BENCH_NUMBER("drain-ms", &opt.drain_ms, 0, MS_MAX),
		BENCH_NUMBER("depth", &opt.plan.depth, 1, DEPTH_MAX),
		BENCH_NUMBER("keys", &opt.plan.keys, 1, KEYS_MAX),
		BENCH_NUMBER("value-max", &opt.plan.value_max, 1, 128u << 20),
		BENCH_NUMBER("value-min", &opt.plan.value_min, 1, 128u << 20),
		BENCH_NUMBER("sets", &opt.plan.sets_percent, 0, 100),
		BENCH_NUMBER("seed", &opt.seed, 0, UINT32_MAX),
		{0}};

	bench_options(argc, argv, known);
	opt.plan.server.sin_family = AF_INET;
	if (argc - optind != 2 ||
	    inet_pton(AF_INET, argv[optind], &opt.plan.server.sin_addr) != 1) {
		fprintf(stderr, "talk: an IPv4 address and a port are expected\n");
		exit(1);
	}
	opt.plan.server.sin_port = htons((uint16_t)bench_number(argv[optind + 1], 1, UINT16_MAX));
	return opt;
}

int
main(int argc, char **argv)
{
	static struct talk t;
	struct talk_counts from, to;
	uint64_t from_ns, to_ns;
	uint32_t stuck;

	t.opt = options_of(argc, argv);
	t.opt.plan.run = (uint32_t)bench_mix(bench_ns());
	t.epoll = epoll_create1(0);
	t.conns = bench_map(t.opt.connections * sizeof *t.conns);
	for (uint32_t i = 0; i < t.opt.connections; i++) {
		t.conns[i].counts = &t.counts;
		t.conns[i].chance = bench_mix((uint64_t)t.opt.seed << 32 | i);
		begin(&t, &t.conns[i]);
	}
	if (t.opt.connect_ms != 0)
		connect_all(&t);
	run(&t, "warming up", t.opt.warm_ms);
	from = t.counts;
	from_ns = bench_ns();
	run(&t, "measuring", t.opt.ms);
	to = t.counts;
	to_ns = bench_ns();
	t.draining = true;
	fprintf(stderr, "draining\n");
	run(&t, "draining", t.opt.drain_ms);
	stuck = waiting(&t);
	for (uint32_t i = 0; i < t.opt.connections; i++)
		if (t.conns[i].fd >= 0) {
			note_end(&t, &t.conns[i]);
			talk_close(&t.conns[i]);
		}
	report_rates(&from, &to, (double)(to_ns - from_ns) / 1e9);
	report_counts(&t, stuck);
	return 0;
}

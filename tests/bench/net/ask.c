/*
 * ask.c - a kernel client that keeps many sockets busy, to measure the throughput of a cache
 * behind the kernel's sockets and its CPU time.
 *
 * It runs a closed loop over epoll: every connection has its requests in flight, and sends a new
 * one for each answer. Every value is compared. Latency is the time from a request's send to the
 * visit that reads its answer. With --server-pid the CPU time of that process's threads is read
 * at both ends of the measured time, as are this process's and the machine's: the kernel does
 * part of a server's work on the CPU of the sender. Ends with one line of JSON.
 *
 *     ask HOST PORT [--udp] [--redis] [--connections N] [--depth N] [--multiget N] [--sets PERCENT]
 *         [--keys N] [--zipf S] [--warm-ms MS] [--ms MS] [--server-pid PID] [--seed N] [--fill]
 */
#include "../bench_options.h"
#include "ask_flow.h"

#include "cpu_time.h"

#include "base/time_units.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS_MAX 6144u
#define EVENTS_MAX      256
#define MS_MAX          3600000u
#define WAIT_MS         10
#define SWEEP_NS        (50 * NS_PER_MS)
#define SILENCE_NS      (5000 * NS_PER_MS) /* without any answer there is no server */
#define KEY_BYTES       16u
#define VALUE_BYTES     32u

struct options {
	uint32_t connections, warm_ms, ms, server_pid;
	bool fill;
};

struct client {
	struct options opt;
	struct ask_plan plan;
	struct ask_flow *flows;
	struct histogram latency;
	int epoll;
};

static void
fail(const char *words)
{
	fprintf(stderr, "ask: %s\n", words);
	exit(1);
}

/* Ends the program for one flow, and says which it is and why it ended. */
static void
fail_flow(struct client *c, struct ask_flow *f)
{
	struct sockaddr_in own = {0};
	socklen_t len = sizeof own;

	if (f->end == ASK_FAILED && !c->plan.udp)
		ask_receive(f, &c->plan); /* what the server said before */
	getsockname(f->fd, (struct sockaddr *)&own, &len);
	fprintf(stderr, "ask: client %u of %u, port %u: ", (uint32_t)(f - c->flows) + 1,
		c->opt.connections, ntohs(own.sin_port));
	ask_end_print(f, stderr);
	exit(1);
}

static uint64_t
count(const struct client *c, enum load_counter which)
{
	return counter_read(&c->plan.tally[which]);
}

static void
watch(struct client *c, struct ask_flow *f, int how)
{
	struct epoll_event e = {.events = EPOLLIN | (f->blocked ? EPOLLOUT : 0), .data.ptr = f};

	if (epoll_ctl(c->epoll, how, f->fd, &e) != 0)
		fail("epoll_ctl does not work");
}

static void
open_all(struct client *c)
{
	const size_t bytes = c->opt.connections * sizeof *c->flows;

	c->epoll = epoll_create1(0);
	c->flows = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c->flows == MAP_FAILED)
		fail("no memory");
	for (uint32_t i = 0; i < c->opt.connections; i++) {
		if (!ask_open(&c->flows[i], &c->plan)) {
			fprintf(stderr, "ask: client %u of %u: connect: %s\n", i + 1,
				c->opt.connections, strerror(errno));
			exit(1);
		}
		watch(c, &c->flows[i], EPOLL_CTL_ADD);
	}
}

static void
send_more(struct client *c, struct ask_flow *f, uint64_t now_ns)
{
	const bool was_blocked = f->blocked;

	if (!ask_send(f, &c->plan, now_ns))
		fail_flow(c, f);
	if (f->blocked != was_blocked)
		watch(c, f, EPOLL_CTL_MOD);
}

static void
sweep(struct client *c, uint64_t now_ns)
{
	for (uint32_t i = 0; i < c->opt.connections; i++) {
		ask_overdue(&c->flows[i], &c->plan, now_ns);
		send_more(c, &c->flows[i], now_ns);
	}
}

static bool
waiting(const struct client *c)
{
	for (uint32_t i = 0; i < c->opt.connections; i++)
		if (c->flows[i].count != 0)
			return true;
	return false;
}

/* Runs until that time; without one, until no request is in flight. */
static void
run(struct client *c, uint64_t end_ns)
{
	struct epoll_event events[EVENTS_MAX];
	uint64_t swept_ns = 0, answered = UINT64_MAX, heard_ns = clock_ns(CLOCK_MONOTONIC);

	for (;;) {
		const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
		int n;

		if (end_ns != 0 && now_ns >= end_ns)
			return;
		if (now_ns - swept_ns >= SWEEP_NS) {
			sweep(c, now_ns);
			swept_ns = now_ns;
			if (count(c, LOAD_ANSWERED) != answered)
				heard_ns = now_ns;
			answered = count(c, LOAD_ANSWERED);
			if (now_ns - heard_ns > SILENCE_NS)
				fail("no answer any more");
		}
		if (end_ns == 0 && !waiting(c))
			return;
		n = epoll_wait(c->epoll, events, EVENTS_MAX, WAIT_MS);
		for (int i = 0; i < n; i++) {
			struct ask_flow *f = events[i].data.ptr;

			c->plan.heard_ns = clock_ns(CLOCK_MONOTONIC);
			if (!ask_receive(f, &c->plan))
				fail_flow(c, f);
			send_more(c, f, c->plan.heard_ns);
		}
	}
}

static void
fill(struct client *c)
{
	c->plan.filling = true;
	c->plan.fill_end = c->plan.w.keys.n;
	run(c, 0);
	if (count(c, LOAD_STORED) != c->plan.w.keys.n)
		fail("not all keys were stored");
	printf("{\"part\": \"fill\", \"stored\": %llu}\n",
	       (unsigned long long)count(c, LOAD_STORED));
}

struct moment {
	uint64_t ns, answered, keys, lost;
	double server_s, own_s, machine_s;
};

static struct moment
moment_now(const struct client *c)
{
	const struct moment m = {
		.ns = clock_ns(CLOCK_MONOTONIC),
		.answered = count(c, LOAD_ANSWERED),
		.keys = count(c, LOAD_KEYS_ASKED),
		.lost = count(c, LOAD_LOST),
		.server_s = c->opt.server_pid != 0 ? cpu_time_of(c->opt.server_pid) : 0,
		.own_s = cpu_time_of((uint32_t)getpid()),
		.machine_s = cpu_time_machine(),
	};

	return m;
}

static void
report(const struct client *c, const struct moment *from, const struct moment *to)
{
	const double s = (double)(to->ns - from->ns) / 1e9;
	const uint64_t wrong = count(c, LOAD_WRONG_KEY) + count(c, LOAD_WRONG_VALUE) +
			       count(c, LOAD_BROKEN) + count(c, LOAD_REFUSED);

	printf("{\"part\": \"ask\", \"seconds\": %.4f, \"requests_per_s\": %.1f, "
	       "\"keys_per_s\": %.1f, \"requests\": %llu, \"server_cpu_s\": %.4f, "
	       "\"client_cpu_s\": %.4f, \"machine_cpu_s\": %.2f, \"wrong\": %llu, \"hits\": %llu, "
	       "\"misses\": %llu, \"lost\": %llu, \"mean_us\": %.3f, \"p50_us\": %.3f, \"p99_us\": "
	       "%.3f}\n",
	       s, (double)(to->answered - from->answered) / s, (double)(to->keys - from->keys) / s,
	       (unsigned long long)(to->answered - from->answered), to->server_s - from->server_s,
	       to->own_s - from->own_s, to->machine_s - from->machine_s, (unsigned long long)wrong,
	       (unsigned long long)count(c, LOAD_HITS), (unsigned long long)count(c, LOAD_MISSES),
	       (unsigned long long)(to->lost - from->lost), histogram_mean(&c->latency) / 1e3,
	       (double)histogram_quantile(&c->latency, 0.5) / 1e3,
	       (double)histogram_quantile(&c->latency, 0.99) / 1e3);
}

static void
measure(struct client *c)
{
	struct moment from, to;

	run(c, clock_ns(CLOCK_MONOTONIC) + c->opt.warm_ms * NS_PER_MS);
	histogram_clear(&c->latency);
	c->plan.latency = &c->latency;
	from = moment_now(c);
	run(c, clock_ns(CLOCK_MONOTONIC) + c->opt.ms * NS_PER_MS);
	to = moment_now(c);
	c->plan.latency = NULL;
	c->plan.stopping = true;
	run(c, 0);
	report(c, &from, &to);
}

static void
options_of(struct client *c, int argc, char **argv)
{
	struct ask_plan *plan = &c->plan;
	uint32_t sets = 5, seed = UINT32_MAX;
	bool redis = false;
	const struct bench_option known[] = {
		BENCH_FLAG("udp", &plan->udp),
		BENCH_FLAG("redis", &redis),
		BENCH_FLAG("fill", &c->opt.fill),
		BENCH_NUMBER("connections", &c->opt.connections, 1, CONNECTIONS_MAX),
		BENCH_NUMBER("depth", &plan->depth, 1, ASK_DEPTH_MAX),
		BENCH_NUMBER("multiget", &plan->w.multiget, 1, MULTIGET_MAX),
		BENCH_NUMBER("sets", &sets, 0, 100),
		BENCH_NUMBER("keys", &plan->w.keys.n, 1, KEYS_MAX),
		BENCH_NUMBER("zipf", &plan->w.keys.zipf_s, 0.01, ZIPF_S_MAX),
		BENCH_NUMBER("warm-ms", &c->opt.warm_ms, 0, MS_MAX),
		BENCH_NUMBER("ms", &c->opt.ms, 1, MS_MAX),
		BENCH_NUMBER("server-pid", &c->opt.server_pid, 1, INT32_MAX),
		BENCH_NUMBER("seed", &seed, 0, UINT32_MAX),
		{0}};

	c->opt = (struct options){.connections = 50, .ms = 1000};
	plan->depth = 1;
	plan->w = (struct workload){.keys = {.kind = KEYS_UNIFORM, .n = 1000000}, .multiget = 1};
	bench_options(argc, argv, known);
	plan->talk = redis ? ASK_RESP : plan->talk;
	plan->w.set_share = sets / 100.0;
	if (plan->w.keys.zipf_s > 0)
		plan->w.keys.kind = KEYS_ZIPF;
	if (seed != UINT32_MAX)
		plan->rng.state = load_mix(seed);
	plan->server.sin_family = AF_INET;
	if (argc - optind != 2 || inet_pton(AF_INET, argv[optind], &plan->server.sin_addr) != 1)
		fail("an IPv4 address and a port are expected");
	plan->server.sin_port = htons((uint16_t)bench_number(argv[optind + 1], 1, UINT16_MAX));
	if (plan->udp && (plan->w.multiget > 1 || plan->talk == ASK_RESP))
		fail("over UDP there are single gets of memcached's protocol only");
}

int
main(int argc, char **argv)
{
	static struct client c;

	options_of(&c, argc, argv);
	size_distribution_uniform(&c.plan.w.key_size, KEY_BYTES, KEY_BYTES);
	size_distribution_uniform(&c.plan.w.value_size, VALUE_BYTES, VALUE_BYTES);
	workload_init(&c.plan.w);
	open_all(&c);
	if (c.opt.fill)
		fill(&c);
	else
		measure(&c);
	return 0;
}

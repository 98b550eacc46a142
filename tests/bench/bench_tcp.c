/*
 * bench_tcp.c - measures the cost of a TCP request in the stack, without loss: frame in, frame
 * out.
 *
 * There are 64 connections. A burst has one request of 30 bytes from each, answered with 60
 * bytes; each request acknowledges the previous answer. The service copies a prepared answer, so
 * the figures are the stack's. Cycles are the median of several runs; for instructions, which do
 * not depend on other processes, start it under callgrind with --toggle-collect=turn.
 *
 *   bench_tcp [RUNS [TURNS]]
 */
#include "sim_frame.h"
#include "sim_stack.h"

#include "base/check.h"
#include "base/ticks.h"

#include "../support/sorted.h"

#include <stdio.h>
#include <stdlib.h>

#define CONNS    64u
#define REQUEST  30u
#define REPLY    60u
#define FRAMES   2048u
#define RUNS_MAX 99u
#define TURN_NS  50000u
#define CLIENT   (SIM_PEERS + 7)
#define PORT(i)  (uint16_t)(20000u + (i))

struct client {
	uint32_t seq, ack;
};

struct bench {
	struct sim_stack *ss;
	struct client client[CONNS];
	uint32_t answered;
};

static const uint8_t text[REPLY];

static void
serve(void *arg)
{
	struct bench *b = arg;
	struct stack *s = b->ss->stack;
	struct conn *c;

	while ((c = stack_pop_ready(s)) != NULL) {
		const uint32_t n = conn_peek(c).len;

		if (n == 0 || !conn_writable(s, c, 1))
			continue;
		conn_advance(s, c, n);
		memcpy(conn_reserve(s, c, REPLY), text, REPLY);
		conn_commit(s, c, REPLY);
	}
}

static void
feed(struct bench *b, uint32_t i, uint8_t flags, uint32_t len)
{
	struct client *cl = &b->client[i];
	struct sim_segment seg = {
		.src_ip = CLIENT,
		.dst_ip = SIM_IP,
		.tcp = {.src_port = PORT(i),
			.dst_port = SIM_PORT,
			.seq = cl->seq,
			.ack = cl->ack,
			.window = 60000,
			.flags = flags,
			.payload = {text, len}},
	};
	uint8_t bytes[MEM_FRAME_BYTES], *to;
	uint32_t frame_len;

	if (flags & TCP_SYN) {
		seg.tcp.opt.seen = TCP_HAS_MSS | TCP_HAS_SACK_PERMITTED;
		seg.tcp.opt.mss = 1460;
	}
	frame_len = sim_write_segment(bytes, sim_mac, sim_peer_mac, &seg);
	to = mem_port_feed(b->ss->port, frame_len, FRAME_IP_CKSUM_GOOD | FRAME_L4_CKSUM_GOOD);
	ensure(to != NULL);
	memcpy(to, bytes, frame_len);
	cl->seq += len + !!(flags & TCP_SYN);
}

static void
collect(struct bench *b)
{
	const uint8_t *frame;
	uint32_t len;

	while ((frame = mem_port_sent(b->ss->port, &len)) != NULL) {
		struct sim_segment seg;

		if (sim_read_segment(&seg, frame, len)) {
			const uint32_t i = seg.tcp.dst_port - PORT(0);

			ensure(i < CONNS && !(seg.tcp.flags & TCP_RST));
			b->client[i].ack =
				seg.tcp.seq + seg.tcp.payload.len + !!(seg.tcp.flags & TCP_SYN);
			b->answered += seg.tcp.payload.len == REPLY;
		}
		mem_port_done(b->ss->port);
	}
}

__attribute__((noinline)) static uint64_t
turn(struct sim_stack *ss)
{
	const uint64_t t = ticks_read();

	sim_stack_turn(ss);
	return ticks_read() - t;
}

static uint64_t
burst(struct bench *b, uint8_t flags, uint32_t len)
{
	uint64_t cycles;

	for (uint32_t i = 0; i < CONNS; i++)
		feed(b, i, flags, len);
	b->ss->now_ns += TURN_NS;
	cycles = turn(b->ss);
	collect(b);
	return cycles;
}

static void
opened(void *arg, struct conn *c)
{
}

int
main(int argc, char **argv)
{
	const uint32_t runs = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 9;
	const uint32_t turns = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 2000;
	struct stack_config cfg = sim_config(1);
	static struct bench b;
	const struct stack_user user = {.arg = &b, .opened = opened, .gone = opened};
	uint64_t cycles[RUNS_MAX];

	if (runs < 1 || runs > RUNS_MAX || turns < 1) {
		fprintf(stderr, "usage: bench_tcp [RUNS (1-%u) [TURNS]]\n", RUNS_MAX);
		return 1;
	}
	cfg.tcp.conns_max = 2 * CONNS;
	b.ss = sim_stack_create(&cfg, FRAMES, PORT_TX_IP_CKSUM | PORT_TX_TCP_CKSUM);
	b.ss->serve = serve;
	b.ss->arg = &b;
	stack_attach(b.ss->stack, &user);
	sim_stack_turn(b.ss);
	burst(&b, TCP_SYN, 0);
	burst(&b, TCP_ACK, 0);
	burst(&b, TCP_ACK | TCP_PSH, REQUEST);
	for (uint32_t r = 0; r < runs; r++) {
		cycles[r] = 0;
		for (uint32_t i = 0; i < turns; i++)
			cycles[r] += burst(&b, TCP_ACK | TCP_PSH, REQUEST);
		cycles[r] /= (uint64_t)turns * CONNS;
	}
	ensure(b.answered == (runs * turns + 1) * CONNS);
	sort_u64(cycles, runs);
	printf("TCP request through the stack: %llu cycles (least %llu, most %llu of %u runs)\n",
	       (unsigned long long)cycles[runs / 2], (unsigned long long)cycles[0],
	       (unsigned long long)cycles[runs - 1], runs);
	sim_stack_destroy(b.ss);
	return 0;
}

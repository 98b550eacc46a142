/*
 * fuzz_tcp.c - hostile peers against a listening stack.
 *
 * Goal: no sequence of segments, times and user actions breaks an invariant (ensure), reads
 * past a buffer, or leaves anything held once every timer has had its say. Method: the input is
 * a list of orders. A segment is made from a template near the window the stack really has
 * (learned from what it sends), mutated, and its checksums set right, so that the fuzzer gets
 * into open and closing connections and not only into the checksum's refusal.
 *
 * Bounds: ORDERS_MAX orders an input.
 */
#include "../fuzz_target.h"
#include "sim_frame.h"
#include "sim_stack.h"

#include "base/check.h"
#include "wire/ipv4_wire.h"
#include "wire/eth_wire.h"

#include <stdlib.h>

#define ORDERS_MAX 400u
#define FRAMES     400u
#define PEERS      3u
#define PEER_ISS   0xfffff800u

#define HOW_OPTIONS 6u /* a kind of segment: an ACK with options */

struct peer {
	uint16_t port;
	struct conn *conn;
	uint32_t nxt;  /* what the stack says it expects */
	uint32_t sent; /* the end of what the stack sent */
};

struct input {
	const uint8_t *at;
	size_t left;
};

struct fuzz {
	struct sim_stack *ss;
	struct peer peer[PEERS];
	struct peer *now; /* whom orders are about */
	uint32_t opened, gone, lent, released;
	bool reads, echoes;
};

static const uint8_t lent_bytes[8192];

static uint32_t
take(struct input *in, uint32_t bytes)
{
	uint32_t v = 0;

	for (; bytes > 0 && in->left > 0; bytes--, in->left--)
		v = v << 8 | *in->at++;
	return v;
}

static void
on_opened(void *arg, struct conn *c)
{
	struct fuzz *f = arg;

	f->opened++;
	f->now->conn = c;
}

static void
on_gone(void *arg, struct conn *c)
{
	struct fuzz *f = arg;

	f->gone++;
	for (uint32_t i = 0; i < PEERS; i++)
		if (f->peer[i].conn == c)
			f->peer[i].conn = NULL;
}

static void
on_release(const void *arg)
{
	struct fuzz *f = (struct fuzz *)(uintptr_t)arg;

	f->released++;
}

static void
write_some(struct fuzz *f, struct conn *c, const uint8_t *bytes, uint32_t len)
{
	struct stack *s = f->ss->stack;
	uint8_t *to;

	len = len < CONN_RESERVE_MAX ? len : CONN_RESERVE_MAX;
	if (!conn_writable(s, c, 1))
		return;
	to = conn_reserve(s, c, len);
	ensure(to != NULL);
	memcpy(to, bytes, len);
	conn_commit(s, c, len);
}

static void
serve(void *arg)
{
	struct fuzz *f = arg;
	struct stack *s = f->ss->stack;
	struct conn *c;

	for (uint32_t i = 0; i < PEERS && (c = stack_pop_ready(s)) != NULL; i++) {
		struct view v = conn_peek(c);

		if (!f->reads)
			continue;
		for (; v.len > 0; v = conn_peek(c)) {
			if (f->echoes)
				write_some(f, c, v.data, v.len);
			conn_advance(s, c, v.len);
		}
		if (conn_eof(c))
			conn_close(s, c);
	}
}

/* Take what was sent, and learn from it where the stack's windows are. */
static void
listen_to_stack(struct fuzz *f)
{
	const uint8_t *frame;
	struct sim_segment seg;
	uint32_t len;

	for (; (frame = mem_port_sent(f->ss->port, &len)) != NULL; mem_port_done(f->ss->port)) {
		if (!sim_read_segment(&seg, frame, len))
			continue;
		for (uint32_t i = 0; i < PEERS; i++) {
			struct peer *p = &f->peer[i];

			if (p->port != seg.tcp.dst_port)
				continue;
			if (seg.tcp.flags & TCP_ACK)
				p->nxt = seg.tcp.ack;
			p->sent = seg.tcp.seq + seg.tcp.payload.len +
				  !!(seg.tcp.flags & (TCP_SYN | TCP_FIN));
		}
	}
}

static void
turn(struct fuzz *f)
{
	sim_stack_turn(f->ss);
	listen_to_stack(f);
	f->ss->now_ns += 1000;
}

/* Any byte of the segment may be changed; the checksum then says that it is meant so. */
static void
mutate(uint8_t *frame, uint32_t len, uint32_t at, uint8_t change)
{
	uint8_t *tcp = frame + SIM_TCP_AT;
	const uint32_t tcp_len = len - SIM_TCP_AT;
	const struct ipv4_header *ip = (const void *)(frame + ETH_HEADER_BYTES);
	struct be16 sum = {{0, 0}};

	tcp[at % tcp_len] ^= change;
	memcpy(tcp + TCP_CKSUM_AT, sum.b, sizeof sum);
	sum = inet_cksum(inet_sum(
		inet_sum_pseudo(be32_get(ip->src), be32_get(ip->dst), IPV4_TCP, (uint16_t)tcp_len),
		tcp, tcp_len));
	memcpy(tcp + TCP_CKSUM_AT, sum.b, sizeof sum);
}

/* Any option on a SYN; timestamps and SACK blocks, near what was sent, on others. */
static void
take_options(struct input *in, struct tcp_seg *seg, struct tcp_sack_block *blocks)
{
	struct tcp_options *opt = &seg->opt;

	opt->seen = (uint8_t)take(in, 1) & (TCP_HAS_MSS | TCP_HAS_WSCALE | TCP_HAS_SACK_PERMITTED |
					    TCP_HAS_TIMESTAMPS | TCP_HAS_SACK);
	opt->mss = (uint16_t)take(in, 2);
	opt->wscale = take(in, 1) % (TCP_WSCALE_MAX + 1);
	if (opt->seen & TCP_HAS_TIMESTAMPS) {
		opt->ts_value = take(in, 2) << 16;
		opt->ts_echo = take(in, 2);
	}
	if (!(opt->seen & TCP_HAS_SACK))
		return;
	opt->sack = blocks;
	opt->sack_count = take(in, 1) % TCP_SACK_MAX + 1;
	for (uint32_t i = 0; i < opt->sack_count; i++) {
		const uint32_t begin = seg->ack + (uint32_t)(int16_t)take(in, 2);

		blocks[i].begin = be32_of(begin);
		blocks[i].end = be32_of(begin + (uint32_t)(int16_t)take(in, 2));
	}
}

static void
send_segment(struct fuzz *f, struct input *in, uint32_t how)
{
	static const uint8_t flags[8] = {
		TCP_ACK, TCP_ACK | TCP_PSH, TCP_ACK | TCP_FIN, TCP_SYN,
		TCP_RST, TCP_ACK | TCP_RST, TCP_ACK,           0,
	};
	struct peer *p = f->now;
	const uint8_t *text = in->at;
	struct tcp_sack_block blocks[TCP_SACK_MAX];
	struct sim_segment seg = {.src_ip = SIM_PEERS + 1, .dst_ip = SIM_IP};
	uint8_t frame[MEM_FRAME_BYTES];
	uint8_t *to;
	uint32_t len;

	seg.tcp.src_port = p->port;
	seg.tcp.dst_port = SIM_PORT;
	seg.tcp.flags = how & 0x40 ? (uint8_t)take(in, 1) : flags[how & 7];
	seg.tcp.seq = p->nxt + (how & 0x08 ? (uint32_t)(int16_t)take(in, 2) : 0);
	seg.tcp.ack = p->sent + (how & 0x10 ? (uint32_t)(int16_t)take(in, 2) : 0);
	seg.tcp.window = how & 0x20 ? (uint16_t)take(in, 2) : 30000;
	if (seg.tcp.flags & TCP_SYN || (how & 7) == HOW_OPTIONS)
		take_options(in, &seg.tcp, blocks);
	len = (seg.tcp.flags & (TCP_PSH | TCP_FIN)) || how & 0x08 ? take(in, 2) % 1400 : 0;
	if (len > 0)
		seg.tcp.payload = (struct view){len <= in->left ? text : lent_bytes, len};
	len = sim_write_segment(frame, sim_mac, sim_peer_mac, &seg);
	if (how & 0x80)
		mutate(frame, len, take(in, 1), (uint8_t)take(in, 1));
	to = mem_port_feed(f->ss->port, len, 0);
	if (to != NULL)
		memcpy(to, frame, len);
}

static void
user_order(struct fuzz *f, struct input *in, uint32_t what)
{
	struct stack *s = f->ss->stack;
	struct conn *c = f->now->conn;

	if (c == NULL)
		return;
	switch (what % 6) {
	case 0:
		write_some(f, c, lent_bytes, 1 + take(in, 2) % CONN_RESERVE_MAX);
		break;
	case 1:
		conn_close(s, c);
		break;
	case 2:
		conn_abort(s, c);
		break;
	case 3:
		if (conn_extern(s, c, lent_bytes, 1 + take(in, 2) % sizeof lent_bytes, on_release,
				f))
			f->lent++;
		break;
	case 4:
		conn_advance(s, c, conn_peek(c).len);
		break;
	default:
		conn_again(s, c);
	}
}

static void
obey(struct fuzz *f, struct input *in)
{
	const uint32_t order = take(in, 1);

	f->now = &f->peer[(order >> 3) % PEERS];
	switch (order & 7) {
	case 0:
		sim_stack_run(f->ss, f->ss->now_ns + (take(in, 1) + 1) * 1000000ull);
		break;
	case 1:
		sim_stack_run(f->ss, f->ss->now_ns + (take(in, 1) + 1) * 500000000ull);
		break;
	case 2:
		user_order(f, in, take(in, 1));
		break;
	case 3:
		f->reads = order & 0x80;
		f->echoes = order & 0x40;
		f->ss->port->tx_limit = order & 0x20 ? 2 : MEM_RING; /* a slow port */
		break;
	case 4: /* two segments in one burst */
		send_segment(f, in, take(in, 1));
		send_segment(f, in, take(in, 1));
		break;
	default:
		send_segment(f, in, take(in, 1));
	}
	turn(f);
}

/* The peers are gone and so is the user's patience. */
static void
check_nothing_held(struct fuzz *f)
{
	struct stack_usage use;

	f->ss->port->tx_limit = MEM_RING;
	f->reads = true;
	for (uint32_t i = 0; i < 120 && !stack_drain(f->ss->stack, f->ss->now_ns); i++) {
		sim_stack_run(f->ss, f->ss->now_ns + 10000000000ull);
		listen_to_stack(f);
	}
	sim_stack_run(f->ss, f->ss->now_ns + 10000000000ull);
	listen_to_stack(f);
	turn(f);
	stack_usage_mt(f->ss->stack, &use);
	ensure(use.conns == 0 && use.chunks_used == 0 && use.rx_frames_held == 0);
	ensure(f->opened == f->gone && f->lent == f->released);
	ensure(mem_port_held(f->ss->port) <= OUTBOX_MAX);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stack_config cfg = sim_config(1);
	struct fuzz f = {.now = &f.peer[0], .reads = true};
	const struct stack_user user = {.arg = &f, .opened = on_opened, .gone = on_gone};
	struct input in = {data, size};

	cfg.conns_max = 2;
	cfg.chunks = 8;
	cfg.rx_frames_max = 16;
	for (uint32_t i = 0; i < PEERS; i++)
		f.peer[i] = (struct peer){.port = (uint16_t)(1000 + i), .nxt = PEER_ISS};
	f.ss = sim_stack_create(&cfg, FRAMES, 0);
	f.ss->serve = serve;
	f.ss->arg = &f;
	stack_attach(f.ss->stack, &user);
	for (uint32_t i = 0; i < ORDERS_MAX && in.left > 0; i++)
		obey(&f, &in);
	check_nothing_held(&f);
	sim_stack_destroy(f.ss);
	return 0;
}

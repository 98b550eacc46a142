/*
 * fuzz_tcp.c - hostile peers against a stack that listens and opens.
 *
 * Goal:   no sequence of segments, times and user actions breaks an invariant (ensure), reads
 *         past a buffer, or leaves anything held once every timer has fired; every frame sent is
 *         right by lengths and checksums; and if the peers are honest about their bytes, the user
 *         reads theirs and the frames carry the user's, each at its sequence number. Method: the
 *         input is a byte of settings and a list of orders. A segment is made from a template
 *         near the window the stack really has (learned from what it sends), mutated, and its
 *         checksums set right, so that the fuzzer gets into open and closing connections and not
 *         only into the checksum's refusal. With two slots the third SYN is answered by a cookie.
 *
 * Bounds: ORDERS_MAX orders an input.
 */
#include "../fuzz_target.h"
#include "sim_frame.h"
#include "sim_stack.h"

#include "base/check.h"
#include "tcp/tcp_conn.h"
#include "wire/arp_wire.h"
#include "wire/eth_wire.h"

#include <stdlib.h>

#define ORDERS_MAX 400u
#define FRAMES     400u
#define PEERS      3u
#define PEER_ISS   0xfffff800u

#define PEER_IP    (SIM_PEERS + 1)
#define LENT_BYTES 8192u
#define TEXT_TURN  4096u /* the period of honest text */

/* Settings in the first byte of an input. */
enum setting {
	SET_HONEST = 1, /* a byte of text shows its sequence number; nothing is changed in flight */
	SET_STAMPS = 2,
	SET_MORE = 4, /* slots, so that no SYN is refused */
	SET_ICMP = 8, /* every eighth order is a router's */
	SET_IPV6 = 16,
	SET_ECN = 32, /* our SYNs ask, and an order of flags has an ECN field too */
	SET_DCTCP = 64,
};

#define HOW_OPTIONS 6u /* a kind of segment: an ACK with options */

struct peer {
	uint16_t port;
	struct conn *conn;
	uint32_t nxt;  /* the number that the stack expects */
	uint32_t sent; /* the end of what the stack sent */
	bool open;     /* opened() was called; conn may be one that is not yet open */
};

struct input {
	const uint8_t *at;
	size_t left;
};

struct fuzz {
	struct sim_stack *ss;
	struct peer peer[PEERS];
	struct peer *now; /* the peer of the next orders */
	uint32_t opened, gone, lent, released;
	bool reads, echoes, honest, icmp, ipv6, ecn;
};

static uint8_t lent_bytes[LENT_BYTES + TEXT_TURN];

static uint8_t
honest_at(uint32_t seq)
{
	return (uint8_t)(seq * 31 + (seq >> 8 & 15) * 7);
}

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
	f->now->open = true;
}

/* Forgets a connection that has ended. */
static void
forget(struct fuzz *f, const struct conn *c)
{
	for (uint32_t i = 0; i < PEERS; i++)
		if (f->peer[i].conn == c) {
			f->peer[i].conn = NULL;
			f->peer[i].open = false;
		}
}

static void
on_gone(void *arg, struct conn *c)
{
	struct fuzz *f = arg;

	f->gone++;
	forget(f, c);
}

static void
on_failed(void *arg, struct conn *c, enum conn_failure why)
{
	forget(arg, c);
}

static void
on_release(const void *arg)
{
	struct fuzz *f = (struct fuzz *)(uintptr_t)arg;

	f->released++;
}

/* Returns the bytes to write: honest ones for their place in the stream. */
static const uint8_t *
bytes_for(const struct fuzz *f, const struct conn *c, const uint8_t *bytes)
{
	return f->honest ? lent_bytes + conn_tx_end(c) % TEXT_TURN : bytes;
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
	memcpy(to, bytes_for(f, c, bytes), len);
	conn_commit(s, c, len);
}

/* Checks that the bytes which the user reads are at their place in the peer's sequence space. */
static void
judge_text(const struct fuzz *f, const struct conn *c, struct view v)
{
	const uint32_t seq = c->rcv_nxt - !!(c->flags & CONN_EOF) - c->rx.bytes;

	for (uint32_t i = 0; f->honest && i < v.len; i++)
		ensure(v.data[i] == honest_at(seq + i));
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
			judge_text(f, c, v);
			if (f->echoes)
				write_some(f, c, v.data, v.len);
			conn_advance(s, c, v.len);
		}
		if (conn_eof(c))
			conn_close(s, c);
	}
}

static void
judge_sent(const struct fuzz *f, const struct tcp_seg *seg)
{
	for (uint32_t i = 0; f->honest && i < seg->payload.len; i++)
		ensure(seg->payload.data[i] == honest_at(seg->seq + i));
}

/* Takes the frames sent, and learns from them where the stack's windows are. */
static void
listen_to_stack(struct fuzz *f)
{
	const uint8_t *frame;
	struct sim_segment seg;
	uint32_t len;

	for (; (frame = mem_port_sent(f->ss->port, &len)) != NULL; mem_port_done(f->ss->port)) {
		if (!sim_read_segment(&seg, frame, len))
			continue;
		judge_sent(f, &seg.tcp);
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

/* Changes any byte of the segment and makes the checksum right again. */
static void
mutate(uint8_t *frame, uint32_t len, const struct sim_segment *seg, struct input *in)
{
	const uint32_t tcp_at = seg->ipv6 ? SIM_TCP_AT_V6 : SIM_TCP_AT;
	const uint32_t at = take(in, 1);

	frame[tcp_at + at % (len - tcp_at)] ^= (uint8_t)take(in, 1);
	sim_cksum_segment(frame, len, seg);
}

/* Takes options: any on a SYN; timestamps and SACK blocks, near the numbers sent, on others. */
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
	struct sim_segment seg = {.src_ip = PEER_IP, .dst_ip = SIM_IP, .ipv6 = f->ipv6};
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
	if (f->honest)
		seg.tcp.payload.data =
			lent_bytes + (seg.tcp.seq + !!(seg.tcp.flags & TCP_SYN)) % TEXT_TURN;
	len = sim_write_segment(frame, sim_mac, sim_peer_mac, &seg);
	if (f->ecn && how & 0x40)
		sim_frame_ecn(frame, (enum ip_ecn)(take(in, 1) & IP_ECN_MASK));
	if (how & 0x80 && !f->honest)
		mutate(frame, len, &seg, in);
	to = mem_port_feed(f->ss->port, len, 0);
	if (to != NULL)
		memcpy(to, frame, len);
}

/* Opens a connection to the peer. The stack learns its MAC first. */
static void
open_to_peer(struct fuzz *f)
{
	struct arp arp = {.op = ARP_REQUEST, .sender_ip = PEER_IP, .target_ip = SIM_IP};
	const struct conn_target to = {
		.ip = ip_addr_v4(PEER_IP), .port = f->now->port, .local_port = SIM_PORT};
	uint8_t *frame;

	if (f->ipv6)
		return; /* scripts do that; no peer here answers neighbour discovery */
	frame = mem_port_feed(f->ss->port, ETH_HEADER_BYTES + ARP_PACKET_BYTES, 0);
	if (frame == NULL)
		return;
	memcpy(arp.sender_mac, sim_peer_mac, sizeof arp.sender_mac);
	eth_emit(frame, sim_mac, sim_peer_mac, ETH_TYPE_ARP);
	arp_emit(frame + ETH_HEADER_BYTES, &arp);
	sim_stack_turn(f->ss);
	if (f->now->conn == NULL)
		f->now->conn = conn_connect(f->ss->stack, &to);
}

static void
end_order(struct fuzz *f, struct conn *c, bool abort)
{
	const bool open = f->now->open;

	if (abort)
		conn_abort(f->ss->stack, c);
	else
		conn_close(f->ss->stack, c);
	if (!open)
		forget(f, c);
}

static void
user_order(struct fuzz *f, struct input *in, uint32_t what)
{
	struct stack *s = f->ss->stack;
	struct conn *c = f->now->conn;

	if (c == NULL) {
		if (what & 0x40)
			open_to_peer(f);
		return;
	}
	if (what % 6 == 1 || what % 6 == 2) {
		end_order(f, c, what % 6 == 2);
		return;
	}
	if (!f->now->open)
		return;
	switch (what % 6) {
	case 0:
		write_some(f, c, lent_bytes, 1 + take(in, 2) % CONN_RESERVE_MAX);
		break;
	case 3:
		if (conn_write_external(s, c, bytes_for(f, c, lent_bytes),
					1 + take(in, 2) % LENT_BYTES, on_release, f))
			f->lent++;
		break;
	case 4:
		judge_text(f, c, conn_peek(c));
		conn_advance(s, c, conn_peek(c).len);
		break;
	default:
		conn_requeue(s, c);
	}
}

/* Sends a router's report that a segment near there was too long. */
static void
send_too_big(struct fuzz *f, struct input *in)
{
	const struct sim_segment quoted = {
		.src_ip = SIM_IP,
		.dst_ip = PEER_IP,
		.ipv6 = f->ipv6,
		.tcp =
			{
				.src_port = SIM_PORT,
				.dst_port = f->now->port,
				.seq = f->now->sent + (uint32_t)(int16_t)take(in, 2),
				.flags = TCP_ACK,
			},
	};
	uint8_t packet[MEM_FRAME_BYTES], frame[MEM_FRAME_BYTES];
	const uint32_t packet_len = sim_write_segment(packet, sim_peer_mac, sim_mac, &quoted);
	const uint32_t len = sim_write_too_big(frame, packet, packet_len, (uint16_t)take(in, 2));
	uint8_t *to = mem_port_feed(f->ss->port, len, 0);

	if (to != NULL)
		memcpy(to, frame, len);
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
	case 7:
		if (f->icmp) {
			send_too_big(f, in);
			break;
		}
		/* fall through */
	default:
		send_segment(f, in, take(in, 1));
	}
	turn(f);
}

/* Checks that nothing is held once the peers and the user have left. */
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
	ensure(mem_port_held(f->ss->port) <= FRAME_CACHE_MAX);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stack_config cfg = sim_config(1);
	struct fuzz f = {.now = &f.peer[0], .reads = true};
	const struct stack_user user = {&f, on_opened, on_gone, on_failed};
	struct input in = {data, size};
	const uint32_t settings = take(&in, 1);

	for (uint32_t i = 0; i < sizeof lent_bytes; i++)
		lent_bytes[i] = honest_at(i);
	f.honest = settings & SET_HONEST;
	f.icmp = settings & SET_ICMP;
	f.ipv6 = settings & SET_IPV6;
	f.ecn = settings & SET_ECN;
	cfg.tcp.ecn = f.ecn ? ECN_ON : ECN_PASSIVE;
	cfg.tcp.congestion = settings & SET_DCTCP ? CC_DCTCP : CC_CUBIC;
	cfg.tcp.timestamps = settings & SET_STAMPS;
	cfg.net.ipv6 = sim_ip6(SIM_IP);
	cfg.net.prefix6_len = 64;
	cfg.tcp.conns_max = settings & SET_MORE ? 8 : 2;
	cfg.tcp.chunks = 8;
	cfg.net.rx_frames_max = 16;
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

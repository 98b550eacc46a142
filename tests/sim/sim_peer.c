#include "sim_peer.h"

#include "sim_stack.h"
#include "zeroed.h"

#include "base/check.h"

#include <stdlib.h>
#include <string.h>

#define OFF UINT64_MAX

struct sim_peers *
sim_peers_create(struct mem_port *port, uint64_t seed)
{
	struct sim_peers *ps = calloc(1, sizeof *ps);

	ensure(ps != NULL);
	ps->port = port;
	memcpy(ps->server_mac, sim_mac, sizeof ps->server_mac);
	ps->server_ip = SIM_IP;
	ps->server_port = SIM_PORT;
	ps->rng.state = seed;
	return ps;
}

void
sim_peers_destroy(struct sim_peers *ps)
{
	for (uint32_t i = 0; i < ps->count; i++) {
		zeroed_free(ps->peer[i].out, ps->peer[i].out_cap + 1);
		zeroed_free(ps->peer[i].in, ps->peer[i].in_cap + 1);
		zeroed_free(ps->peer[i].have, ps->peer[i].in_cap + 1);
	}
	free(ps);
}

struct sim_peer *
sim_peer_open(struct sim_peers *ps, uint32_t ip, uint16_t port, uint32_t out_cap, uint32_t in_cap)
{
	struct sim_peer *p = &ps->peer[ps->count];

	ensure(ps->count < PEERS_MAX);
	ps->count++;
	*p = (struct sim_peer){
		.state = PEER_SYN_SENT,
		.ip = ip,
		.port = port,
		.server_port = ps->server_port,
		.mss = MEM_MTU - 40,
		.window = UINT16_MAX,
		.out = zeroed_memory(out_cap + 1),
		.in = zeroed_memory(in_cap + 1),
		.have = zeroed_memory(in_cap + 1),
		.out_cap = out_cap,
		.in_cap = in_cap,
		.iss = (uint32_t)sim_random(&ps->rng),
	};
	return p; /* timer_ns is 0: due at once */
}

void
sim_peer_send(struct sim_peer *p, const void *bytes, uint32_t len)
{
	ensure(len <= p->out_cap - p->out_len);
	memcpy(p->out + p->out_len, bytes, len);
	p->out_len += len;
}

static uint32_t
window_left(const struct sim_peer *p)
{
	const uint32_t left = p->in_cap - p->in_len;

	return left < p->window ? left : p->window;
}

/* Sends a segment. Stream offset 0 is sequence number iss + 1. */
static bool
send_at(struct sim_peers *ps, struct sim_peer *p, uint8_t flags, uint32_t offset, uint32_t len)
{
	struct sim_segment seg = {
		.src_ip = p->ip,
		.dst_ip = ps->server_ip,
		.tcp =
			{
				.src_port = p->port,
				.dst_port = p->server_port,
				.seq = p->iss + 1 + offset,
				.ack = p->irs + 1 + p->in_len + p->fin_taken,
				.window = (uint16_t)(window_left(p) < UINT16_MAX ? window_left(p)
										 : UINT16_MAX),
				.flags = flags,
				.payload = {p->out + offset, len},
			},
	};
	struct burst b;

	if (flags & TCP_SYN) {
		seg.tcp.seq = p->iss;
		seg.tcp.ack = 0;
		seg.tcp.opt.seen = TCP_HAS_MSS | TCP_HAS_WSCALE;
		seg.tcp.opt.mss = p->mss;
	}
	ps->port->port.ops->alloc(&ps->port->port, &b, 1);
	if (b.count == 0)
		return false;
	b.len[0] = sim_write_segment(b.data[0], ps->server_mac, ps->port->port.mac, &seg);
	if (ps->port->port.ops->tx(&ps->port->port, &b) == 0)
		ps->port->port.ops->drop(&ps->port->port, b.frame, 1);
	p->ack_due = false;
	return true;
}

void
sim_peer_leave(struct sim_peers *ps, struct sim_peer *p)
{
	if (p->state == PEER_OPEN || p->state == PEER_SYN_SENT)
		send_at(ps, p, TCP_RST, p->snd_max, 0);
	p->state = PEER_LEFT;
	p->timer_ns = OFF;
}

static void
process_syn_ack(struct sim_peer *p, const struct tcp_seg *seg)
{
	if ((seg->flags & (TCP_SYN | TCP_ACK)) != (TCP_SYN | TCP_ACK) || seg->ack != p->iss + 1)
		return;
	p->irs = seg->seq;
	p->state = PEER_OPEN;
	p->rwnd = seg->window;
	p->rwnd_shift = seg->opt.seen & TCP_HAS_WSCALE ? seg->opt.wscale : 0;
	if (seg->opt.seen & TCP_HAS_MSS && seg->opt.mss < p->mss)
		p->mss = seg->opt.mss;
	p->ack_due = true;
	p->tries = 0;
	p->timer_ns = OFF;
}

static void
process_ack(struct sim_peer *p, const struct tcp_seg *seg, uint64_t now_ns)
{
	const uint32_t acked = seg->ack - (p->iss + 1);

	if (acked > p->snd_max)
		return; /* an old or invalid acknowledgment */
	p->rwnd = (uint32_t)seg->window << p->rwnd_shift;
	if (acked <= p->snd_una) {
		if (p->snd_nxt == p->snd_una)
			p->tries = 0; /* the answer to a window probe */
		return;
	}
	p->snd_una = acked;
	if (p->snd_nxt < acked)
		p->snd_nxt = acked;
	p->tries = 0;
	p->timer_ns = p->snd_una == p->snd_max ? OFF : now_ns + PEER_RTO_NS;
}

/* Stores the new part of a text that begins at this offset, as far as there is room. */
static void
keep_bytes(struct sim_peer *p, uint32_t at, struct view text)
{
	const int32_t old = (int32_t)(p->in_len - at), room = (int32_t)(p->in_cap - at);
	const uint32_t from = old > 0 ? (uint32_t)old : 0;
	const uint32_t to = room < 0 ? 0 : (uint32_t)room < text.len ? (uint32_t)room : text.len;

	if (from >= to)
		return;
	memcpy(p->in + (uint32_t)(at + from), text.data + from, to - from);
	memset(p->have + (uint32_t)(at + from), 1, to - from);
}

static void
peer_take_data(struct sim_peers *ps, struct sim_peer *p, const struct tcp_seg *seg)
{
	const uint32_t at = seg->seq - (p->irs + 1);

	keep_bytes(p, at, seg->payload);
	if (seg->flags & TCP_FIN) {
		p->fin_known = true;
		p->fin_at = at + seg->payload.len;
	}
	if (seg->payload.len > 0 || seg->flags & (TCP_FIN | TCP_SYN)) {
		/* Out of order: a duplicate ACK for each segment, by which the sender detects a
		 * loss. */
		if (at != p->in_len)
			send_at(ps, p, TCP_ACK, p->snd_nxt, 0);
		else
			p->ack_due = true;
	}
	/* `have` has one more element, which is never set. */
	p->in_len =
		(uint32_t)((uint8_t *)memchr(p->have + p->in_len, 0, p->in_cap + 1 - p->in_len) -
			   p->have);
	if (p->fin_known && p->in_len == p->fin_at)
		p->fin_taken = true;
}

static void
peer_input(struct sim_peers *ps, struct sim_peer *p, const struct tcp_seg *seg, uint64_t now_ns)
{
	if (seg->flags & TCP_RST) {
		if (p->state == PEER_OPEN)
			p->state = PEER_RESET;
		p->timer_ns = OFF;
		return;
	}
	if (p->state == PEER_SYN_SENT)
		process_syn_ack(p, seg);
	if (p->state != PEER_OPEN && p->state != PEER_DONE)
		return;
	if (seg->flags & TCP_SYN) {
		p->ack_due = true;
		return;
	}
	/* An empty segment out of sequence is a keepalive, or comes from a peer with another
	 * state. */
	if (seg->payload.len == 0 && seg->seq != p->irs + 1 + p->in_len + p->fin_taken)
		p->ack_due = true;
	process_ack(p, seg, now_ns);
	peer_take_data(ps, p, seg);
	if (p->fin_taken && p->fin_sent && p->snd_una == p->out_len + 1)
		p->state = PEER_DONE;
}

static void
peer_timeout(struct sim_peers *ps, struct sim_peer *p, uint64_t now_ns)
{
	if (p->tries++ >= PEER_TRIES) {
		p->state = PEER_GAVE_UP;
		p->timer_ns = OFF;
		return;
	}
	p->timer_ns = now_ns + (PEER_RTO_NS << (p->tries < 6 ? p->tries : 6));
	if (p->state == PEER_SYN_SENT) {
		send_at(ps, p, TCP_SYN, 0, 0);
		return;
	}
	p->snd_nxt = p->snd_una;
	if (p->rwnd == 0 && p->snd_una < p->out_len) {
		send_at(ps, p, TCP_ACK, p->snd_una, 1);
		if (p->snd_max < p->snd_una + 1)
			p->snd_max = p->snd_una + 1;
	}
}

/* Sends data and FIN at snd_nxt. False: nothing more may be sent now. */
static bool
send_next(struct sim_peers *ps, struct sim_peer *p)
{
	const uint32_t flight = p->snd_nxt - p->snd_una;
	const uint32_t window = p->rwnd < PEER_FLIGHT ? p->rwnd : PEER_FLIGHT;
	const uint32_t unsent = p->snd_nxt < p->out_len ? p->out_len - p->snd_nxt : 0;
	uint32_t len = flight < window ? window - flight : 0;
	bool fin;

	len = len < unsent ? len : unsent;
	len = len < p->mss ? len : p->mss;
	if (p->cut && len > 1)
		len = 1 + sim_below(&ps->rng, len);
	fin = p->close && len == unsent && p->snd_nxt <= p->out_len;
	if (len == 0 && !fin)
		return false;
	if (!send_at(ps, p, TCP_ACK | TCP_PSH | (fin ? TCP_FIN : 0), p->snd_nxt, len))
		return false;
	p->snd_nxt += len + fin;
	p->fin_sent |= fin;
	if (p->snd_nxt > p->snd_max)
		p->snd_max = p->snd_nxt;
	return true;
}

static void
peer_output(struct sim_peers *ps, struct sim_peer *p, uint64_t now_ns)
{
	if (p->state == PEER_OPEN) {
		for (uint32_t i = 0; i < PEER_TURN_SEGS && send_next(ps, p); i++)
			;
		if (p->timer_ns == OFF && (p->snd_una != p->snd_max || p->snd_nxt < p->out_len))
			p->timer_ns = now_ns + PEER_RTO_NS;
	}
	if (p->ack_due && (p->state == PEER_OPEN || p->state == PEER_DONE))
		send_at(ps, p, TCP_ACK, p->snd_nxt, 0);
}

static void
receive(struct sim_peers *ps, uint64_t now_ns)
{
	struct port *port = &ps->port->port;
	struct burst b;

	do {
		port->ops->rx(port, &b, BURST_MAX);
		for (uint32_t k = 0; k < b.count; k++) {
			struct sim_segment seg;

			if (!(ps->noisy ? sim_parse_segment : sim_read_segment)(&seg, b.data[k],
										b.len[k]))
				continue;
			for (uint32_t i = 0; i < ps->count; i++)
				if (ps->peer[i].ip == seg.dst_ip &&
				    ps->peer[i].port == seg.tcp.dst_port)
					peer_input(ps, &ps->peer[i], &seg.tcp, now_ns);
		}
		port->ops->drop(port, b.frame, b.count);
	} while (b.count == BURST_MAX);
}

void
sim_peers_turn(struct sim_peers *ps, uint64_t now_ns)
{
	receive(ps, now_ns);
	for (uint32_t i = 0; i < ps->count; i++) {
		struct sim_peer *p = &ps->peer[i];

		if (p->timer_ns <= now_ns)
			peer_timeout(ps, p, now_ns);
		peer_output(ps, p, now_ns);
	}
}

uint64_t
sim_peers_next(const struct sim_peers *ps)
{
	uint64_t next = OFF;

	for (uint32_t i = 0; i < ps->count; i++)
		next = ps->peer[i].timer_ns < next ? ps->peer[i].timer_ns : next;
	return next;
}

/*
 * tcp_out.c - segments, made from the send queue when there is room for them.
 *
 * Connections with something to send stand in one list; each visit sends a bounded number of
 * segments and goes to the back of the list if more is left.
 */
#include "tcp.h"

#define PROTOCOL_TCP 6

/* One segment to be: where it lies in the stream, and what it carries. */
struct shape {
	uint32_t seq, len;
	uint8_t flags;
	bool again; /* text is taken from the front of the queue, not from the cursor */
};

/* The window field; from here on the peer knows the edge it tells. Rounded up, because a scaled
 * window rounded down takes back what was promised. */
static uint16_t
tell_window(const struct stack *s, struct conn *c, uint8_t flags)
{
	const bool scaled = !(flags & TCP_SYN) && (c->flags & CONN_WSCALE);
	const uint32_t shift = scaled ? RX_WSCALE : 0;
	const uint32_t window = rx_window(s, c);
	const uint32_t field = min_u32((window + (1u << shift) - 1) >> shift, UINT16_MAX);

	if (seq_after(c->rcv_nxt + (field << shift), c->rcv_edge))
		c->rcv_edge = c->rcv_nxt + (field << shift);
	c->rcv_acked = c->rcv_nxt;
	c->flags &= ~(CONN_ACK_NOW | CONN_ACK_LATER);
	c->ack_at_ns = NEVER;
	return (uint16_t)field;
}

static bool
send_shape(struct stack *s, struct conn *c, const uint8_t mac[6], struct shape what)
{
	uint8_t *at = ip_begin(s, mac, (struct ip_way){&c->peer_ip, c->local, PROTOCOL_TCP});
	struct tcp_sack_block blocks[TCP_SACK_MAX];
	struct tcp_seg seg;
	uint32_t header;

	if (at == NULL) {
		stack_count(s, TCP_TX_NO_ROOM);
		return false;
	}
	seg = (struct tcp_seg){
		.src_port = c->local_port,
		.dst_port = c->peer_port,
		.seq = what.seq,
		.ack = c->rcv_nxt,
		.window = tell_window(s, c, what.flags),
		.flags = what.flags,
	};
	put_options(s, c, &seg, what.len, blocks);
	header = tcp_emit(at, &seg);
	if (what.again)
		txq_copy_first(&c->tx, at + header, what.len);
	else
		txq_copy_next(&c->tx, at + header, what.len);
	ip_commit(s, header + what.len, TCP_CKSUM_AT);
	stack_count(s, TCP_TX_SEGMENTS);
	return true;
}

/*
 * Bytes that may go out at snd_nxt now. A segment that the window cuts short waits for the
 * window, unless nothing is on its way and it is half of the largest window the peer ever had
 * (RFC 9293 section 3.8.6.2.1, without Nagle: the last bytes never wait).
 */
static uint32_t
sendable(const struct conn *c)
{
	const uint32_t flight = c->snd_nxt - c->snd_una;
	const uint32_t window = min_u32(c->snd_wnd, c->cwnd);
	uint32_t unsent, len;

	if (flight >= c->tx.bytes || flight >= window)
		return 0;
	unsent = c->tx.bytes - flight;
	len = min_u32(min_u32(unsent, window - flight), c->mss);
	if (len < unsent && len < c->mss && (flight > 0 || len < c->snd_wnd_max / 2))
		return 0;
	return len;
}

/* The next segment at snd_nxt; false: nothing may be sent there now. */
static bool
next_shape(const struct conn *c, struct shape *what)
{
	const uint32_t flight = c->snd_nxt - c->snd_una;
	const uint32_t unsent = flight < c->tx.bytes ? c->tx.bytes - flight : 0;
	const uint32_t len = sendable(c);
	const bool last = len == unsent;
	const bool fin = conn_fin_due(c) && last && flight <= c->tx.bytes;

	*what = (struct shape){.seq = c->snd_nxt, .len = len, .flags = TCP_ACK};
	what->flags |= last && len > 0 ? TCP_PSH : 0;
	what->flags |= fin ? TCP_FIN : 0;
	return len > 0 || fin;
}

/* Book what was just sent at snd_nxt. */
static void
sent_next(struct stack *s, struct conn *c, const struct shape *what)
{
	const uint32_t end = what->seq + what->len + !!(what->flags & TCP_FIN);

	if (seq_before(what->seq, c->snd_max)) {
		stack_count(s, TCP_RETRANSMITS);
	} else if (!(c->flags & CONN_RTT_TIMED)) {
		c->flags |= CONN_RTT_TIMED;
		c->rtt_seq = end;
		c->rtt_at_ns = s->now_ns;
	}
	c->snd_nxt = end;
	if (seq_after(end, c->snd_max))
		c->snd_max = end;
}

/* In SYN-SENT the SYN alone: there is nothing to acknowledge, and rcv_nxt is 0. */
static bool
send_syn(struct stack *s, struct conn *c, const uint8_t mac[6])
{
	const bool bare = c->state == CONN_SYN_SENT;
	const struct shape what = {.seq = c->iss, .flags = bare ? TCP_SYN : TCP_SYN | TCP_ACK};

	if (!send_shape(s, c, mac, what))
		return false;
	if (c->snd_max == c->iss) {
		c->tries = 0; /* of finding the way there */
		c->flags |= CONN_RTT_TIMED;
		c->rtt_at_ns = s->now_ns;
	} else {
		c->flags &= ~CONN_RTT_TIMED; /* Karn: whose ACK would it be? */
		stack_count(s, TCP_RETRANSMITS);
	}
	c->snd_nxt = c->snd_max = c->iss + 1;
	c->flags &= ~CONN_SEND_SYN;
	if (c->main_at_ns == NEVER)
		timer_main(s, c, (uint64_t)c->rto_us * 1000);
	return true;
}

/* The first unacknowledged segment once more (fast retransmit). */
static bool
resend_first(struct stack *s, struct conn *c, const uint8_t mac[6])
{
	const uint32_t flight = c->snd_max - c->snd_una;
	struct shape what = {.seq = c->snd_una, .flags = TCP_ACK, .again = true};

	c->flags &= ~CONN_RESEND;
	if (flight == 0)
		return true;
	what.len = min_u32(min_u32(c->tx.bytes, c->mss), flight);
	if (conn_fin_due(c) && what.len == c->tx.bytes && flight > what.len)
		what.flags |= TCP_FIN;
	if (!send_shape(s, c, mac, what)) {
		c->flags |= CONN_RESEND;
		return false;
	}
	c->flags &= ~CONN_RTT_TIMED;
	stack_count(s, TCP_RETRANSMITS);
	return true;
}

/*
 * The window is shut, or too small for us: ask with what fits, at least one byte (RFC 9293
 * section 3.8.6.1). snd_nxt stays: the byte is sent again in its segment when the window opens.
 */
static bool
send_probe(struct stack *s, struct conn *c, const uint8_t mac[6])
{
	struct shape what = {.seq = c->snd_una, .flags = TCP_ACK, .again = true};
	const uint32_t fits = min_u32(c->snd_wnd, c->mss);

	c->flags &= ~CONN_PROBE;
	what.len = min_u32(max_u32(fits, 1), c->tx.bytes);
	if (what.len == 0)
		return true;
	if (!send_shape(s, c, mac, what)) {
		c->flags |= CONN_PROBE;
		return false;
	}
	c->flags &= ~CONN_RTT_TIMED;
	if (seq_after(what.seq + what.len, c->snd_max))
		c->snd_max = what.seq + what.len;
	stack_count(s, TCP_WINDOW_PROBES);
	return true;
}

static bool
send_bare(struct stack *s, struct conn *c, const uint8_t mac[6], uint32_t seq)
{
	const struct shape what = {.seq = seq, .flags = TCP_ACK};

	return send_shape(s, c, mac, what);
}

/*
 * Where an empty segment stands: behind all that was ever sent, or the peer takes it for an old one
 * and does not look at its ACK. After a timeout snd_nxt is behind that, and two peers that both
 * sent again would never hear each other. Not beyond the window, though, where a probe may have
 * been: there it would be no better.
 */
static uint32_t
bare_seq(const struct conn *c)
{
	const uint32_t edge = c->snd_una + c->snd_wnd;

	return seq_after(c->snd_max, edge) ? edge : c->snd_max;
}

/* What is asked for by flag, before new text. */
static bool
send_asked(struct stack *s, struct conn *c, const uint8_t mac[6])
{
	if (c->flags & CONN_SEND_SYN && !send_syn(s, c, mac))
		return false;
	if (c->flags & CONN_RESEND && !resend_first(s, c, mac))
		return false;
	if (c->flags & CONN_PROBE && !send_probe(s, c, mac))
		return false;
	if (c->flags & CONN_KEEP_PROBE) {
		if (!send_bare(s, c, mac, c->snd_una - 1))
			return false;
		c->flags &= ~CONN_KEEP_PROBE;
		stack_count(s, TCP_KEEPALIVES);
	}
	return true;
}

/* Text on its way needs the retransmission timer; text that may not go, the persist timer. */
static void
plan_timer(struct stack *s, struct conn *c)
{
	const bool flying = c->snd_nxt != c->snd_una;

	if (c->state < CONN_ESTABLISHED || c->state == CONN_FIN_WAIT_2 ||
	    c->state == CONN_TIME_WAIT)
		return;
	if (flying && (c->main_at_ns == NEVER || c->flags & CONN_PERSIST)) {
		c->flags &= ~CONN_PERSIST;
		timer_main(s, c, (uint64_t)c->rto_us * 1000);
	} else if (!flying && c->tx.bytes > 0 && !(c->flags & CONN_PERSIST)) {
		c->flags |= CONN_PERSIST;
		timer_main(s, c, (uint64_t)c->rto_us * 1000);
	}
}

/* Nobody has proved yet that a half-open connection's peer is where its SYN says: the answer goes
 * back the way that came, and no ARP question is asked for it. */
static void
way_out(struct stack *s, const struct conn *c, uint8_t mac[6])
{
	if (unlikely(c->state == CONN_SYN_RCVD) && !(c->flags & CONN_ACTIVE))
		memcpy(mac, c->peer_mac, sizeof c->peer_mac);
	else
		next_hop_mac(s, &c->peer_ip, c->peer_mac, mac);
}

/* Returns whether it has more to send and must be visited again. */
static bool
visit(struct stack *s, struct conn *c)
{
	struct shape what;
	uint8_t mac[6];
	bool fits;

	way_out(s, c, mac);
	if (unlikely(c->state == CONN_SYN_SENT) && !connect_resolved(s, c, mac))
		return false;
	if (unlikely(c->flags & CONN_MTU_LOW))
		mtu_look(s, c);
	fits = send_asked(s, c, mac);
	for (uint32_t i = 0; fits && i < SEGS_A_VISIT && next_shape(c, &what); i++) {
		fits = send_shape(s, c, mac, what);
		if (fits)
			sent_next(s, c, &what);
	}
	/* Unread text means that no reply is near: the peer hears at once. */
	if (fits && (c->flags & CONN_ACK_NOW || (c->flags & CONN_ACK_LATER && c->rx.head != NULL)))
		fits = send_bare(s, c, mac, bare_seq(c));
	if (c->flags & CONN_ACK_LATER && c->ack_at_ns == NEVER) {
		c->ack_at_ns = s->now_ns + ACK_DELAY_NS;
		timer_sync(s, c);
	}
	plan_timer(s, c);
	return !fits || next_shape(c, &what);
}

void
tcp_output(struct stack *s)
{
	struct tcp *t = s->tcp;

	for (uint32_t i = 0; i < VISITS_A_TURN && outbox_room(s) > 0; i++) {
		struct list *first = list_pop_front(&t->out);
		struct conn *c;

		if (first == NULL)
			break;
		c = container_of(first, struct conn, out);
		if (visit(s, c))
			conn_make_out(s, c);
	}
	atomic_store_explicit(&t->conns_used, t->conns_count, memory_order_relaxed);
	atomic_store_explicit(&t->chunks_used, t->pool.chunks - t->pool.chunks_left,
			      memory_order_relaxed);
	atomic_store_explicit(&t->frames_held, s->cfg.rx_frames_max - t->rx_left,
			      memory_order_relaxed);
}

/*
 * RFC 5961 section 3.2: the peer believes a RST at its rcv_nxt only. Of one that has not answered
 * for a while, or whose window is shut, that is where it acknowledged last.
 */
static uint32_t
reset_seq(const struct conn *c)
{
	return c->tries > 0 || c->flags & CONN_PERSIST ? c->snd_una : bare_seq(c);
}

/* At once and not from the list: the connection is about to be gone. */
void
out_reset(struct stack *s, struct conn *c)
{
	const struct shape what = {.seq = reset_seq(c), .flags = TCP_RST | TCP_ACK};
	uint8_t mac[6];

	way_out(s, c, mac);
	if (send_shape(s, c, mac, what))
		stack_count(s, TCP_TX_RESETS);
}

/* Enough for peers that lost us, not enough to be a reflector. */
static bool
reset_rationed(struct stack *s)
{
	struct tcp *t = s->tcp;

	if (s->now_ns - t->rst_since_ns >= RST_INTERVAL_NS) {
		t->rst_since_ns = s->now_ns;
		t->rst_count = 0;
	}
	if (t->rst_count >= RST_AN_INTERVAL) {
		stack_count(s, TCP_RESETS_RATIONED);
		return true;
	}
	t->rst_count++;
	return false;
}

bool
out_stranger(struct stack *s, const struct arrival *a, struct tcp_seg *seg)
{
	const struct ip_way way = {&a->l3->src_ip, a->l3->local, PROTOCOL_TCP};
	uint8_t *at = ip_begin(s, a->src_mac, way);

	if (at == NULL) {
		stack_count(s, TCP_TX_NO_ROOM);
		return false;
	}
	seg->src_port = a->seg.dst_port;
	seg->dst_port = a->seg.src_port;
	ip_commit(s, tcp_emit(at, seg), TCP_CKSUM_AT);
	return true;
}

/* RFC 9293 section 3.10.7.1. */
void
out_reset_unknown(struct stack *s, const struct arrival *a)
{
	const struct tcp_seg *in = &a->seg;
	struct tcp_seg seg = {.flags = TCP_RST};

	if (reset_rationed(s))
		return;
	if (in->flags & TCP_ACK) {
		seg.seq = in->ack;
	} else {
		seg.flags |= TCP_ACK;
		seg.ack = in->seq + in->payload.len + !!(in->flags & TCP_SYN) +
			  !!(in->flags & TCP_FIN);
	}
	if (out_stranger(s, a, &seg))
		stack_count(s, TCP_TX_RESETS);
}

/* Rationed by connection and not in all: a common ration tells one peer what another gets
 * (CVE-2016-5696). */
void
out_challenge(struct stack *s, struct conn *c)
{
	if (c->challenged_ns != 0 && s->now_ns - c->challenged_ns < CHALLENGE_NS) {
		stack_count(s, TCP_CHALLENGES_RATIONED);
		return;
	}
	c->challenged_ns = s->now_ns;
	conn_ack_now(s, c);
}

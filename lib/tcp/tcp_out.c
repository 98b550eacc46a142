/*
 * tcp_out.c - output: segments, ACKs, probes, resets.
 *
 * Connections with something to send are in one list. A visit sends a bounded number of segments
 * and puts the connection at the end of the list if more is left.
 */
#include "tcp_ack.h"
#include "tcp_fast_path.h"
#include "tcp_options.h"

#define SENT_SPREAD 32u /* scoreboard ranges in an RTT of continuous sending */

/* Sends a segment over IPv6, or with options other than timestamps. */
static inline __attribute__((always_inline)) bool
send_slow_path(struct tcp *t, struct conn *c, const uint8_t mac[6], struct out_seg what, bool lends)
{
	uint8_t *at = ip_begin(&t->net, mac, conn_dest(c));
	struct tcp_sack_block blocks[TCP_SACK_MAX];
	struct tcp_seg seg;
	uint32_t header;

	if (at == NULL) {
		tcp_count(t, TCP_TX_NO_ROOM);
		return false;
	}
	ip_ecn_set(at - ip_header_bytes(c->local), local_is_v4(c->local), what.ecn);
	seg = (struct tcp_seg){
		.src_port = tcp_ports_dst(c->ports),
		.dst_port = tcp_ports_src(c->ports),
		.seq = what.seq,
		.ack = c->rcv_nxt,
		.window = advertise_window(t, c, what.flags),
		.flags = what.flags,
	};
	put_options(t, c, &seg, what.len, blocks);
	header = tcp_emit(at, &seg);
	if (lends && payload_lend(t, c, what.len)) {
		ip_commit_lent(&t->net, header + what.len, TCP_CKSUM_OFFSET, what.len);
		return true;
	}
	if (what.retransmit)
		sendq_copy_at(&c->tx, what.seq - c->snd_una, at + header, what.len);
	else
		sendq_copy_next(&c->tx, at + header, what.len);
	ip_commit(&t->net, header + what.len, TCP_CKSUM_OFFSET);
	return true;
}

static bool
send_segment(struct tcp *t, struct conn *c, const uint8_t mac[6], struct out_seg what)
{
	if (unlikely(c->flags & CONN_ECE) && !(what.flags & (TCP_SYN | TCP_RST)))
		what.flags |= TCP_ECE;
	if (likely(fast_path_suits(c, what.flags))
		    ? !fast_path_segment(t, c, hop_header(t, mac), what)
		    : !send_slow_path(t, c, mac, what, false))
		return false;
	tcp_count(t, TCP_TX_SEGMENTS);
	if (what.len > PMTU_SAMPLE_MIN && pmtu_tick(t) != c->pmtu_sample_tick)
		pmtu_sample(t, c, what.seq + what.len, what.len);
	return true;
}

/* Sends new data as a loan to the port where it may, else a copy. */
static __attribute__((noinline)) bool
send_lendable(struct tcp *t, struct conn *c, const uint8_t mac[6], struct out_seg what)
{
	if (what.len < LENDING_SEGMENT_MIN || c->flags & CONN_ECE ||
	    pmtu_tick(t) != c->pmtu_sample_tick)
		return send_segment(t, c, mac, what);
	if (fast_path_suits(c, what.flags) ? !fast_path_segment_lent(t, c, hop_header(t, mac), what)
					   : !send_slow_path(t, c, mac, what, true))
		return false;
	tcp_count(t, TCP_TX_SEGMENTS);
	return true;
}

/* Returns how many bytes may be sent at snd_nxt. A segment that the window truncates waits for the
 * window, unless nothing is in flight and it is half of the largest window seen (RFC 9293 section
 * 3.8.6.2.1, without Nagle: the last bytes never wait). */
static uint32_t
sendable(const struct conn *c)
{
	const uint32_t flight = c->snd_nxt - c->snd_una, pipe = conn_pipe(c);
	uint32_t unsent, len;

	if (flight >= c->tx.bytes || flight >= c->snd_wnd || pipe >= c->cwnd ||
	    c->scoreboard.lost > 0)
		return 0;
	unsent = c->tx.bytes - flight;
	len = min_u32(min_u32(unsent, c->snd_wnd - flight), c->mss);
	len = min_u32(len, c->cwnd - pipe);
	if (len < unsent && len < c->mss && (flight > 0 || len < c->snd_wnd_max / 2))
		return 0;
	return len;
}

/* Fills in the next segment at snd_nxt; false: nothing may be sent there now. */
static bool
next_segment(const struct conn *c, struct out_seg *what)
{
	const uint32_t flight = c->snd_nxt - c->snd_una;
	const uint32_t unsent = flight < c->tx.bytes ? c->tx.bytes - flight : 0;
	const uint32_t len = sendable(c);
	const bool last = len == unsent;
	const bool fin = conn_fin_due(c) && last && flight <= c->tx.bytes;

	*what = (struct out_seg){.seq = c->snd_nxt, .len = len, .flags = TCP_ACK};
	what->flags |= last && len > 0 ? TCP_PSH : 0;
	what->flags |= fin ? TCP_FIN : 0;
	if (len > 0 && c->snd_nxt == c->snd_max)
		out_new_data(c, what);
	return len > 0 || fin;
}

/* Records the data sent at snd_nxt. Data that a window probe sent before is not timed (Karn). */
static void
record_sent(struct tcp *t, struct conn *c, const struct out_seg *what)
{
	const uint32_t end = what->seq + what->len + !!(what->flags & TCP_FIN);
	const struct sent_range range = {
		.begin = what->seq,
		.end = end,
		.sent_us = t->net.now_us,
		.flags = seq_before(what->seq, c->snd_max) ? RANGE_UNTIMED : 0,
	};

	/* Data sent at times closer than the reordering window can resolve shares a range. */
	if (!scoreboard_add(&c->scoreboard, &t->scoreboard_pool, range, c->srtt_us / SENT_SPREAD))
		tcp_count(t, TCP_SCOREBOARD_NO_NODE);
	if (c->flags & CONN_RECOVERY)
		c->loss.prr_out += end - what->seq;
	c->snd_nxt = end;
	if (seq_after(end, c->snd_max))
		c->snd_max = end;
	if (unlikely(what->flags & TCP_CWR))
		c->flags &= ~CONN_CWR;
}

/* In SYN-SENT the SYN carries no ACK: there is nothing to acknowledge, and rcv_nxt is 0. */
static bool
send_syn(struct tcp *t, struct conn *c, const uint8_t mac[6])
{
	const bool syn_only = c->state == CONN_SYN_SENT;
	const struct out_seg what = {.seq = c->iss,
				     .flags = (syn_only ? TCP_SYN : TCP_SYN | TCP_ACK) |
					      ecn_syn_flags(c)};

	if (!send_segment(t, c, mac, what))
		return false;
	if (c->snd_max == c->iss) {
		c->tries = 0; /* tries of resolving the next hop */
		c->syn_timed = true;
		c->rtt_at_us = t->net.now_us;
	} else {
		c->syn_timed = false; /* Karn */
		tcp_count(t, TCP_RETRANSMITS);
	}
	c->snd_nxt = c->snd_max = c->iss + 1;
	c->flags &= ~CONN_SEND_SYN;
	if (c->main_at_ns == NEVER)
		timer_main(t, c, (uint64_t)c->rto_us * 1000);
	return true;
}

/* Retransmits [begin, end). The FIN follows the data. */
static bool
send_retransmission(struct tcp *t, struct conn *c, const uint8_t mac[6], uint32_t begin,
		    uint32_t end)
{
	struct out_seg what = {.seq = begin, .flags = TCP_ACK, .retransmit = true};
	const uint32_t tx_end = conn_tx_end(c);

	what.flags |= seq_after(end, tx_end) ? TCP_FIN : 0;
	what.len = end - begin - !!(what.flags & TCP_FIN);
	what.flags |= what.len > 0 && !seq_before(end, tx_end) ? TCP_PSH : 0;
	if (!send_segment(t, c, mac, what))
		return false;
	if (!scoreboard_retransmitted(&c->scoreboard, &t->scoreboard_pool, begin, end,
				      t->net.now_us))
		tcp_count(t, TCP_SCOREBOARD_NO_NODE);
	loss_retransmitted(c, end - begin);
	tcp_count(t, TCP_RETRANSMITS);
	/* RFC 6298 section 5.1; after a timeout the timer already runs, backed off. */
	if ((c->flags & (CONN_RECOVERY | CONN_REO)) == CONN_RECOVERY && begin == c->snd_una)
		timer_flight(t, c);
	return true;
}

/* Returns the first lost range, which is sent before new data (RFC 6675 section 5, NextSeg), within
 * both windows: the peer may have closed its window meanwhile. */
static bool
next_lost(const struct conn *c, uint32_t *begin, uint32_t *end)
{
	const struct sent_range *range = scoreboard_lost(&c->scoreboard);
	const uint32_t pipe = conn_pipe(c), edge = c->snd_una + c->snd_wnd;

	if (range == NULL || (pipe > 0 && pipe >= c->cwnd))
		return false;
	*begin = range->begin;
	*end = segment_end(c, range->begin, range->end);
	if (seq_after(*end, edge) && range->begin != conn_tx_end(c)) {
		if (!seq_before(range->begin, edge))
			return false;
		*end = edge;
	}
	return pipe == 0 || *end - *begin <= c->cwnd - pipe;
}

/* RFC 8985 section 7.3: probes with new data if the window allows it, else the last segment. */
static bool
send_loss_probe(struct tcp *t, struct conn *c, const uint8_t mac[6])
{
	const uint32_t flight = c->snd_nxt - c->snd_una, cwnd = c->cwnd;
	const struct sent_range *last = c->scoreboard.tail;
	struct out_seg what;
	uint32_t begin;

	if (flight == 0 || c->flags & (CONN_RECOVERY | CONN_LOSS)) {
		c->flags &= ~CONN_TLP_DUE;
		return true;
	}
	conn_enter_disorder(c);
	c->cwnd = max_u32(cwnd, flight + c->mss);
	if (next_segment(c, &what)) {
		c->cwnd = cwnd;
		if (!send_segment(t, c, mac, what))
			return false;
		record_sent(t, c, &what);
		tlp_sent(t, c, false);
		return true;
	}
	c->cwnd = cwnd;
	begin = last->end - seq_after(last->end, conn_tx_end(c)); /* before the FIN */
	begin -= min_u32(begin - last->begin, c->mss);
	if (!send_retransmission(t, c, mac, begin, last->end))
		return false;
	tlp_sent(t, c, true);
	return true;
}

static bool
retransmit_lost(struct tcp *t, struct conn *c, const uint8_t mac[6])
{
	const uint32_t most = segs_per_visit(c);
	uint32_t begin, end;

	for (uint32_t i = 0; i < most && next_lost(c, &begin, &end); i++)
		if (!send_retransmission(t, c, mac, begin, end))
			return false;
	return true;
}

/* Sends a window probe: as many bytes as fit into the window, at least one (RFC 9293 section
 * 3.8.6.1). snd_nxt stays, so the byte is sent again in its segment when the window opens. */
static bool
send_probe(struct tcp *t, struct conn *c, const uint8_t mac[6])
{
	struct out_seg what = {.seq = c->snd_una, .flags = TCP_ACK, .retransmit = true};
	const uint32_t fits = min_u32(c->snd_wnd, c->mss);

	c->flags &= ~CONN_WINDOW_PROBE;
	what.len = min_u32(max_u32(fits, 1), c->tx.bytes);
	if (what.len == 0)
		return true;
	if (!send_segment(t, c, mac, what)) {
		c->flags |= CONN_WINDOW_PROBE;
		return false;
	}
	c->scoreboard.first.flags |=
		RANGE_UNTIMED; /* an ACK of the first range may be the probe's */
	if (seq_after(what.seq + what.len, c->snd_max))
		c->snd_max = what.seq + what.len;
	tcp_count(t, TCP_WINDOW_PROBES);
	return true;
}

static bool
send_empty(struct tcp *t, struct conn *c, const uint8_t mac[6], uint32_t seq)
{
	const struct out_seg what = {.seq = seq, .flags = TCP_ACK};

	return send_segment(t, c, mac, what);
}

/* Returns the sequence number of an empty segment: snd_max. With a lower number the peer would
 * treat the segment as old and ignore its ACK. After a timeout snd_nxt is lower, and two peers that
 * both retransmit would ignore each other forever. The window's end is the limit, since a probe may
 * have been beyond it. */
static uint32_t
empty_seq(const struct conn *c)
{
	const uint32_t edge = c->snd_una + c->snd_wnd;

	return seq_after(c->snd_max, edge) ? edge : c->snd_max;
}

/* Sends SYN, probes and loss probes, which flags request, before new data. */
static bool
send_flagged(struct tcp *t, struct conn *c, const uint8_t mac[6])
{
	if (c->flags & CONN_SEND_SYN && !send_syn(t, c, mac))
		return false;
	if (c->flags & CONN_TLP_DUE && !send_loss_probe(t, c, mac))
		return false;
	if (c->flags & CONN_WINDOW_PROBE && !send_probe(t, c, mac))
		return false;
	if (c->flags & CONN_KEEPALIVE_PROBE) {
		if (!send_empty(t, c, mac, c->snd_una - 1))
			return false;
		c->flags &= ~CONN_KEEPALIVE_PROBE;
		tcp_count(t, TCP_KEEPALIVES);
	}
	return true;
}

/* Arms the retransmission timer for data in flight, or the persist timer for data that the window
 * holds back. */
static void
arm_timer(struct tcp *t, struct conn *c)
{
	/* Lost data that the window holds back waits for the window. */
	const bool flying = c->snd_nxt != c->snd_una &&
			    (likely(c->scoreboard.lost == 0) ||
			     scoreboard_pipe(&c->scoreboard, c->snd_nxt - c->snd_una) > 0);

	if (c->state < CONN_ESTABLISHED || c->state == CONN_FIN_WAIT_2 ||
	    c->state == CONN_TIME_WAIT)
		return;
	if (flying && (c->main_at_ns == NEVER || c->flags & CONN_PERSIST)) {
		timer_flight(t, c);
	} else if (!flying && c->tx.bytes > 0 && !(c->flags & CONN_PERSIST)) {
		c->flags = (c->flags & ~(CONN_PTO | CONN_REO)) | CONN_PERSIST;
		timer_main(t, c, (uint64_t)c->rto_us * 1000);
	}
}

/* RFC 5681 section 4.1: idle for longer than an RTO. */
static void
check_idle(const struct tcp *t, struct conn *c)
{
	if (c->scoreboard.count == 0 && c->cwnd > INITIAL_CWND_SEGS * c->mss &&
	    t->net.now_us - c->scoreboard.first.sent_us > c->rto_us)
		cc_after_idle(c);
}

/* True for a one-segment reply with nothing in flight that the fast path does not handle, usually
 * over IPv6. Such a reply avoids the general loop below. */
static bool
fits_one_segment(const struct conn *c)
{
	const uint32_t len = c->tx.bytes;

	return c->snd_una == c->snd_max && len > 0 && len <= c->mss && len <= c->snd_wnd &&
	       len <= c->cwnd && !conn_fin_due(c);
}

static bool
send_one_segment(struct tcp *t, struct conn *c, const uint8_t mac[6])
{
	struct out_seg what = {.seq = c->snd_nxt, .len = c->tx.bytes, .flags = TCP_ACK | TCP_PSH};

	out_new_data(c, &what);
	if (!send_segment(t, c, mac, what))
		return false;
	c->flags &= ~CONN_CWR;
	c->snd_nxt = c->snd_max = what.seq + what.len;
	scoreboard_add_first(&c->scoreboard, what.seq, c->snd_nxt, t->net.now_us);
	c->flags &= ~CONN_CWND_LIMITED;
	return true;
}

/* Sends lost ranges, then new data. False: the transmit queue is full. *more: visit again. */
static bool
send_data(struct tcp *t, struct conn *c, const uint8_t mac[6], bool *more)
{
	struct out_seg what;
	uint32_t begin, end, most;

	if (likely(fits_one_segment(c)))
		return send_one_segment(t, c, mac);
	most = segs_per_visit(c);
	if (unlikely(c->scoreboard.lost > 0)) {
		if (!retransmit_lost(t, c, mac))
			return false;
		*more = next_lost(c, &begin, &end);
	}
	c->flags &= ~CONN_CWND_LIMITED;
	for (uint32_t i = 0; conn_has_unsent(c) && next_segment(c, &what); i++) {
		if (i == most) {
			*more = true;
			return true;
		}
		if (likely(!t->lends) ? !send_segment(t, c, mac, what)
				      : !send_lendable(t, c, mac, what))
			return false;
		record_sent(t, c, &what);
	}
	if (unlikely(c->snd_nxt - c->snd_una < c->tx.bytes) && cwnd_is_full(c))
		c->flags |= CONN_CWND_LIMITED;
	return true;
}

/* The address of a half-open connection's peer is unproved. So the reply goes to the MAC the SYN
 * came from, and nothing is solicited. */
static void
dst_mac_select(struct tcp *t, const struct conn *c, uint8_t mac[6])
{
	if (unlikely(c->state == CONN_SYN_RCVD) && !(c->flags & CONN_ACTIVE))
		memcpy(mac, c->peer_mac, sizeof c->peer_mac);
	else
		next_hop_mac(&t->net, conn_dest(c), c->peer_mac, mac);
}

/*
 * Sends more ACKs for a burst in quickack mode: one more for in-order data; for out-of-order data
 * without SACK as many as the peer must count (RFC 5681 section 3.2). Never more than segments
 * received.
 */
static bool
send_more_acks(struct tcp *t, struct conn *c, const uint8_t mac[6])
{
	const bool counted = !(c->flags & CONN_SACK) && c->rx.ooo_blocks != NULL;
	const uint32_t most = counted ? BURST_ACKS_MAX : BURST_ACKS_SACK;
	const uint32_t acks = min_u32(c->acks_due, most);

	for (uint32_t i = 1; i < acks; i++) {
		if (!send_empty(t, c, mac, empty_seq(c)))
			return false;
		tcp_count(t, TCP_ACKS_EXTRA);
	}
	c->acks_due = 0;
	if (t->net.now_us - c->quickack_us >= QUICKACK_US)
		c->flags &= ~CONN_QUICKACK;
	return true;
}

/* True if the next hop's MAC is known. A peer in SYN-SENT has sent nothing, so there is no fallback
 * MAC, and the SYN waits for resolution. */
static bool
syn_mac_known(struct tcp *t, struct conn *c, const uint8_t mac[6])
{
	static const uint8_t unknown[sizeof c->peer_mac];

	if (memcmp(mac, unknown, sizeof unknown) != 0)
		return true;
	if (c->main_at_ns == NEVER)
		timer_main(t, c, RESOLVE_NS);
	return false;
}

/* False for a pipe, which has no path; its wire becomes ready and takes its data. */
static __attribute__((noinline)) bool
path_check(struct tcp *t, struct conn *c)
{
	if (pipe_is(t, c)) {
		if (pipe_mate(t, c) != NULL)
			conn_make_ready(t, pipe_mate(t, c));
		return false;
	}
	pmtu_check(t, c);
	return true;
}

/* Returns true if more is left to send. */
static bool
conn_output(struct tcp *t, struct conn *c)
{
	uint8_t mac[6];
	bool fits, more = false;

	if (likely(c->state >= CONN_ESTABLISHED && conn_hop_valid(t, c)))
		memcpy(mac, &c->hop.first, sizeof mac);
	else
		dst_mac_select(t, c, mac);
	if (unlikely(c->state == CONN_SYN_SENT) && !syn_mac_known(t, c, mac))
		return false;
	check_idle(t, c);
	if (unlikely(c->flags & (CONN_PMTU_REDUCED | CONN_PMTU_BLACK_HOLE)) && !path_check(t, c))
		return false;
	fits = send_flagged(t, c, mac) && send_data(t, c, mac, &more);
	/* While data is unread no reply is near, so the ACK is sent at once. */
	if (fits &&
	    (c->flags & CONN_ACK_NOW || (c->flags & CONN_ACK_DELAYED && c->rx.head != NULL)))
		fits = send_empty(t, c, mac, empty_seq(c));
	if (unlikely(c->flags & CONN_QUICKACK) && fits)
		fits = send_more_acks(t, c, mac);
	if (c->flags & CONN_ACK_DELAYED && c->ack_at_ns == NEVER) {
		c->ack_at_ns = t->net.now_ns + ACK_DELAY_NS;
		timer_sync(t, c);
	}
	arm_timer(t, c);
	return !fits || more;
}

/* Puts a connection with more to send behind all others. One with a small MSS waits for the next
 * turn. Not inlined, so that the loop of tcp_output() keeps its registers. */
static __attribute__((noinline)) void
visit_again(struct tcp *t, struct conn *c)
{
	if (likely(c->mss >= MSS_SMALL))
		conn_schedule_output(t, c);
	else if (list_empty(&c->out))
		list_push_back(&t->out_later, &c->out);
}

static __attribute__((noinline)) void
merge_later(struct tcp *t)
{
	struct list *node;

	while ((node = list_pop_front(&t->out_later)) != NULL)
		list_push_back(&t->out, node);
}

/* Returns how many visits may follow that send one frame each. left: visits of this turn. */
static uint32_t
visits_now(const struct tcp *t, uint32_t left)
{
	return min_u32(left, tx_queue_room(&t->net));
}

void
tcp_output(struct tcp *t)
{
	uint32_t left = VISITS_PER_TURN, now = visits_now(t, left);

	fast_path_output_begin(t);
	while (now != 0) {
		struct list *first = list_pop_front(&t->out);
		struct conn *c;

		if (first == NULL)
			break;
		c = container_of(first, struct conn, out);
		now--;
		left--;
		if (likely(fast_path_output(t, c)) ||
		    (fast_path_is_other(c) && fast_path_output_other(t, c)))
			continue;
		if (conn_output(t, c))
			visit_again(t, c);
		now = visits_now(t, left);
	}
	if (unlikely(!list_empty(&t->out_later)))
		merge_later(t);
	atomic_store_explicit(&t->conns_used, t->conns_count, memory_order_relaxed);
	atomic_store_explicit(&t->chunks_used, t->pool.chunks.total - t->pool.chunks.left,
			      memory_order_relaxed);
	atomic_store_explicit(&t->frames_held, t->frames.total - t->frames.left,
			      memory_order_relaxed);
}

/* RFC 5961 section 3.2: a peer accepts a RST at its rcv_nxt only. If a peer does not answer, or its
 * window is closed, its rcv_nxt is its last ACK. */
static uint32_t
reset_seq(const struct conn *c)
{
	return c->tries > 0 || c->flags & CONN_PERSIST ? c->snd_una : empty_seq(c);
}

/* Sends a RST at once, not from the list, because the connection is freed next. */
void
out_reset(struct tcp *t, struct conn *c)
{
	const struct out_seg what = {.seq = reset_seq(c), .flags = TCP_RST | TCP_ACK};
	uint8_t mac[6];

	dst_mac_select(t, c, mac);
	if (send_segment(t, c, mac, what))
		tcp_count(t, TCP_TX_RESETS);
}

void
out_ack(struct tcp *t, struct conn *c)
{
	uint8_t mac[6];

	dst_mac_select(t, c, mac);
	send_empty(t, c, mac, empty_seq(c));
}

/* The rate limit belongs to the connection: a limit common to all is a side channel
 * (CVE-2016-5696). */
void
out_challenge(struct tcp *t, struct conn *c)
{
	if (t->net.now_us - c->challenged_us < CHALLENGE_US) {
		tcp_count(t, TCP_CHALLENGES_RATE_LIMITED);
		return;
	}
	c->challenged_us = t->net.now_us;
	conn_ack_now(t, c);
}

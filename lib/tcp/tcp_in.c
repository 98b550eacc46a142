/*
 * tcp_in.c - a segment arrives: the steps of RFC 9293 section 3.10.7.4, one function each, in
 * the order of the RFC, with the blind attack mitigations of RFC 5961.
 */
#include "tcp_ack.h"
#include "tcp_options.h"
#include "tcp_fast_path.h"

#define PAWS_IDLE_NS (24ull * 24 * 3600 * 1000 * NS_PER_MS) /* RFC 7323 section 5.5 */

/* Returns the room in sequence space. A SYN and a FIN count one each. */
static uint32_t
seq_len(const struct tcp_seg *seg)
{
	return seg->payload.len + !!(seg->flags & TCP_SYN) + !!(seg->flags & TCP_FIN);
}

/*
 * The acceptability table of 3.10.7.4, first. Two cases are wider. A segment that begins at rcv_nxt
 * is processed even if the window is closed: its ACK counts, and the data is trimmed later. An
 * empty segment may be at the right edge, from where a peer that filled our window sends.
 */
static bool
seq_acceptable(const struct conn *c, const struct tcp_seg *seg)
{
	const uint32_t window = c->rcv_edge - c->rcv_nxt;
	const uint32_t begin = seg->seq - c->rcv_nxt;
	const uint32_t len = seq_len(seg);

	if (begin == 0)
		return true;
	if (len == 0)
		return begin <= window;
	return begin < window || (window > 0 && begin + len - 1 < window);
}

/* True for a retransmission of the SYN that opened the connection. With data it overlaps the
 * window, and 3.10.7.4, fourth, read literally, would end the connection. */
static bool
is_repeated_syn(const struct conn *c, const struct tcp_seg *seg)
{
	return c->state == CONN_SYN_RCVD && seg->flags & TCP_SYN && seg->seq + 1 == c->rcv_nxt;
}

/*
 * RFC 7323 section 4.3 (2) for repeated data, which is old, so later steps never see it. Its
 * timestamp must still be echoed: the echo of an earlier transmission is an RTT that includes the
 * peer's timeouts, and the peer's RTO would grow to seconds. Data older than a window is not in
 * flight. A blind segment is as hard to place in that window as in ours (RFC 5961 section 5).
 */
static void
ts_recent_on_repeat(struct conn *c, const struct tcp_seg *seg)
{
	if (c->flags & CONN_TS && seg->flags & TCP_ACK && c->rcv_nxt - seg->seq <= c->rcv_limit &&
	    ack_acceptable(c, seg->ack))
		ts_recent_update(c, seg);
}

static enum step
check_seq(struct tcp *t, struct conn *c, const struct arrival *a)
{
	const struct tcp_seg *seg = &a->seg;

	if (seq_acceptable(c, seg) && !is_repeated_syn(c, seg))
		return STEP_CONTINUE;
	tcp_count(t, TCP_DROP_OUT_OF_WINDOW);
	if (seg->flags & TCP_RST)
		return STEP_DONE;
	if (is_repeated_syn(c, seg)) {
		/* Our SYN-ACK was lost; a pure ACK would not help the peer. The echo of its first
		 * SYN would be an RTT of a second (RFC 7323 section 4.3). */
		if (c->flags & CONN_TS)
			ts_recent_update(c, seg);
		if (c->flags & CONN_ECN && !(c->flags & CONN_ACTIVE))
			ecn_answered(t, c, a);
		c->flags |= CONN_SEND_SYN;
		conn_schedule_output(t, c);
		return STEP_DONE;
	}
	if (c->state == CONN_TIME_WAIT && seg->flags & TCP_FIN)
		timer_main(t, c, TIME_WAIT_NS); /* 3.10.7.4, eighth: restarts the 2 MSL time */
	if (seq_before(seg->seq, c->rcv_nxt))
		dsack_record(c, seg->seq,
			     seg->seq + min_u32(c->rcv_nxt - seg->seq, seg->payload.len));
	/* Repeated data means that our ACK was lost. An empty segment may be part of an ACK loop
	 * between two peers, so the answers to those are rate-limited. */
	if (seq_len(seg) == 0) {
		out_challenge(t, c);
		return STEP_DONE;
	}
	ts_recent_on_repeat(c, seg);
	quickack_enter(t, c);
	conn_ack_now(t, c);
	return STEP_DONE;
}

/* RFC 5961 section 3.2: a RST counts only at rcv_nxt. Elsewhere in the window it may be a guess. */
static enum step
check_rst(struct tcp *t, struct conn *c, const struct tcp_seg *seg)
{
	if (!(seg->flags & TCP_RST))
		return STEP_CONTINUE;
	if (seg->seq != c->rcv_nxt) {
		tcp_count(t, TCP_CHALLENGED_RST);
		out_challenge(t, c);
		return STEP_DONE;
	}
	if (c->state == CONN_SYN_RCVD && c->flags & CONN_ACTIVE) {
		tcp_count(t, TCP_CONNECT_REFUSED);
		conn_fail(t, c, CONNECT_REFUSED);
		return STEP_DONE;
	}
	tcp_count(t, TCP_RESET_BY_PEER);
	conn_free(t, c);
	return STEP_DONE;
}

/* RFC 5961 section 4.2: a SYN in a synchronized state is answered, never believed. */
static enum step
check_syn(struct tcp *t, struct conn *c, const struct tcp_seg *seg)
{
	if (!(seg->flags & TCP_SYN))
		return STEP_CONTINUE;
	if (c->state == CONN_SYN_RCVD && !(c->flags & CONN_ACTIVE)) {
		/* 3.10.7.4, fourth: a connection that the peer opened returns to LISTEN. */
		tcp_count(t, TCP_HALF_OPEN_SYN);
		conn_free(t, c);
		return STEP_DONE;
	}
	tcp_count(t, TCP_CHALLENGED_SYN);
	out_challenge(t, c);
	return STEP_DONE;
}

/* Trims data that was received before, and data beyond the window. */
static void
trim(struct conn *c, struct tcp_seg *seg)
{
	struct view *payload = &seg->payload;

	if (seq_before(seg->seq, c->rcv_nxt)) {
		const uint32_t old = min_u32(c->rcv_nxt - seg->seq, payload->len);

		dsack_record(c, seg->seq, seg->seq + old);
		payload->data += old;
		payload->len -= old;
		seg->seq += old;
	}
	if (seq_after(seg->seq + payload->len, c->rcv_edge)) {
		const uint32_t beyond = seg->seq + payload->len - c->rcv_edge;

		payload->len -= min_u32(beyond, payload->len);
		seg->flags &= ~TCP_FIN; /* the FIN is beyond the window as well */
	}
}

/*
 * The service has closed and reads no more. Until our FIN is acknowledged the peer may lack our
 * last replies, and a RST could discard them, so data is acknowledged and dropped. After that a RST
 * answers it (RFC 9293 section 3.6.1, SHLD-3).
 */
static enum step
data_after_close(struct tcp *t, struct conn *c, const struct tcp_seg *seg)
{
	tcp_count(t, TCP_DROP_DATA_AFTER_CLOSE);
	if (c->state == CONN_FIN_WAIT_2) {
		tcp_count(t, TCP_RESET_DATA_AFTER_CLOSE);
		conn_reset(t, c);
		return STEP_DONE;
	}
	if (seg->seq == c->rcv_nxt)
		c->rcv_nxt += seg->payload.len;
	conn_ack_now(t, c);
	return STEP_CONTINUE;
}

/* RFC 8257 section 3.2: data of the other kind is acknowledged separately, so that an ACK covers
 * data of one kind only. */
static void
dctcp_data_arrives(struct tcp *t, struct conn *c, bool marked)
{
	if (marked == !!(c->flags & CONN_ECE))
		return;
	if (c->flags & (CONN_ACK_NOW | CONN_ACK_DELAYED))
		out_ack(t, c);
	c->flags ^= CONN_ECE;
	conn_ack_now(t, c);
}

/* Processes the mark and the CWR of data inside the window, before it is queued. */
static void
ecn_data_arrives(struct tcp *t, struct conn *c, const struct arrival *a)
{
	const bool marked = ecn_field(a) == IP_ECN_CE;

	if (marked)
		tcp_count(t, TCP_ECN_MARKS);
	if (conn_is_dctcp(t, c)) {
		dctcp_data_arrives(t, c, marked);
		return;
	}
	if (a->seg.flags & TCP_CWR) {
		c->flags &= ~CONN_ECE;
		conn_ack_now(t, c);
	}
	if (marked)
		c->flags |= CONN_ECE;
}

/* 3.10.7.4, seventh. */
static enum step
process_data(struct tcp *t, struct conn *c, struct arrival *a)
{
	struct tcp_seg *seg = &a->seg;

	if (!conn_receives_data(c)) {
		seg->payload.len = 0;
		return STEP_CONTINUE;
	}
	if (seg->payload.len == 0)
		return STEP_CONTINUE;
	trim(c, seg);
	if (seg->payload.len == 0) {
		/* A window probe, or repeated data. */
		tcp_count(t, TCP_DROP_DATA_DUPLICATE);
		conn_ack_now(t, c);
		return STEP_CONTINUE;
	}
	if (unlikely(c->flags & CONN_ECN))
		ecn_data_arrives(t, c, a);
	if (c->flags & CONN_CLOSE)
		return data_after_close(t, c, seg);
	if (!rx_enqueue(t, c, a)) {
		seg->flags &= ~TCP_FIN;
		conn_ack_now(t, c);
	}
	return STEP_CONTINUE;
}

/* 3.10.7.4, eighth. A FIN after a hole is remembered and taken when the hole is filled. It counts
 * as the latest segment for SACK, and each repetition is answered (RFC 5681 section 4.2). */
static void
process_fin(struct tcp *t, struct conn *c, const struct tcp_seg *seg)
{
	if (seg->flags & TCP_FIN && !(c->flags & CONN_EOF)) {
		if (!(c->flags & CONN_PEER_FIN))
			c->peer_fin_seq = seg->seq + seg->payload.len;
		c->flags |= CONN_PEER_FIN;
		c->ooo_clock += seg->payload.len == 0;
		conn_ack_now(t, c);
	}
	if (!(c->flags & CONN_PEER_FIN) || seq_before(c->rcv_nxt, c->peer_fin_seq))
		return;
	c->flags = (c->flags & ~CONN_PEER_FIN) | CONN_EOF;
	c->rcv_nxt++;
	if (seq_before(c->rcv_edge, c->rcv_nxt))
		c->rcv_edge = c->rcv_nxt;
	conn_ack_now(t, c);
	if (c->state == CONN_ESTABLISHED) {
		conn_state_set(t, c, CONN_CLOSE_WAIT);
		conn_make_ready(t, c);
	} else if (c->state == CONN_FIN_WAIT_1) {
		conn_state_set(t, c, CONN_CLOSING);
	} else if (c->state == CONN_FIN_WAIT_2) {
		conn_time_wait(t, c);
	}
}

/* True if the connection was silent for so long that the peer's clock may have wrapped (section
 * 5.5). */
static bool
ts_recent_is_stale(const struct tcp *t, const struct conn *c)
{
	return t->net.now_ns - c->last_rx_ns > PAWS_IDLE_NS;
}

/*
 * PAWS, RFC 7323 section 5.3 R1. The ACK that it asks for is rate-limited, as are all replies to
 * possibly forged segments. A segment without the option is accepted, as Linux does. Section 3.2
 * says to drop it, but some middleboxes remove the option from some segments, and a connection
 * whose segments are dropped would stall.
 */
static enum step
check_timestamps(struct tcp *t, struct conn *c, const struct tcp_seg *seg)
{
	if (unlikely(!(seg->opt.seen & TCP_HAS_TIMESTAMPS))) {
		tcp_count(t, TCP_NO_TIMESTAMP);
		return STEP_CONTINUE;
	}
	if (likely(!seq_before(seg->opt.ts_value, c->ts_recent)) || seg->flags & TCP_RST ||
	    ts_recent_is_stale(t, c))
		return STEP_CONTINUE;
	tcp_count(t, TCP_DROP_PAWS);
	out_challenge(t, c);
	return STEP_DONE;
}

static void
conn_input(struct tcp *t, struct conn *c, struct arrival *a)
{
	struct tcp_seg *seg = &a->seg;

	if (unlikely(c->state < CONN_ESTABLISHED)) {
		if (c->state == CONN_SYN_SENT) {
			connect_input(t, c, a);
			return;
		}
		connect_simultaneous(t, c, seg);
	}
	if (c->flags & CONN_TS && check_timestamps(t, c, seg) == STEP_DONE)
		return;
	if (check_seq(t, c, a) == STEP_DONE)
		return;
	if (check_rst(t, c, seg) == STEP_DONE)
		return;
	if (check_syn(t, c, seg) == STEP_DONE)
		return;
	if (check_ack(t, c, a) == STEP_DONE)
		return;
	if (c->flags & CONN_TS)
		ts_recent_update(c, seg);
	c->last_rx_ns = t->net.now_ns;
	c->keepalive_tries = 0;
	memcpy(c->peer_mac, a->src_mac, sizeof c->peer_mac);
	if (process_data(t, c, a) == STEP_DONE)
		return;
	process_fin(t, c, seg);
}

/* Returns the segment's connection at this point. Earlier segments of the burst may have opened,
 * closed or replaced the one that tcp_match found. */
static struct conn *
conn_current(const struct tcp *t, struct conn *matched, const struct arrival *a)
{
	const struct flow flow = flow_of_arrival(a);

	if (matched != NULL && matched->state != CONN_CLOSED && flow_is_of(flow, matched))
		return matched;
	if (!tcp_listens(t, a->seg.dst_port) && t->active_count == 0)
		return NULL;
	return flow_find(t, flow);
}

static void
segment_arrives(struct tcp *t, const struct classified *in, uint32_t i)
{
	const struct l3_info *l3 = &in->l3[i];
	struct arrival a = {
		.frame = in->rx.frame[i],
		.start = in->rx.data[i],
		.src_mac = in->rx.data[i] + 6,
		.l3 = l3,
	};
	struct conn *c;

	if (tcp_parse(&a.seg, in->rx.data[i] + l3->l4_offset, l3->l4_len) != TCP_WIRE_OK) {
		tcp_count(t, TCP_DROP_HEADER);
	} else {
		if (unlikely(a.seg.opt.seen & TCP_HAS_MALFORMED))
			tcp_count(t, TCP_BAD_OPTIONS);
		c = conn_current(t, t->matched[i], &a);
		if (c == NULL)
			c = listen_input(t, &a);
		else if (unlikely(c->state == CONN_SYN_RCVD))
			c = cookie_replace_half_open(t, c, &a);
		else if (unlikely(c->state == CONN_TIME_WAIT) && listen_reopen(t, c, &a))
			c = NULL;
		if (c != NULL)
			conn_input(t, c, &a);
	}
	if (!a.kept)
		frame_defer_free(&t->net, a.frame, a.start);
}

/* tcp_input() is not inlined into the turn, so that the fast path is inlined here. */
__attribute__((noinline)) void
tcp_input(struct tcp *t, const struct classified *in)
{
	t->turns++;
	t->pool.credits_out = 0;
	for (uint32_t k = 0; k < in->tcp_count; k++)
		if (unlikely(!fast_path_input(t, in, in->tcp[k])) &&
		    !fast_path_input_ecn(t, in, in->tcp[k]))
			segment_arrives(t, in, in->tcp[k]);
	if (!list_empty(&t->blocked))
		wake_blocked_writers(t);
}

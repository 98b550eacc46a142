/*
 * tcp_ack.c - what an acknowledgment does: RFC 9293 section 3.10.7.4, fifth.
 */
#include "tcp.h"

/* Text sent once is timed to the nanosecond; of text sent again the echo says which time it was
 * (RFC 7323 section 4.1). */
static void
take_rtt(struct stack *s, struct conn *c, const struct tcp_seg *seg)
{
	uint64_t echoed_ns;

	if (likely(c->flags & CONN_RTT_TIMED)) {
		if (seq_before(seg->ack, c->rtt_seq))
			return;
		c->flags &= ~CONN_RTT_TIMED;
		rtt_sample(c, s->now_ns - c->rtt_at_ns);
		return;
	}
	echoed_ns = rtt_echoed_ns(s, c, seg);
	if (echoed_ns != 0)
		rtt_sample(c, echoed_ns);
}

/* 3.10.7.4, fifth, SYN-RECEIVED: the handshake ends here. */
static enum step
ack_of_syn(struct stack *s, struct conn *c, const struct arrival *a)
{
	const struct tcp_seg *seg = &a->seg;

	if (seg->ack != c->iss + 1 || c->snd_max != c->iss + 1) {
		stack_count(s, TCP_DROP_ACK_OF_SYN);
		out_reset_unknown(s, a);
		return STEP_DONE;
	}
	c->snd_una = c->snd_nxt = seg->ack;
	c->snd_wnd = c->snd_wnd_max = (uint32_t)seg->window << c->snd_wscale;
	c->snd_wl1 = seg->seq;
	c->snd_wl2 = seg->ack;
	c->rtt_seq = seg->ack;
	take_rtt(s, c, seg);
	c->flags &= ~CONN_SEND_SYN;
	conn_established(s, c);
	/* opened() may have aborted it at once. */
	return c->state == CONN_CLOSED ? STEP_DONE : STEP_ON;
}

static void
take_window(struct stack *s, struct conn *c, const struct tcp_seg *seg)
{
	const bool newer = seq_before(c->snd_wl1, seg->seq) ||
			   (c->snd_wl1 == seg->seq && !seq_after(c->snd_wl2, seg->ack));
	const uint32_t window = (uint32_t)seg->window << c->snd_wscale;

	if (!newer)
		return;
	if (window > c->snd_wnd && c->tx.bytes > 0)
		conn_make_out(s, c);
	c->snd_wnd = window;
	c->snd_wnd_max = max_u32(c->snd_wnd_max, window);
	c->snd_wl1 = seg->seq;
	c->snd_wl2 = seg->ack;
}

/* RFC 5681 section 2: no text, no news, while something is on its way. An answer to a window
 * probe looks the same and means nothing. */
static bool
is_dup_ack(const struct conn *c, const struct tcp_seg *seg)
{
	return seg->ack == c->snd_una && c->snd_max != c->snd_una && seg->payload.len == 0 &&
	       !(c->flags & CONN_PERSIST) && !(seg->flags & TCP_FIN) &&
	       (uint32_t)seg->window << c->snd_wscale == c->snd_wnd;
}

static void
ack_is_new(struct stack *s, struct conn *c, const struct tcp_seg *seg)
{
	const uint32_t ack = seg->ack;
	const uint32_t acked = ack - c->snd_una;
	const bool with_fin = acked > c->tx.bytes; /* check_ack: at most snd_max */

	txq_drop(&c->tx, &s->tcp->pool, with_fin ? c->tx.bytes : acked);
	c->snd_una = ack;
	if (seq_before(c->snd_nxt, ack))
		c->snd_nxt = ack;
	take_rtt(s, c, seg);
	c->tries = c->backoff = 0;
	cc_acked(c, acked);
	/* RFC 6298 section 5.2, 5.3. */
	timer_main_off(c);
	if (c->snd_max != c->snd_una)
		timer_main(s, c, (uint64_t)c->rto_us * 1000);
	conn_room_made(s, c);
	if (c->tx.bytes > 0 || conn_fin_due(c))
		conn_make_out(s, c);
}

/* What the acknowledgment of our FIN does to the state. */
static enum step
fin_acked(struct stack *s, struct conn *c)
{
	switch (c->state) {
	case CONN_FIN_WAIT_1:
		conn_fin_wait_2(s, c);
		return STEP_ON;
	case CONN_CLOSING:
		conn_time_wait(s, c);
		return STEP_ON;
	default: /* LAST-ACK: conn_fin_due() allows no other */
		stack_count(s, TCP_CLOSED_BY_BOTH);
		conn_free(s, c);
		return STEP_DONE;
	}
}

enum step
check_ack(struct stack *s, struct conn *c, const struct arrival *a)
{
	const struct tcp_seg *seg = &a->seg;
	bool fin;

	if (!(seg->flags & TCP_ACK)) {
		stack_count(s, TCP_DROP_NO_ACK);
		return STEP_DONE;
	}
	if (c->state == CONN_SYN_RCVD)
		return ack_of_syn(s, c, a);
	/* RFC 5961 section 5.2: neither of something never sent nor older than any window. */
	if (seq_after(seg->ack, c->snd_max) || seq_before(seg->ack, c->snd_una - c->snd_wnd_max)) {
		stack_count(s, TCP_CHALLENGED_ACK);
		out_challenge(s, c);
		return STEP_DONE;
	}
	if (is_dup_ack(c, seg)) {
		if (cc_dup_ack(c))
			stack_count(s, TCP_FAST_RETRANSMITS);
		conn_make_out(s, c);
	}
	if (c->flags & CONN_PERSIST && !(c->flags & CONN_CLOSE))
		c->tries = 0; /* a window may stay shut as long as its owner lives (3.8.6.1) */
	if (!seq_before(seg->ack, c->snd_una))
		take_window(s, c, seg);
	if (!seq_after(seg->ack, c->snd_una))
		return STEP_ON;
	fin = conn_fin_due(c) && seg->ack == conn_tx_end(c) + 1;
	ack_is_new(s, c, seg);
	return fin ? fin_acked(s, c) : STEP_ON;
}

/*
 * tcp_ack.c - the ACK of a segment: RFC 9293 section 3.10.7.4, fifth step.
 */
#include "tcp_ack.h"
#include "tcp_options.h"

/*
 * An echoed timestamp shows which transmission was acknowledged (RFC 7323 section 4.1). But if that
 * ACK was lost, the peer repeats the echo for the retransmission, and the sample would include our
 * timeout. So the echo is ignored if the last transmission can have caused the ACK.
 */
static void
rtt_from_echo(const struct tcp *t, struct conn *c, const struct tcp_seg *seg,
	      const struct ack_delivered *delivered)
{
	const uint32_t echoed_us = (uint32_t)(rtt_from_tsecr_ns(t, c, seg) / 1000);
	const uint32_t last_us = t->net.now_us - delivered->newest_us;
	const uint32_t us = delivered->newest ? min_u32(last_us, echoed_us) : echoed_us;

	if (echoed_us > 0 && (us <= RTT_LONG_US || rtt_long_valid(t, t->net.now_us - us)))
		rtt_sample(c, min_u32(us, RTT_MAX_US));
}

/* 3.10.7.4, fifth, SYN-RECEIVED: the handshake ends here. */
static enum step
syn_acked(struct tcp *t, struct conn *c, const struct arrival *a)
{
	const struct tcp_seg *seg = &a->seg;

	if (seg->ack != c->iss + 1 || c->snd_max != c->iss + 1) {
		tcp_count(t, TCP_DROP_ACK_OF_SYN);
		out_stateless_rst(t, a);
		return STEP_DONE;
	}
	c->snd_una = c->snd_nxt = seg->ack;
	c->snd_wnd = c->snd_wnd_max = (uint32_t)seg->window << c->snd_wscale;
	c->snd_wl1 = seg->seq;
	c->snd_wl2 = seg->ack;
	if (c->syn_timed)
		rtt_measure(t, c, c->rtt_at_us);
	else
		rtt_from_echo(t, c, seg, &(struct ack_delivered){0});
	c->flags &= ~CONN_SEND_SYN;
	conn_established(t, c);
	/* opened() may have aborted the connection. */
	return c->state == CONN_CLOSED ? STEP_DONE : STEP_CONTINUE;
}

/* True for a duplicate ACK (RFC 5681 section 2): no data, no window update, data in flight. The
 * reply to a window probe looks the same and is none. */
static bool
is_dup_ack(const struct conn *c, const struct tcp_seg *seg)
{
	return seg->ack == c->snd_una && c->snd_max != c->snd_una && seg->payload.len == 0 &&
	       !(c->flags & CONN_PERSIST) && !(seg->flags & TCP_FIN) &&
	       (uint32_t)seg->window << c->snd_wscale == c->snd_wnd;
}

/* Call after the scoreboard and the RTT are updated. */
static void
ack_new_data(struct tcp *t, struct conn *c, const struct tcp_seg *seg)
{
	const uint32_t ack = seg->ack;
	const uint32_t acked = ack - c->snd_una;
	const bool with_fin = acked > c->tx.bytes; /* check_ack() admits snd_max at most */

	sendq_drop(&c->tx, &t->pool, with_fin ? c->tx.bytes : acked);
	c->snd_una = ack;
	if (seq_before(c->snd_nxt, ack))
		c->snd_nxt = ack;
	c->tries = c->backoff = 0;
	/* RFC 6298 section 5.2, 5.3. */
	timer_main_off(c);
	if (c->snd_max != c->snd_una)
		timer_flight(t, c);
	conn_wake_writer(t, c);
	if (c->tx.bytes > 0 || conn_fin_due(c))
		conn_schedule_output(t, c);
}

/* Returns the RTT of data that was sent once; 0: unknown. */
static uint32_t
ack_rtt_us(const struct ack_delivered *delivered)
{
	if (!delivered->timed || delivered->mixed)
		return 0;
	return max_u32(delivered->now_us - delivered->oldest_us, 1);
}

static void
ack_slow_path(struct tcp *t, struct conn *c, const struct tcp_seg *seg)
{
	const bool sack = seg->opt.seen & TCP_HAS_SACK && c->flags & CONN_SACK;
	struct loss_ack a = {
		.delivered = {.now_us = t->net.now_us, .min_rtt_us = c->min_rtt_us},
		.info = {.dup = !sack && is_dup_ack(c, seg)},
		.acked = seq_after(seg->ack, c->snd_una) ? seg->ack - c->snd_una : 0,
		.limited = cwnd_is_limiting(c) && !ecn_is_echo(c, seg),
	};

	if (sack || a.info.dup)
		conn_enter_disorder(c);
	if (a.acked > 0) {
		scoreboard_ack(&c->scoreboard, &t->scoreboard_pool, seg->ack, &a.delivered);
		if (a.delivered.timed && !a.delivered.mixed)
			rtt_measure(t, c, a.delivered.oldest_us);
		else
			rtt_from_echo(t, c, seg, &a.delivered);
		ack_new_data(t, c, seg);
	}
	if (sack)
		sack_process(t, c, &seg->opt, &a.info, &a.delivered);
	if (c->flags & CONN_DISORDER)
		loss_acked(t, c, seg, &a);
	else if (a.limited && a.acked > 0)
		cc_on_ack(t, c, a.acked, ack_rtt_us(&a.delivered));
	if (!seq_before(seg->ack, c->snd_una))
		snd_wnd_update(t, c, seg->seq, seg->ack, seg->window);
}

/* Applies an ACK to data sent. Usually a whole reply is acknowledged, and only its RTT is new. */
static void
data_acked(struct tcp *t, struct conn *c, const struct tcp_seg *seg)
{
	if (unlikely(c->flags & CONN_DISORDER || seg->opt.seen & TCP_HAS_SACK ||
		     cwnd_is_limiting(c)) ||
	    !scoreboard_ack_all(&c->scoreboard, seg->ack)) {
		ack_slow_path(t, c, seg);
		return;
	}
	snd_wnd_update(t, c, seg->seq, seg->ack, seg->window);
	rtt_measure(t, c, c->scoreboard.first.sent_us);
	ack_new_data(t, c, seg);
}

/* Changes the state when our FIN is acknowledged. */
static enum step
fin_acked(struct tcp *t, struct conn *c)
{
	switch (c->state) {
	case CONN_FIN_WAIT_1:
		conn_fin_wait_2(t, c);
		return STEP_CONTINUE;
	case CONN_CLOSING:
		conn_time_wait(t, c);
		return STEP_CONTINUE;
	default: /* LAST-ACK: conn_fin_due() admits no other state */
		tcp_count(t, TCP_CLOSED);
		conn_free(t, c);
		return STEP_DONE;
	}
}

enum step
check_ack(struct tcp *t, struct conn *c, const struct arrival *a)
{
	const struct tcp_seg *seg = &a->seg;
	bool fin;

	if (!(seg->flags & TCP_ACK)) {
		tcp_count(t, TCP_DROP_NO_ACK);
		return STEP_DONE;
	}
	if (c->state == CONN_SYN_RCVD)
		return syn_acked(t, c, a);
	if (!ack_acceptable(c, seg->ack)) {
		tcp_count(t, TCP_CHALLENGED_ACK);
		out_challenge(t, c);
		return STEP_DONE;
	}
	if (c->flags & CONN_PERSIST && !(c->flags & CONN_CLOSE))
		c->tries = 0; /* the window may stay closed while the peer answers (3.8.6.1) */
	if (unlikely(c->flags & CONN_ECN))
		ecn_ack_arrives(t, c, seg);
	fin = seq_after(seg->ack, c->snd_una) && conn_fin_due(c) && seg->ack == conn_tx_end(c) + 1;
	data_acked(t, c, seg);
	return fin ? fin_acked(t, c) : STEP_CONTINUE;
}

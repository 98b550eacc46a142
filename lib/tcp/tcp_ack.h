/*
 * tcp_ack.h - the effects of every acknowledgment, and which window limits sending. Private to
 * tcp_ack.c, tcp_in.c, tcp_fast_path.c and tcp_out.c.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_TCP_ACK_H
#define CLOCKOO_TCP_ACK_H

#include "tcp.h"

/* Takes an RTT sample, exact to the microsecond, from data sent once at sent_us. */
static inline void
rtt_measure(const struct tcp *t, struct conn *c, uint32_t sent_us)
{
	const uint32_t us = max_u32(t->net.now_us - sent_us, 1);

	if (unlikely(us > RTT_LONG_US)) {
		rtt_measure_long(t, c, sent_us);
		return;
	}
	if (unlikely(us < c->min_rtt_us))
		c->min_rtt_us = us;
	rtt_sample(c, us);
}

/* True if the connection has sent the byte before snd_una - age. After the peer's FIN this cannot
 * be checked, and is assumed. After 4 GB the number iss recurs; from then on the check is too
 * strict until a window has been sent. */
static inline bool
ack_is_of_sent(const struct conn *c, uint32_t age)
{
	return c->flags & (CONN_PEER_FIN | CONN_EOF) || age < c->snd_una - c->iss;
}

/* RFC 5961 section 5.2: true unless ack is for data never sent, or older than any window. Data
 * never sent lies on both sides: before a window was sent, the numbers up to iss would be a window
 * of right guesses for a forger of data. */
static inline bool
ack_acceptable(const struct conn *c, uint32_t ack)
{
	const uint32_t age = c->snd_una - ack;

	return ack - c->snd_una <= c->snd_max - c->snd_una ||
	       (age <= c->snd_wnd_max && ack_is_of_sent(c, age));
}

/* Updates SND.WND, SND.WL1 and SND.WL2 of RFC 9293 section 3.10.7.4, fifth. field: the window field
 * of the segment. */
static inline void
snd_wnd_update(struct tcp *t, struct conn *c, uint32_t seq, uint32_t ack, uint16_t field)
{
	const bool newer =
		seq_before(c->snd_wl1, seq) || (c->snd_wl1 == seq && !seq_after(c->snd_wl2, ack));
	const uint32_t window = (uint32_t)field << c->snd_wscale;

	if (!newer)
		return;
	if (window > c->snd_wnd && c->tx.bytes > 0)
		conn_schedule_output(t, c);
	c->snd_wnd = window;
	if (unlikely(window > c->snd_wnd_max))
		c->snd_wnd_max = window;
	c->snd_wl1 = seq;
	c->snd_wl2 = ack;
}

/* True if cwnd holds back data that the peer's window allows. */
static inline bool
cwnd_is_full(const struct conn *c)
{
	return c->snd_nxt - c->snd_una < c->snd_wnd && conn_pipe(c) + c->mss > c->cwnd;
}

/* True if the congestion window is what limits sending. In slow start that is also the case when
 * more than half of it was used (RFC 7661 section 4.3 asks for no less). */
static inline bool
cwnd_is_limiting(const struct conn *c)
{
	return c->flags & CONN_CWND_LIMITED ||
	       ((c->snd_nxt - c->snd_una) > c->cwnd / 2 && c->cwnd < c->ssthresh);
}

#endif

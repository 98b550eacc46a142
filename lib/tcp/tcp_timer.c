/*
 * tcp_timer.c - the deadlines of a connection on the timer wheel, and the RTO's backoff.
 *
 * A connection has three deadlines and one wheel node. Postponing a deadline only writes it; the
 * node fires at the old time, finds nothing due, and is armed for the next (tcp_tick.c).
 */
#include "tcp.h"

static uint64_t
nearest(const struct conn *c)
{
	uint64_t at = c->main_at_ns;

	at = c->ack_at_ns < at ? c->ack_at_ns : at;
	return c->keepalive_at_ns < at ? c->keepalive_at_ns : at;
}

void
timer_sync(struct tcp *t, struct conn *c)
{
	const uint64_t at = nearest(c);

	if (c->armed_ns <= at)
		return;
	c->armed_ns = at;
	wheel_arm(&t->wheel, &c->timer, at);
}

/*
 * Segments that waited in the port's ring during a pause are read in the turn after it and in each
 * turn that follows a full burst. Data sent in the turn before the pause may have left the process
 * after it.
 */
bool
rtt_long_valid(const struct tcp *t, uint32_t sent_us)
{
	const struct pause *p = &t->pause;

	return t->turns - p->turns > t->rx_backlog_turns + 1 &&
	       sent_us != (uint32_t)(p->begin_ns / 1000);
}

NOT_FLAT void
rtt_measure_long(const struct tcp *t, struct conn *c, uint32_t sent_us)
{
	const uint32_t us = min_u32(t->net.now_us - sent_us, RTT_MAX_US);

	if (!rtt_long_valid(t, sent_us))
		return;
	c->min_rtt_us = min_u32(c->min_rtt_us, us);
	rtt_sample(c, us);
}

void
timer_back_off(struct tcp *t, struct conn *c)
{
	uint64_t us;

	if (c->backoff < BACKOFF_MAX)
		c->backoff++;
	us = (uint64_t)c->rto_us << c->backoff;
	timer_main(t, c, (us < RTO_MAX_US ? us : RTO_MAX_US) * 1000);
}

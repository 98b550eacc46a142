/*
 * tcp_timer.h - the interface of tcp_timer.c: deadlines, and the round trip they are made from.
 *
 * Private to tcp_*.c, which include it by tcp.h.
 *
 * Shape:  a connection has three deadlines and one node on the wheel. Putting a deadline off only
 *         writes it; the node fires at the old time and finds what is next. What is written here is
 *         what each segment does.
 * Thread: core-local.
 */
#ifndef CLOCKOO_TCP_TIMER_H
#define CLOCKOO_TCP_TIMER_H

#include "tcp_core.h"

/* After any deadline came nearer. */
void timer_sync(struct tcp *t, struct conn *c);
/* RFC 6298 section 5.5: the main timer again, twice as long each time. */
void timer_back_off(struct tcp *t, struct conn *c);

/* The node stands for the nearest of the others already, so it is armed for no later than them. */
static inline void
timer_main(struct tcp *t, struct conn *c, uint64_t in_ns)
{
	c->main_at_ns = t->net.now_ns + in_ns;
	if (unlikely(c->armed_ns > c->main_at_ns))
		timer_sync(t, c);
}

static inline void
timer_main_off(struct conn *c)
{
	c->main_at_ns = NEVER;
	c->flags &= ~(CONN_PERSIST | CONN_PTO | CONN_REO);
}

/* RFC 8985 section 7.2: how long until the peer is asked whether it has the last of it. Trouble is
 * RACK's and the retransmission timer's; before the first round trip is known there is nothing to
 * go by. */
static inline uint32_t
flight_us(const struct conn *c, bool *probe)
{
	const uint32_t delay = c->flags & CONN_PEER_DELAYS_ACKS ? PEER_DELAY_MAX_US : PEER_DELAY_US;
	uint32_t us;

	*probe = false;
	if ((c->flags & (CONN_SACK | CONN_DISORDER)) != CONN_SACK || c->srtt_us == 0)
		return c->rto_us;
	us = max_u32(2 * c->srtt_us, PTO_MIN_US);
	us += c->snd_nxt - c->snd_una < 2u * c->mss ? delay : 0;
	*probe = us < c->rto_us;
	return *probe ? us : c->rto_us;
}

/* Is a sample of more than RTT_LONG_US valid, of data sent at sent_us? Not if it includes a pause
 * of the process. */
bool rtt_long_valid(const struct tcp *t, uint32_t sent_us);
/* What rtt_measure() does for more than RTT_LONG_US. */
void rtt_measure_long(const struct tcp *t, struct conn *c, uint32_t sent_us);

/* Data is on its way: the loss probe's timer if one is due, else the retransmission timer. */
static inline void
timer_flight(struct tcp *t, struct conn *c)
{
	bool probe;
	const uint32_t us = flight_us(c, &probe);

	c->flags = (c->flags & ~(CONN_PERSIST | CONN_PTO | CONN_REO)) | (probe ? CONN_PTO : 0);
	timer_main(t, c, (uint64_t)us * 1000);
}

/* RFC 6298 section 2, in integers, for at most RTT_MAX_US: srtt gains 1/8 of the difference, rttvar
 * 1/4. */
static inline void
rtt_sample(struct conn *c, uint32_t rtt)
{
	uint32_t srtt = c->srtt_us, var = c->rttvar_us, rto;

	if (unlikely(srtt == 0)) {
		srtt = rtt;
		var = rtt / 2;
	} else {
		const uint32_t off = rtt > srtt ? rtt - srtt : srtt - rtt;

		var += off / 4 - var / 4;
		srtt += rtt / 8 - srtt / 8;
	}
	srtt += srtt == 0;
	/* The least is for how long a peer may delay its ACK, and that comes on top of the way. */
	rto = srtt + (unlikely(4 * var > RTO_MIN_US) ? 4 * var : RTO_MIN_US);
	c->srtt_us = srtt;
	c->rttvar_us = var;
	c->rto_us = rto;
}

#endif

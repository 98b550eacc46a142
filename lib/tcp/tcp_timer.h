/*
 * tcp_timer.h - the interface of tcp_timer.c: deadlines, and the round trip they are made from.
 *
 * Private to tcp_*.c, which include it by tcp.h.
 *
 * Shape:  a connection has three deadlines and one node on the wheel. Putting a deadline off only
 *         writes it; the node fires at the old time and is armed for the next deadline. The inline
 *         functions are the part that each segment runs.
 * Thread: core-local.
 */
#ifndef CLOCKOO_TCP_TIMER_H
#define CLOCKOO_TCP_TIMER_H

#include "tcp_core.h"

/* Call after any deadline has come nearer. */
void timer_sync(struct tcp *t, struct conn *c);
/* RFC 6298 section 5.5: arms the main timer again, twice as long each time. */
void timer_back_off(struct tcp *t, struct conn *c);

/* The node is already armed for the nearest other deadline, so it never needs a later time than
 * those. */
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

/*
 * RFC 8985 section 7.2: returns the time until a loss probe asks the peer for the last data. With
 * losses, RACK and the retransmission timer decide. Before the first round trip is measured there
 * is no probe.
 */
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

/* True if an RTT sample above RTT_LONG_US, of data sent at sent_us, is valid: it does not include a
 * pause of the process. */
bool rtt_long_valid(const struct tcp *t, uint32_t sent_us);
/* Takes the samples of rtt_measure() that are above RTT_LONG_US. */
void rtt_measure_long(const struct tcp *t, struct conn *c, uint32_t sent_us);

/* Arms a timer for data in flight: the loss probe's if one is due, or else the retransmission
 * timer. */
static inline void
timer_flight(struct tcp *t, struct conn *c)
{
	bool probe;
	const uint32_t us = flight_us(c, &probe);

	c->flags = (c->flags & ~(CONN_PERSIST | CONN_PTO | CONN_REO)) | (probe ? CONN_PTO : 0);
	timer_main(t, c, (uint64_t)us * 1000);
}

/* Does the same for one segment without disorder, when no timer is armed. */
static inline void
timer_flight_one(struct tcp *t, struct conn *c)
{
	const uint32_t delay = c->flags & CONN_PEER_DELAYS_ACKS ? PEER_DELAY_MAX_US : PEER_DELAY_US;
	const uint32_t probe_us = max_u32(2 * c->srtt_us, PTO_MIN_US) + delay;
	const bool probe = c->flags & CONN_SACK && c->srtt_us != 0 && probe_us < c->rto_us;

	c->flags = (c->flags & ~(CONN_PERSIST | CONN_PTO | CONN_REO)) | (probe ? CONN_PTO : 0);
	timer_main(t, c, (uint64_t)(probe ? probe_us : c->rto_us) * 1000);
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
		const int32_t off = (int32_t)(rtt - srtt);

		var += (uint32_t)(off < 0 ? -off : off) / 4 - var / 4;
		srtt += rtt / 8 - srtt / 8;
	}
	srtt = max_u32(srtt, 1);
	/* The minimum covers a peer's delayed ACK, which comes on top of the round trip. */
	rto = srtt + max_u32(4 * var, RTO_MIN_US);
	c->srtt_us = srtt;
	c->rttvar_us = var;
	c->rto_us = rto;
}

#endif

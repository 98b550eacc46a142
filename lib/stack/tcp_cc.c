/*
 * tcp_cc.c - how much the network takes: slow start, congestion avoidance, fast retransmit and
 * fast recovery (RFC 5681), without SACK (NewReno, RFC 6582).
 */
#include "tcp.h"

#define SSTHRESH_NONE UINT32_MAX
#define CWND_MAX      (16u * 1024 * 1024)

void
cc_start(struct conn *c)
{
	c->cwnd = INITIAL_CWND_SEGS * c->mss;
	c->ssthresh = SSTHRESH_NONE;
	c->recover = c->snd_una;
	c->dup_acks = 0;
}

/* RFC 5681 equation 4. */
static uint32_t
half_flight(const struct conn *c)
{
	return max_u32((c->snd_max - c->snd_una) / 2, 2u * c->mss);
}

/* RFC 6582 section 3.2, step 3: snd_una has moved already. */
static void
recovery_acked(struct conn *c, uint32_t bytes)
{
	if (!seq_before(c->snd_una, c->recover)) {
		const uint32_t flight = c->snd_max - c->snd_una;

		c->flags &= ~CONN_RECOVERY;
		c->cwnd = min_u32(c->ssthresh, max_u32(flight, c->mss) + c->mss);
		return;
	}
	/* A partial acknowledgment: the next segment is lost too. */
	c->flags |= CONN_RESEND;
	c->cwnd = c->cwnd > bytes ? c->cwnd - bytes : c->mss;
	c->cwnd += bytes >= c->mss ? c->mss : 0;
	c->cwnd = max_u32(c->cwnd, c->mss);
}

void
cc_acked(struct conn *c, uint32_t bytes)
{
	c->dup_acks = 0;
	if (c->flags & CONN_RECOVERY) {
		recovery_acked(c, bytes);
		return;
	}
	if (seq_before(c->recover, c->snd_una))
		c->recover = c->snd_una; /* or it would come to lie ahead when numbers wrap */
	if (c->cwnd < c->ssthresh)
		c->cwnd += min_u32(bytes, 2u * c->mss); /* RFC 3465: L = 2 */
	else
		c->cwnd += max_u32((uint32_t)c->mss * c->mss / c->cwnd, 1);
	c->cwnd = min_u32(c->cwnd, CWND_MAX);
}

bool
cc_dup_ack(struct conn *c)
{
	if (c->flags & CONN_RECOVERY) {
		c->cwnd = min_u32(c->cwnd + c->mss, CWND_MAX);
		return false;
	}
	if (c->dup_acks < UINT8_MAX)
		c->dup_acks++;
	/* Step 2: not again for what was in flight when the last loss was seen. */
	if (c->dup_acks != DUP_ACKS_RESEND || seq_before(c->snd_una, c->recover))
		return false;
	c->ssthresh = half_flight(c);
	c->cwnd = c->ssthresh + DUP_ACKS_RESEND * c->mss;
	c->recover = c->snd_max;
	c->flags |= CONN_RECOVERY | CONN_RESEND;
	return true;
}

void
cc_timeout(struct conn *c)
{
	/* RFC 5681: a segment lost again does not halve ssthresh again. */
	if (c->tries <= 1)
		c->ssthresh = half_flight(c);
	c->cwnd = c->mss;
	c->recover = c->snd_max;
	c->dup_acks = 0;
	c->flags &= ~(CONN_RECOVERY | CONN_RESEND);
}

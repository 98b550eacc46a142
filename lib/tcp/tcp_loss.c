/*
 * tcp_loss.c - loss recovery: with SACK (RFC 8985, paced by RFC 9937) or without (RFC 6582),
 * timeouts, and the undo of spurious reductions (RFC 4015, RFC 5682).
 *
 * An ACK is handled here only if its connection has CONN_DISORDER, a timeout always.
 */
#include "tcp.h"

static bool
in_recovery(const struct conn *c)
{
	return c->flags & (CONN_RECOVERY | CONN_LOSS);
}

/* RFC 3522, RFC 4015: saves the state to restore if the reduction was spurious. */
static void
undo_save(struct conn *c)
{
	struct loss *l = &c->loss;

	l->undo = true;
	l->undo_cwnd = c->cwnd;
	l->undo_ssthresh = c->ssthresh;
	l->undo_w_max = c->cc.w_max;
	l->undo_retrans = 0;
}

static void
undo_restore(struct conn *c)
{
	struct loss *l = &c->loss;

	scoreboard_unmark(&c->scoreboard);
	c->cwnd = max_u32(c->cwnd, l->undo_cwnd);
	c->ssthresh = max_u32(c->ssthresh, l->undo_ssthresh);
	c->cc.w_max = l->undo_w_max;
	c->cc.t_us = 0;
	c->flags &= ~(CONN_RECOVERY | CONN_LOSS);
	l->undo = false;
	c->dup_acks = 0;
}

/* RFC 9937: the data delivered by the first ACK of a recovery counts. */
static void
recovery_begin(struct tcp *t, struct conn *c, const struct ack_delivered *delivered)
{
	struct loss *l = &c->loss;
	const uint32_t flight = c->snd_nxt - c->snd_una;

	undo_save(c);
	/* A congestion mark in the same window has reduced cwnd already; with DCTCP it has not
	 * halved it. */
	if (conn_is_dctcp(t, c) || !ecn_is_answered(c, c->snd_una))
		cc_on_loss(t, c);
	c->recover = c->snd_nxt;
	c->flags |= CONN_RECOVERY;
	l->prr_delivered = l->prr_out = 0;
	l->recover_fs = max_u32(flight - c->scoreboard.sacked + delivered->bytes, 1);
	tcp_count(t, TCP_FAST_RECOVERIES);
}

/* RFC 9937: computes how much may be sent for the data delivered. */
static void
prr(struct conn *c, uint32_t delivered, bool safe)
{
	struct loss *l = &c->loss;
	const uint32_t pipe = conn_pipe(c);
	int64_t count;

	if (delivered == 0 && l->prr_out > 0)
		return;
	l->prr_delivered += delivered;
	if (pipe > c->ssthresh) {
		count = (int64_t)(((uint64_t)l->prr_delivered * c->ssthresh + l->recover_fs - 1) /
				  l->recover_fs) -
			l->prr_out;
	} else {
		count = (int64_t)l->prr_delivered - l->prr_out;
		count = count > delivered ? count : delivered;
		count += safe ? c->mss : 0;
		if (count > c->ssthresh - pipe)
			count = c->ssthresh - pipe;
	}
	/* A recovery always sends its first segment. */
	if (l->prr_out == 0 && count < c->mss)
		count = c->mss;
	c->cwnd = pipe + (count > 0 ? (uint32_t)count : 0);
}

static void
recovery_end(struct conn *c)
{
	if (c->flags & CONN_RECOVERY) {
		/* RFC 6582 section 3.2 step 3, RFC 9937. */
		c->cwnd = min_u32(c->ssthresh, max_u32(conn_pipe(c), c->mss) + c->mss);
		if (c->flags & CONN_SACK)
			c->cwnd = c->ssthresh;
	}
	c->flags &= ~(CONN_RECOVERY | CONN_LOSS);
	rack_recovered(c);
}

/* RFC 4015: D-SACKs cover every retransmission, so none was needed. */
static void
undo_by_dsack(struct tcp *t, struct conn *c, const struct sack_info *info)
{
	struct loss *l = &c->loss;

	if (!info->dsack || !l->undo || l->undo_retrans == 0)
		return;
	/* A D-SACK arrives soon after recovery has ended, or not at all. */
	if (seq_after(c->snd_una, c->recover + l->undo_cwnd)) {
		l->undo = false;
		return;
	}
	if (--l->undo_retrans > 0)
		return;
	tcp_count(t, c->flags & CONN_LOSS ? TCP_TIMEOUTS_SPURIOUS : TCP_RECOVERIES_SPURIOUS);
	undo_restore(c);
}

/* RFC 5682 section 3, by SACK: if data that the first timeout marked lost is delivered without a
 * retransmission, the timeout was spurious. */
static void
undo_spurious_timeout(struct tcp *t, struct conn *c, const struct ack_delivered *delivered)
{
	const uint32_t needed = CONN_SACK | CONN_LOSS;

	if (!delivered->lost_came || !c->loss.undo || (c->flags & needed) != needed ||
	    !seq_before(c->snd_una, c->recover))
		return;
	tcp_count(t, TCP_TIMEOUTS_SPURIOUS);
	undo_restore(c);
}

/* Detects loss without SACK, by duplicate and partial ACKs (RFC 6582 section 3.2). Returns the
 * bytes found lost. */
static uint32_t
reno_detect(struct tcp *t, struct conn *c, const struct sack_info *info, uint32_t acked)
{
	const uint32_t before = c->scoreboard.lost;
	const bool partial = acked > 0 && c->flags & CONN_RECOVERY;

	if (c->flags & CONN_LOSS)
		return 0;
	if (info->dup && c->dup_acks < UINT8_MAX)
		c->dup_acks++;
	if (acked > 0 && c->dup_acks > 0) {
		const uint32_t segs = acked / c->mss > 1 ? acked / c->mss - 1 : 0;

		c->dup_acks = partial ? (uint8_t)(c->dup_acks - min_u32(segs, c->dup_acks)) : 0;
	}
	/* Step 2: duplicate ACKs of data that was sent before the last recovery began do not begin
	 * another: retransmissions may have caused them. */
	if (!partial && (c->flags & CONN_RECOVERY || c->dup_acks != DUP_ACK_THRESHOLD ||
			 !info->dup || !seq_after(c->snd_una, c->recover)))
		return 0;
	if (!scoreboard_mark_first(&c->scoreboard, &t->scoreboard_pool, c->mss))
		tcp_count(t, TCP_SCOREBOARD_NO_NODE);
	return c->scoreboard.lost - before;
}

/* RFC 9937: without SACK a duplicate ACK counts as one delivered segment, which is subtracted from
 * the ACK that covers it. */
static uint32_t
delivered_by(const struct conn *c, const struct ack_delivered *delivered,
	     const struct sack_info *info, uint8_t dups_before)
{
	const uint32_t counted =
		(uint32_t)(dups_before - min_u32(c->dup_acks, dups_before)) * c->mss;

	if (c->flags & CONN_SACK)
		return delivered->bytes;
	if (info->dup)
		return c->mss;
	return delivered->bytes - min_u32(counted, delivered->bytes);
}

static void
leave_disorder(struct conn *c)
{
	if (in_recovery(c) || c->flags & (CONN_TLP | CONN_REO) || c->dup_acks > 0 ||
	    c->scoreboard.sacked + c->scoreboard.lost > 0)
		return;
	c->flags &= ~CONN_DISORDER;
}

static uint32_t
detect(struct tcp *t, struct conn *c, const struct ack_delivered *delivered,
       const struct sack_info *info, uint32_t acked)
{
	if (!(c->flags & CONN_SACK))
		return reno_detect(t, c, info, acked);
	if (delivered->sacked > 0 && c->dup_acks < UINT8_MAX)
		c->dup_acks++;
	if (acked > 0)
		c->dup_acks = 0;
	return rack_acked(t, c, delivered, info);
}

void
loss_acked(struct tcp *t, struct conn *c, const struct tcp_seg *seg, struct loss_ack *a)
{
	const struct ack_delivered *delivered = &a->delivered;
	const uint8_t dups = c->dup_acks;
	bool was_recovering;
	uint32_t found;

	if (delivered->newest)
		c->min_rtt_us = min_u32(c->min_rtt_us,
					max_u32(delivered->now_us - delivered->newest_us, 1));
	/* A duplicate of data sent once was made by the network and is no sign of reordering. */
	a->info.dsack = a->info.dsack && c->loss.undo_retrans > 0;
	if (tlp_acked(t, c, seg, &a->info) && !in_recovery(c)) {
		cc_on_loss(t, c);
		c->cwnd = c->ssthresh;
	}
	undo_by_dsack(t, c, &a->info);
	undo_spurious_timeout(t, c, delivered);
	if (in_recovery(c) && a->acked > 0 && !seq_before(c->snd_una, c->recover))
		recovery_end(c);
	was_recovering = in_recovery(c);
	found = detect(t, c, delivered, &a->info, a->acked);
	if (found > 0 && !was_recovering)
		recovery_begin(t, c, delivered);
	if (c->flags & CONN_RECOVERY)
		prr(c, delivered_by(c, delivered, &a->info, dups), a->acked > 0 && found == 0);
	else if (a->acked > 0 && (c->flags & CONN_LOSS || a->limited))
		cc_on_ack(t, c, delivered->bytes, 0);
	scoreboard_merge(&c->scoreboard, &t->scoreboard_pool);
	leave_disorder(c);
	/* The timer was armed in disorder. Now a loss probe may replace it. */
	if (!(c->flags & CONN_DISORDER) && a->acked > 0 && c->snd_nxt != c->snd_una)
		timer_flight(t, c);
	conn_schedule_output(t, c);
}

/* Handles the end of the reordering window (RFC 8985 section 6.2, end). */
void
loss_reordered(struct tcp *t, struct conn *c)
{
	const struct ack_delivered delivered = {.now_us = t->net.now_us};

	timer_flight(t, c);
	if (rack_detect(t, c) == 0)
		return;
	if (!in_recovery(c))
		recovery_begin(t, c, &delivered);
	if (c->flags & CONN_RECOVERY)
		prr(c, 0, false);
	scoreboard_merge(&c->scoreboard, &t->scoreboard_pool);
	conn_schedule_output(t, c);
}

/* RFC 2018 section 8: if the first unacknowledged range is SACKed, the peer has reneged. Reneging
 * on later data shows when that range becomes the first. */
static bool
reneged(const struct conn *c)
{
	return c->scoreboard.sacked > 0 && c->scoreboard.first.flags & RANGE_SACKED;
}

void
loss_timeout(struct tcp *t, struct conn *c)
{
	conn_enter_disorder(c);
	if (!in_recovery(c) || !seq_before(c->snd_una, c->recover)) {
		undo_save(c);
		cc_on_loss(t, c);
	}
	if (c->tries > 1)
		c->loss.undo = false;
	ecn_timeout(t, c);
	if (reneged(c)) {
		scoreboard_forget_sacks(&c->scoreboard);
		tcp_count(t, TCP_SACK_RENEGED);
	}
	if (c->flags & CONN_SACK && c->tries == 1)
		rack_timeout(t, c);
	else
		scoreboard_mark_all(&c->scoreboard);
	scoreboard_merge(&c->scoreboard, &t->scoreboard_pool);
	c->recover = c->snd_nxt;
	c->dup_acks = 0;
	/* RFC 5681 equation 4: one segment beyond what is still in flight. */
	c->cwnd = conn_pipe(c) + c->mss;
	c->cc.t_us = 0;
	c->loss.tlp_spurious = 0;
	c->flags &= ~(CONN_PEER_DELAYS_ACKS | CONN_RECOVERY | CONN_TLP | CONN_TLP_DUE);
	c->flags |= CONN_LOSS;
	tcp_count(t, TCP_TIMEOUTS_RETRANSMIT);
}

void
loss_retransmitted(struct conn *c, uint32_t len)
{
	c->loss.undo_retrans++;
	c->loss.prr_out += len;
}

void
loss_pmtu_reduced(struct tcp *t, struct conn *c)
{
	if (c->scoreboard.count == 0)
		return;
	conn_enter_disorder(c);
	scoreboard_mark_all(&c->scoreboard);
	scoreboard_merge(&c->scoreboard, &t->scoreboard_pool);
	conn_schedule_output(t, c);
}

/*
 * tcp_loss.c - losses, from the first sign to the last repair: recovery by SACK (RFC 8985, sent at
 * the pace of RFC 9937) or without (RFC 6582), timeouts, and taking back what was no loss.
 *
 * Only what is in trouble comes here: the ACK of a reply that arrived does not.
 */
#include "tcp.h"

static bool
in_repair(const struct conn *c)
{
	return c->flags & (CONN_RECOVERY | CONN_LOSS);
}

/* RFC 3522, RFC 4015: what to go back to if there was no loss. */
static void
remember(struct conn *c)
{
	struct loss *l = &c->loss;

	c->flags |= CONN_UNDO;
	l->undo_cwnd = c->cwnd;
	l->undo_ssthresh = c->ssthresh;
	l->undo_w_max = c->growth.w_max;
	l->undo_again = 0;
}

static void
undo(struct conn *c)
{
	struct loss *l = &c->loss;

	sent_unmark(&c->sent);
	c->cwnd = max_u32(c->cwnd, l->undo_cwnd);
	c->ssthresh = max_u32(c->ssthresh, l->undo_ssthresh);
	c->growth.w_max = l->undo_w_max;
	c->growth.t_us = 0;
	c->flags &= ~(CONN_RECOVERY | CONN_LOSS | CONN_UNDO);
	c->dup_acks = 0;
}

/* RFC 9937: volume that this ACK, the first of the recovery, has delivered counts in. */
static void
recovery_begin(struct stack *s, struct conn *c, const struct sent_news *news)
{
	struct loss *l = &c->loss;
	const uint32_t flight = c->snd_nxt - c->snd_una;

	remember(c);
	cc_lost(s, c);
	c->recover = c->snd_nxt;
	c->flags |= CONN_RECOVERY;
	l->prr_delivered = l->prr_out = 0;
	l->recover_fs = max_u32(flight - c->sent.sacked + news->bytes, 1);
	stack_count(s, TCP_FAST_RETRANSMITS);
}

/* RFC 9937: how much may go out for what has arrived. */
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
	/* The first segment of a recovery goes out whatever the sums say. */
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

/* RFC 4015: every segment that went out again came twice, so none was lost. */
static void
take_back(struct stack *s, struct conn *c, const struct sack_told *told)
{
	struct loss *l = &c->loss;

	if (!told->dsack || !(c->flags & CONN_UNDO) || l->undo_again == 0)
		return;
	/* The last DSACK comes after the repair is done, but not long after. */
	if (seq_after(c->snd_una, c->recover + l->undo_cwnd)) {
		c->flags &= ~CONN_UNDO;
		return;
	}
	if (--l->undo_again > 0)
		return;
	stack_count(s, c->flags & CONN_LOSS ? TCP_TIMEOUTS_SPURIOUS : TCP_RECOVERIES_SPURIOUS);
	undo(c);
}

/* RFC 5682 section 3, by SACK: what had been given up after the first timeout and was not sent
 * again arrives, so it was late and not lost. */
static void
timeout_spurious(struct stack *s, struct conn *c, const struct sent_news *news)
{
	const uint32_t needed = CONN_SACK | CONN_LOSS | CONN_UNDO;

	if (!news->lost_came || (c->flags & needed) != needed ||
	    !seq_before(c->snd_una, c->recover))
		return;
	stack_count(s, TCP_TIMEOUTS_SPURIOUS);
	undo(c);
}

/* Without SACK: what a duplicate ACK, or a partial one, says (RFC 6582 section 3.2). Returns the
 * bytes found lost. */
static uint32_t
reno_detect(struct stack *s, struct conn *c, const struct sack_told *told, uint32_t acked)
{
	const uint32_t before = c->sent.lost;
	const bool partial = acked > 0 && c->flags & CONN_RECOVERY;

	if (c->flags & CONN_LOSS)
		return 0;
	if (told->dup && c->dup_acks < UINT8_MAX)
		c->dup_acks++;
	if (acked > 0 && c->dup_acks > 0) {
		const uint32_t segs = acked / c->mss > 1 ? acked / c->mss - 1 : 0;

		c->dup_acks = partial ? (uint8_t)(c->dup_acks - min_u32(segs, c->dup_acks)) : 0;
	}
	/* Step 2: not again for what was in flight when the last loss was seen, nor for the echo of
	 * what went out twice. */
	if (!partial && (c->flags & CONN_RECOVERY || c->dup_acks != DUP_ACKS_RESEND || !told->dup ||
			 !seq_after(c->snd_una, c->recover)))
		return 0;
	if (!sent_mark_first(&c->sent, &s->tcp->sent_pool, c->mss))
		stack_count(s, TCP_SENT_RUNS_SHORT);
	return c->sent.lost - before;
}

/* RFC 9937: without SACK a duplicate ACK stands for a segment that arrived, and what it stood for
 * is taken from the ACK that covers it. */
static uint32_t
delivered_by(const struct conn *c, const struct sent_news *news, const struct sack_told *told,
	     uint8_t dups_before)
{
	const uint32_t counted =
		(uint32_t)(dups_before - min_u32(c->dup_acks, dups_before)) * c->mss;

	if (c->flags & CONN_SACK)
		return news->bytes;
	if (told->dup)
		return c->mss;
	return news->bytes - min_u32(counted, news->bytes);
}

static void
quiet(struct conn *c)
{
	if (in_repair(c) || c->flags & (CONN_TLP | CONN_REO) || c->dup_acks > 0 ||
	    c->sent.sacked + c->sent.lost > 0)
		return;
	c->flags &= ~CONN_TROUBLED;
}

static uint32_t
detect(struct stack *s, struct conn *c, const struct sent_news *news, const struct sack_told *told,
       uint32_t acked)
{
	if (!(c->flags & CONN_SACK))
		return reno_detect(s, c, told, acked);
	if (news->sacked > 0 && c->dup_acks < UINT8_MAX)
		c->dup_acks++;
	if (acked > 0)
		c->dup_acks = 0;
	return rack_acked(s, c, news, told);
}

void
loss_acked(struct stack *s, struct conn *c, const struct tcp_seg *seg, struct loss_ack *a)
{
	const struct sent_news *news = &a->news;
	const uint8_t dups = c->dup_acks;
	bool was_repairing;
	uint32_t found;

	if (news->newest)
		c->min_rtt_us = min_u32(c->min_rtt_us, max_u32(news->now_us - news->newest_us, 1));
	/* What was not sent again was doubled on the way, and says nothing of our patience. */
	a->told.dsack = a->told.dsack && c->loss.undo_again > 0;
	if (tlp_acked(s, c, seg, &a->told) && !in_repair(c)) {
		cc_lost(s, c);
		c->cwnd = c->ssthresh;
	}
	take_back(s, c, &a->told);
	timeout_spurious(s, c, news);
	if (in_repair(c) && a->acked > 0 && !seq_before(c->snd_una, c->recover))
		recovery_end(c);
	was_repairing = in_repair(c);
	found = detect(s, c, news, &a->told, a->acked);
	if (found > 0 && !was_repairing)
		recovery_begin(s, c, news);
	if (c->flags & CONN_RECOVERY)
		prr(c, delivered_by(c, news, &a->told, dups), a->acked > 0 && found == 0);
	else if (a->acked > 0 && (c->flags & CONN_LOSS || a->limited))
		cc_grow(s, c, news->bytes, news->now_us);
	sent_tidy(&c->sent, &s->tcp->sent_pool);
	quiet(c);
	/* The timer was set while there was trouble: now a loss probe is in place again. */
	if (!(c->flags & CONN_TROUBLED) && a->acked > 0 && c->snd_nxt != c->snd_una)
		timer_flight(s, c);
	conn_make_out(s, c);
}

/* The reordering window is over (RFC 8985 section 6.2, end). */
void
loss_reordered(struct stack *s, struct conn *c)
{
	const struct sent_news news = {.now_us = s->now_us};

	timer_flight(s, c);
	if (rack_detect(s, c) == 0)
		return;
	if (!in_repair(c))
		recovery_begin(s, c, &news);
	if (c->flags & CONN_RECOVERY)
		prr(c, 0, false);
	sent_tidy(&c->sent, &s->tcp->sent_pool);
	conn_make_out(s, c);
}

/* RFC 2018 section 8: a peer whose window still begins with what it has SACKed has thrown it away.
 * If it did so further up, that comes to be the beginning. */
static bool
reneged(const struct conn *c)
{
	return c->sent.sacked > 0 && c->sent.first.flags & RUN_SACKED;
}

void
loss_timeout(struct stack *s, struct conn *c)
{
	mtu_timeout(s, c);
	conn_troubled(c);
	if (!in_repair(c) || !seq_before(c->snd_una, c->recover)) {
		remember(c);
		cc_lost(s, c);
	}
	if (c->tries > 1)
		c->flags &= ~CONN_UNDO;
	if (reneged(c)) {
		sent_forget_sacks(&c->sent);
		stack_count(s, TCP_SACK_FORGOTTEN);
	}
	if (c->flags & CONN_SACK && c->tries == 1)
		rack_timeout(s, c);
	else
		sent_mark_all(&c->sent);
	sent_tidy(&c->sent, &s->tcp->sent_pool);
	c->recover = c->snd_nxt;
	c->dup_acks = 0;
	/* RFC 5681 equation 4, on top of what has not had its time: the first segment goes out. */
	c->cwnd = conn_pipe(c) + c->mss;
	c->growth.t_us = 0;
	c->loss.tlp_vain = 0;
	c->flags &= ~(CONN_SLOW_ACKS | CONN_RECOVERY | CONN_TLP | CONN_TLP_AGAIN | CONN_TLP_DUE);
	c->flags |= CONN_LOSS;
	stack_count(s, TCP_TIMEOUTS_RETRANSMIT);
}

void
loss_resent(struct conn *c, uint32_t len)
{
	c->loss.undo_again++;
	c->loss.prr_out += len;
}

void
loss_path_shrank(struct stack *s, struct conn *c)
{
	if (c->sent.count == 0)
		return;
	conn_troubled(c);
	sent_mark_all(&c->sent);
	sent_tidy(&c->sent, &s->tcp->sent_pool);
	conn_make_out(s, c);
}

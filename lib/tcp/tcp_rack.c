/*
 * tcp_rack.c - RACK-TLP (RFC 8985), for connections with SACK.
 *
 * A segment is lost when one sent later was delivered and an RTT and a reordering window have
 * passed. While all is delivered in order, RACK's state is not touched: it begins at the first
 * disorder (conn_enter_disorder).
 */
#include "tcp.h"

#define REO_PERSIST  16u /* recoveries without a D-SACK until the reordering window is reset */
#define REO_MULT_MAX 100u

void
conn_enter_disorder(struct conn *c)
{
	struct loss *l = &c->loss;

	if (c->flags & CONN_DISORDER)
		return;
	c->flags |= CONN_DISORDER;
	l->rack_xmit_us = c->scoreboard.first.sent_us - 1;
	l->rack_end = l->rack_fack = c->snd_una;
	l->rack_rtt_us = c->srtt_us;
	if (l->dsack_round - c->snd_una > c->snd_nxt - c->snd_una)
		l->dsack_waits = false; /* the round was passed long ago */
	/* The number is so old that it appears ahead of snd_max after wraparound (RFC 6582 section
	 * 3.2). */
	if (seq_after(c->recover, c->snd_nxt)) {
		c->recover = c->snd_una - 1;
		l->undo = false;
	}
}

/* RFC 8985 section 6.2, steps 2 and 3. */
static void
rack_update(struct conn *c, const struct ack_delivered *delivered)
{
	struct loss *l = &c->loss;

	/* The time is from before a long idle time: the 32-bit clock has wrapped. */
	if (seq_after(l->rack_xmit_us, delivered->now_us))
		l->rack_xmit_us = c->scoreboard.first.sent_us - 1;
	if (delivered->once && seq_before(delivered->low_once, l->rack_fack))
		l->reo_seen = true;
	if (delivered->bytes > 0 && seq_after(delivered->high_end, l->rack_fack))
		l->rack_fack = delivered->high_end;
	if (!delivered->newest)
		return;
	l->rack_rtt_us = max_u32(delivered->now_us - delivered->newest_us, 1);
	if (seq_after(delivered->newest_us, l->rack_xmit_us) ||
	    (delivered->newest_us == l->rack_xmit_us &&
	     seq_after(delivered->newest_end, l->rack_end))) {
		l->rack_xmit_us = delivered->newest_us;
		l->rack_end = delivered->newest_end;
	}
}

/* RFC 8985 section 6.2, step 4: a D-SACK shows reordering, so the window grows. */
static void
reo_wnd_adapt(struct conn *c, bool dsack)
{
	struct loss *l = &c->loss;

	if (l->dsack_waits && seq_after(c->snd_una, l->dsack_round))
		l->dsack_waits = false;
	if (!dsack || l->dsack_waits)
		return;
	l->dsack_waits = true;
	l->dsack_round = c->snd_nxt;
	l->reo_mult = (uint8_t)min_u32(l->reo_mult + 1u, REO_MULT_MAX);
	l->reo_persist = REO_PERSIST;
}

void
rack_recovered(struct conn *c)
{
	struct loss *l = &c->loss;

	if (l->reo_persist == 0 || --l->reo_persist == 0)
		l->reo_mult = 1;
}

/* While no reordering was seen, three SACKed segments suffice, as in RFC 6675. */
static uint32_t
reo_wnd_us(const struct conn *c)
{
	const uint32_t quarter = c->min_rtt_us == RTT_UNKNOWN ? 0 : c->min_rtt_us / 4;

	if (!c->loss.reo_seen &&
	    (c->flags & (CONN_RECOVERY | CONN_LOSS) || c->dup_acks >= DUP_ACK_THRESHOLD ||
	     c->scoreboard.sacked > (DUP_ACK_THRESHOLD - 1) * c->mss))
		return 0;
	return min_u32(c->loss.reo_mult * quarter, c->srtt_us);
}

/* RFC 8985 section 6.2, step 5. Returns the bytes found lost. */
uint32_t
rack_detect(struct tcp *t, struct conn *c)
{
	const struct rack_rule rule = {
		.now_us = t->net.now_us,
		.xmit_us = c->loss.rack_xmit_us,
		.end_seq = c->loss.rack_end,
		.wait_us = c->loss.rack_rtt_us + reo_wnd_us(c),
	};
	uint32_t marked;
	const uint32_t wait_us = scoreboard_mark_lost(&c->scoreboard, &rule, &marked);

	if (wait_us > 0) {
		c->flags = (c->flags & ~CONN_PTO) | CONN_REO;
		timer_main(t, c, (uint64_t)wait_us * 1000);
	}
	return marked;
}

uint32_t
rack_acked(struct tcp *t, struct conn *c, const struct ack_delivered *delivered,
	   const struct sack_info *info)
{
	rack_update(c, delivered);
	reo_wnd_adapt(c, info->dsack);
	return rack_detect(t, c);
}

/* Section 6.3: a timeout marks the first segment, and every segment whose RTT and reordering window
 * have passed. */
void
rack_timeout(struct tcp *t, struct conn *c)
{
	const struct rack_rule rule = {
		.now_us = t->net.now_us,
		.xmit_us = t->net.now_us,
		.end_seq = c->snd_nxt,
		.wait_us = c->loss.rack_rtt_us + reo_wnd_us(c),
	};
	uint32_t marked;

	scoreboard_mark_lost(&c->scoreboard, &rule, &marked);
	if (!scoreboard_mark_first(&c->scoreboard, &t->scoreboard_pool, c->mss))
		tcp_count(t, TCP_SCOREBOARD_NO_NODE);
}

/* Section 7.3: requests a loss probe. tcp_out.c sends new data if there is any and the window
 * allows it. */
void
tlp_fires(struct tcp *t, struct conn *c)
{
	c->flags |= CONN_TLP_DUE;
	conn_schedule_output(t, c);
}

void
tlp_sent(struct tcp *t, struct conn *c, bool retransmit)
{
	conn_enter_disorder(c);
	c->flags = (c->flags & ~CONN_TLP_DUE) | CONN_TLP;
	c->loss.tlp_retrans = retransmit;
	c->loss.tlp_end = c->snd_nxt;
	tcp_count(t, TCP_LOSS_PROBES);
}

/* A spurious probe means that an ACK was delayed or lost. Later probes wait longer only if spurious
 * ones prevail. */
static void
tlp_account(struct tcp *t, struct conn *c, bool spurious)
{
	struct loss *l = &c->loss;

	tcp_count(t, spurious ? TCP_LOSS_PROBES_SPURIOUS : TCP_LOSS_PROBES_RECOVERED);
	if (!spurious)
		l->tlp_spurious -= (uint8_t)min_u32(l->tlp_spurious, 2);
	else if (++l->tlp_spurious >= TLP_SPURIOUS_MAX)
		c->flags |= CONN_PEER_DELAYS_ACKS;
}

/* Section 7.4.2. True if the probe repaired a loss. */
bool
tlp_acked(struct tcp *t, struct conn *c, const struct tcp_seg *seg, const struct sack_info *info)
{
	const uint32_t end = c->loss.tlp_end;
	bool repaired = false;

	if (!(c->flags & CONN_TLP) || seq_before(seg->ack, end))
		return false;
	if (c->loss.tlp_retrans) {
		if (info->dsack && info->dsack_end == end) {
			tlp_account(t, c, true);
		} else if (seq_after(seg->ack, end)) {
			tlp_account(t, c, false);
			repaired = true;
		} else if (!info->dup) {
			return false; /* ambiguous until the next ACK */
		}
	}
	c->flags &= ~CONN_TLP;
	return repaired;
}

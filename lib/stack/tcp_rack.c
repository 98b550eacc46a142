/*
 * tcp_rack.c - what is lost, by time: RACK-TLP (RFC 8985), for connections with SACK.
 *
 * Text counts as lost when something sent later has arrived and it would have had a round trip and
 * a reordering window to do so too. While everything arrives in order none of this is touched: what
 * was delivered then was sent before all that is in flight, and RACK begins where the first trouble
 * is (conn_troubled).
 */
#include "tcp.h"

#define REO_PERSIST  16u /* recoveries without a DSACK until the window is least again */
#define REO_MULT_MAX 100u

void
conn_troubled(struct conn *c)
{
	struct loss *l = &c->loss;

	if (c->flags & CONN_TROUBLED)
		return;
	c->flags |= CONN_TROUBLED;
	l->rack_xmit_us = c->sent.first.sent_us - 1;
	l->rack_end = l->rack_fack = c->snd_una;
	l->rack_rtt_us = c->srtt_us;
	if (l->dsack_round - c->snd_una > c->snd_nxt - c->snd_una)
		l->dsack_waits = false; /* long ago */
	/* So long that it seems to lie ahead, where nothing was sent yet (RFC 6582 section 3.2). */
	if (seq_after(c->recover, c->snd_nxt)) {
		c->recover = c->snd_una - 1;
		c->flags &= ~CONN_UNDO;
	}
}

/* RFC 8985 section 6.2, steps 2 and 3. */
static void
update(struct conn *c, const struct sent_news *news)
{
	struct loss *l = &c->loss;

	/* Half a turn of the clock ago or more, before a silence: it seems to lie ahead. */
	if (seq_after(l->rack_xmit_us, news->now_us))
		l->rack_xmit_us = c->sent.first.sent_us - 1;
	if (news->once && seq_before(news->low_once, l->rack_fack))
		c->flags |= CONN_REORDERS;
	if (news->bytes > 0 && seq_after(news->high_end, l->rack_fack))
		l->rack_fack = news->high_end;
	if (!news->newest)
		return;
	l->rack_rtt_us = max_u32(news->now_us - news->newest_us, 1);
	if (seq_after(news->newest_us, l->rack_xmit_us) ||
	    (news->newest_us == l->rack_xmit_us && seq_after(news->newest_end, l->rack_end))) {
		l->rack_xmit_us = news->newest_us;
		l->rack_end = news->newest_end;
	}
}

/* Step 4: what came twice was not lost, only late, so more patience is in place. */
static void
adapt(struct conn *c, bool dsack)
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

/* Without any sign of reordering three segments' worth of SACKs are enough, as of old. */
static uint32_t
reo_wnd_us(const struct conn *c)
{
	const uint32_t quarter = c->min_rtt_us == RTT_UNKNOWN ? 0 : c->min_rtt_us / 4;

	if (!(c->flags & CONN_REORDERS) &&
	    (c->flags & (CONN_RECOVERY | CONN_LOSS) || c->dup_acks >= DUP_ACKS_RESEND ||
	     c->sent.sacked > (DUP_ACKS_RESEND - 1) * c->mss))
		return 0;
	return min_u32(c->loss.reo_mult * quarter, c->srtt_us);
}

/* Step 5. Returns the bytes found lost. */
uint32_t
rack_detect(struct stack *s, struct conn *c)
{
	const struct sent_rule rule = {
		.now_us = s->now_us,
		.xmit_us = c->loss.rack_xmit_us,
		.end_seq = c->loss.rack_end,
		.wait_us = c->loss.rack_rtt_us + reo_wnd_us(c),
	};
	uint32_t marked;
	const uint32_t wait_us = sent_mark_lost(&c->sent, &rule, &marked);

	if (wait_us > 0) {
		c->flags = (c->flags & ~CONN_PTO) | CONN_REO;
		timer_main(s, c, (uint64_t)wait_us * 1000);
	}
	return marked;
}

uint32_t
rack_acked(struct stack *s, struct conn *c, const struct sent_news *news,
	   const struct sack_told *told)
{
	update(c, news);
	adapt(c, told->dsack);
	return rack_detect(s, c);
}

/* Section 6.3: after a timeout the first segment is lost, and what has had its time. */
void
rack_timeout(struct stack *s, struct conn *c)
{
	const struct sent_rule rule = {
		.now_us = s->now_us,
		.xmit_us = s->now_us,
		.end_seq = c->snd_nxt,
		.wait_us = c->loss.rack_rtt_us + reo_wnd_us(c),
	};
	uint32_t marked;

	sent_mark_lost(&c->sent, &rule, &marked);
	if (!sent_mark_first(&c->sent, &s->tcp->sent_pool, c->mss))
		stack_count(s, TCP_SENT_RUNS_SHORT);
}

/* Section 7.3. The output sends it: new text if there is any and the peer takes it. */
void
tlp_fires(struct stack *s, struct conn *c)
{
	c->flags |= CONN_TLP_DUE;
	conn_make_out(s, c);
}

void
tlp_sent(struct stack *s, struct conn *c, bool again)
{
	conn_troubled(c);
	c->flags = (c->flags & ~(CONN_TLP_DUE | CONN_TLP_AGAIN)) | CONN_TLP;
	c->flags |= again ? CONN_TLP_AGAIN : 0;
	c->loss.tlp_end = c->snd_nxt;
	stack_count(s, TCP_LOSS_PROBES);
}

/* A vain probe may mean that the peer delays its ACKs, or that the ACK was lost, which happens as
 * often as the text is lost: only where the first kind is the rule probes wait longer. */
static void
probe_judged(struct stack *s, struct conn *c, bool vain)
{
	struct loss *l = &c->loss;

	stack_count(s, vain ? TCP_LOSS_PROBES_VAIN : TCP_LOSS_PROBES_REPAIRED);
	if (!vain)
		l->tlp_vain -= (uint8_t)min_u32(l->tlp_vain, 2);
	else if (++l->tlp_vain >= TLP_VAIN_MAX)
		c->flags |= CONN_SLOW_ACKS;
}

/* Section 7.4.2. Returns whether the probe has repaired a loss. */
bool
tlp_acked(struct stack *s, struct conn *c, const struct tcp_seg *seg, const struct sack_told *told)
{
	const uint32_t end = c->loss.tlp_end;
	bool repaired = false;

	if (!(c->flags & CONN_TLP) || seq_before(seg->ack, end))
		return false;
	if (c->flags & CONN_TLP_AGAIN) {
		if (told->dsack && told->dsack_end == end) {
			probe_judged(s, c, true);
		} else if (seq_after(seg->ack, end)) {
			probe_judged(s, c, false);
			repaired = true;
		} else if (!told->dup) {
			return false; /* which of the two it acknowledges the next ACK says */
		}
	}
	c->flags &= ~(CONN_TLP | CONN_TLP_AGAIN);
	return repaired;
}

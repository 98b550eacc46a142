/*
 * tcp_cc.c - congestion control: slow start and congestion avoidance (RFC 5681) by CUBIC (RFC 9438)
 * or NewReno, or DCTCP's with NewReno's growth (RFC 8257); reductions on loss, marks, timeout and
 * idle time.
 *
 * cwnd grows only while it is the limit (RFC 7661 section 4.3, RFC 9438 section 5.8), so a
 * connection of requests and replies keeps the initial window. There is no BBR: it gains at 5 % of
 * random loss and more, which is no network of a cache.
 */
#include "tcp.h"
#include "tcp_cubic.h"

/* RFC 3465 section 2.3 asks for L = 2. Peers whose NICs merge segments often acknowledge ten and
 * more at once, and like Linux we count all of them. The limit is for absurd ACKs. */
#define SLOW_START_SEGS 16u
/* Without SACK, an ACK after a timeout may be for data that arrived before the timeout: RFC 3465
 * section 2.3. */
#define SLOW_START_SEGS_BLIND 1u
#define CWND_MIN_SEGS         2u
/* RFC 9406 section 4.3, except for the least growth of the RTT, which is 4 ms there, for the
 * Internet. Our samples are exact to a microsecond, and a queue in a data centre is shorter. */
#define HYSTART_MIN_US      100u
#define HYSTART_MAX_US      16000u
#define HYSTART_RTT_DIVISOR 8u
#define HYSTART_SAMPLES     8u
#define HYSTART_CSS_DIVISOR 4u
#define HYSTART_CSS_ROUNDS  5u
#define DCTCP_ONE           65536u /* alpha if all was marked */
#define DCTCP_SHIFT_G       4u     /* RFC 8257 section 4.2: g = 1/16 */

void
cc_start(const struct tcp *t, struct conn *c)
{
	c->cwnd = INITIAL_CWND_SEGS * c->mss;
	c->ssthresh = SSTHRESH_NONE;
	c->recover = c->ecn_end = c->snd_una - 1;
	c->dup_acks = 0;
	c->cc = (struct cc_state){0};
	if (conn_is_dctcp(t, c))
		c->cc.dctcp = (struct dctcp_state){
			.alpha = DCTCP_ONE, .begin = c->snd_una, .end = c->snd_una};
	else
		c->cc.hystart.round_end = c->snd_una;
}

/* RFC 5681 section 3.1, with the byte counting of RFC 3465 section 2.1. */
static void
reno_cong_avoid(struct conn *c, uint32_t bytes)
{
	struct cc_state *g = &c->cc;

	g->part += bytes;
	if (g->part >= c->cwnd) {
		g->part -= c->cwnd;
		c->cwnd += c->mss;
	}
}

/* RFC 9438 section 4.2: begins a new epoch of congestion avoidance. */
static void
cubic_epoch_start(struct conn *c, uint32_t now_us)
{
	struct cc_state *g = &c->cc;
	const uint32_t origin = max_u32(g->w_max, c->cwnd);

	g->t_us = 1;
	g->part = 0;
	g->cubic = (struct cubic_state){
		.w_est = c->cwnd,
		.origin = origin,
		.k_ms = cubic_k_ms(origin - c->cwnd, c->mss),
		.last_us = now_us,
	};
	if (g->prior < c->cwnd)
		g->prior = c->cwnd;
}

/* Returns the whole bytes of bytes * more / cwnd. The remainder is kept in *part for the next
 * call. */
static uint32_t
mul_div(uint32_t bytes, uint32_t more, uint32_t cwnd, uint32_t *part)
{
	const uint64_t n = (uint64_t)bytes * more + *part;

	*part = (uint32_t)(n % cwnd);
	return (uint32_t)(n / cwnd);
}

/* RFC 9438 section 4.3: with beta = 0.7 the window that Reno would have grows by 9/17 of an MSS in
 * a round trip, and by a whole MSS once it is as wide as at the last loss. */
static void
reno_estimate(struct conn *c, uint32_t bytes)
{
	struct cc_state *g = &c->cc;
	const uint32_t step = g->cubic.w_est < g->prior ? c->mss * 9u / 17u : c->mss;

	g->cubic.w_est += mul_div(bytes, step, c->cwnd, &g->cubic.est_part);
}

static void
cubic_cong_avoid(struct conn *c, uint32_t bytes, uint32_t now_us)
{
	struct cc_state *g = &c->cc;
	struct cubic_state *q = &g->cubic;
	uint32_t target;

	if (g->t_us == 0)
		cubic_epoch_start(c, now_us);
	/* Time in which the window was not the limit does not count: section 5.8. */
	g->t_us += min_u32(now_us - q->last_us, c->srtt_us);
	q->last_us = now_us;
	reno_estimate(c, bytes);
	if (cubic_window(q->origin, c->mss, g->t_us / 1000, q->k_ms) < q->w_est) {
		c->cwnd = max_u32(c->cwnd, q->w_est);
		return;
	}
	target = cubic_window(q->origin, c->mss, (g->t_us + c->srtt_us) / 1000, q->k_ms);
	target = min_u32(max_u32(target, c->cwnd), c->cwnd + c->cwnd / 2);
	c->cwnd += mul_div(bytes, target - c->cwnd, c->cwnd, &g->part);
}

static void
hystart_round(struct conn *c)
{
	struct hystart_state *h = &c->cc.hystart;

	h->last_us = h->best_us;
	h->best_us = 0;
	h->samples = 0;
	h->round_end = c->snd_nxt;
	if (h->css_rounds != 0 && ++h->css_rounds > HYSTART_CSS_ROUNDS)
		c->ssthresh = c->cwnd;
}

/* True if the least RTT of this round shows a queue. */
static bool
hystart_rtt_grew(const struct hystart_state *h)
{
	const uint32_t part = min_u32(h->last_us / HYSTART_RTT_DIVISOR, HYSTART_MAX_US);

	return h->last_us != 0 && h->best_us >= h->last_us + max_u32(part, HYSTART_MIN_US);
}

static void
hystart_sample(struct hystart_state *h, uint32_t rtt_us)
{
	h->best_us = h->best_us == 0 ? rtt_us : min_u32(h->best_us, rtt_us);
	h->samples += h->samples < HYSTART_SAMPLES;
	if (h->samples < HYSTART_SAMPLES)
		return;
	if (h->css_rounds != 0 && h->best_us < h->base_us) {
		h->css_rounds = 0;
	} else if (h->css_rounds == 0 && hystart_rtt_grew(h)) {
		h->base_us = h->best_us;
		h->css_rounds = 1;
	}
}

/* RFC 9406 section 4.2: slow start ends when a queue builds up, before it overflows. An RTT that
 * has grown may be jitter, so the window grows slowly for some rounds first, and as before if the
 * RTT falls. Returns by how much the growth is divided. */
static uint32_t
hystart(struct conn *c, uint32_t rtt_us)
{
	struct hystart_state *h = &c->cc.hystart;

	if (rtt_us != 0)
		hystart_sample(h, rtt_us);
	if (!seq_before(c->snd_una, h->round_end))
		hystart_round(c);
	return h->css_rounds != 0 ? HYSTART_CSS_DIVISOR : 1;
}

static void
slow_start(const struct tcp *t, struct conn *c, uint32_t bytes, uint32_t rtt_us)
{
	const bool blind = (c->flags & (CONN_LOSS | CONN_SACK)) == CONN_LOSS;
	const uint32_t segs = blind ? SLOW_START_SEGS_BLIND : SLOW_START_SEGS;
	const bool first = c->ssthresh == SSTHRESH_NONE && !conn_is_dctcp(t, c);
	const uint32_t divisor = first ? hystart(c, rtt_us) : 1;

	if (c->cwnd < c->ssthresh)
		c->cwnd += min_u32(min_u32(bytes, segs * c->mss) / divisor, c->ssthresh - c->cwnd);
}

void
cc_on_ack(const struct tcp *t, struct conn *c, uint32_t bytes, uint32_t rtt_us)
{
	if (c->cwnd < c->ssthresh)
		slow_start(t, c, bytes, rtt_us);
	else if (t->cfg.congestion == CC_NEWRENO || conn_is_dctcp(t, c))
		reno_cong_avoid(c, bytes);
	else
		cubic_cong_avoid(c, bytes, t->net.now_us);
	c->cwnd = min_u32(c->cwnd, CWND_MAX);
}

/* Sets ssthresh to what the network is estimated to carry. */
void
cc_on_loss(const struct tcp *t, struct conn *c)
{
	struct cc_state *g = &c->cc;
	const uint32_t least = CWND_MIN_SEGS * c->mss;

	ecn_reduced(c);
	g->t_us = 0;
	g->part = 0;
	if (t->cfg.congestion == CC_NEWRENO || conn_is_dctcp(t, c)) {
		/* RFC 5681 equation 4. */
		c->ssthresh = max_u32((c->snd_nxt - c->snd_una) / 2, least);
		return;
	}
	/* RFC 9438 sections 4.6 and 4.7: beta = 0.7. If the last loss was at a wider window, w_max
	 * is lowered further to leave room for other flows. */
	g->prior = c->cwnd;
	g->w_max = c->cwnd < g->w_max ? c->cwnd / 20 * 17 : c->cwnd;
	c->ssthresh = max_u32(c->cwnd / 10 * 7, least);
}

void
cc_on_echo(const struct tcp *t, struct conn *c)
{
	const uint32_t least = CWND_MIN_SEGS * c->mss;

	if (conn_is_dctcp(t, c)) {
		ecn_reduced(c);
		c->cc.part = 0;
		/* RFC 8257 section 3.3, step 9: half of alpha. */
		c->ssthresh = c->cwnd -
			      (uint32_t)((uint64_t)c->cwnd * c->cc.dctcp.alpha / (2 * DCTCP_ONE));
		c->ssthresh = max_u32(c->ssthresh, least);
	} else {
		cc_on_loss(t, c);
	}
	c->cwnd = min_u32(c->cwnd, c->ssthresh);
}

/* RFC 8257 section 3.3, steps 1 to 8. The bytes of a window are the distance of two ACKs. */
void
dctcp_on_ack(struct conn *c, uint32_t ack, bool marked)
{
	struct dctcp_state *d = &c->cc.dctcp;
	uint32_t bytes;

	if (marked && seq_after(ack, c->snd_una))
		d->marked += ack - c->snd_una;
	if (!seq_after(ack, d->end))
		return;
	bytes = ack - d->begin;
	d->alpha -= d->alpha >> DCTCP_SHIFT_G;
	d->alpha += (uint32_t)(((uint64_t)min_u32(d->marked, bytes) * DCTCP_ONE / bytes) >>
			       DCTCP_SHIFT_G);
	*d = (struct dctcp_state){.alpha = d->alpha, .begin = ack, .end = c->snd_max};
}

/* RFC 5681 section 4.1: after an idle time nothing is known about the network except where the
 * limit was (RFC 7661 section 4.4). */
void
cc_after_idle(struct conn *c)
{
	c->ssthresh = max_u32(c->ssthresh, c->cwnd / 4 * 3);
	c->cwnd = min_u32(c->cwnd, INITIAL_CWND_SEGS * c->mss);
	c->cc.t_us = 0;
}

/*
 * tcp_pmtu.c - path MTU discovery (RFC 1191, RFC 8201) and black hole detection (after RFC 4821).
 *
 * Reports: ICMP is unauthenticated, so a report counts only if it quotes a sequence number in
 * flight (RFC 5927 section 4.1), and the MTU has a minimum. The data in flight is segmented anew
 * and retransmitted at once; cwnd stays, since the loss was not congestion. The reduction lasts
 * PMTU_LIFE_S (RFC 1191 section 6.3).
 *
 * Black holes: a router may drop long packets without a report. The first segment in flight is
 * suspect if it is longer than BLACK_HOLE_MSS, timed out BLACK_HOLE_TIMEOUTS times in a row, and
 * less data than its length is SACKed behind it. Segments are then reduced to BLACK_HOLE_MSS, after
 * two more timeouts to the minimum, and after two more restored: their length was not the cause.
 *
 * Trials: a path that loses segments of any length looks the same for a while. So one segment in
 * each tick (about a second) is sampled until it is acknowledged. If a sample as long as the
 * suspect was delivered within PROVEN_TICKS, the reduction is a trial:
 *  - it ends with the first short segment that is acknowledged, and long segments are sent again;
 *  - if the next long segment times out, the next trial begins at its first timeout;
 *  - if a long segment is delivered, the count of trials is zero again;
 *  - after BLACK_HOLE_TRIALS trials the next reduction is confirmed, and counted.
 * Without such a sample the first reduction is confirmed at once. A confirmed reduction lasts
 * black_hole_life_s(), longer each time it is confirmed again.
 */
#include "net/pmtu_reports.h"
#include "tcp.h"
#include "tcp_options.h"

#define MTU_FLOOR_V4        552u  /* RFC 879's 576, less a tunnel header */
#define MTU_FLOOR_V6        1280u /* RFC 8200 section 5: minimum link MTU */
#define PMTU_LIFE_S         600u
#define BLACK_HOLE_MSS      1024u /* RFC 4821 section 7.2 */
#define BLACK_HOLE_TIMEOUTS 2u    /* timeouts in a row for each step */
#define BLACK_HOLE_TRIALS   7u
#define PROVEN_TICKS        30u

static uint32_t
now_s(const struct tcp *t)
{
	return (uint32_t)(t->net.now_ns / (1000 * NS_PER_MS));
}

static bool
is_v4(const struct conn *c)
{
	return ip_addr_is_v4(&c->peer_ip);
}

static uint32_t
header_bytes(const struct conn *c)
{
	return (is_v4(c) ? 20 : 40) + TCP_HEADER_BYTES;
}

static uint32_t
mss_floor(const struct conn *c)
{
	return (is_v4(c) ? MTU_FLOOR_V4 : MTU_FLOOR_V6) - header_bytes(c);
}

/* RFC 1191 section 7: returns the next lower MTU in use. Old routers report 0. */
static uint32_t
plateau_below(uint32_t mtu)
{
	static const uint16_t plateaus[] = {8166, 4352, 2002, 1492, 1006, MTU_FLOOR_V4};

	for (size_t i = 0; i < sizeof plateaus / sizeof plateaus[0]; i++)
		if (plateaus[i] < mtu)
			return plateaus[i];
	return MTU_FLOOR_V4;
}

static void
mss_lower(struct tcp *t, struct conn *c, uint32_t path_mss, uint32_t life_s)
{
	c->path_mss = (uint16_t)path_mss;
	c->pmtu_raise_at_s = now_s(t) + life_s;
	c->flags |= CONN_PMTU_REDUCED;
	mss_update(c);
}

/* Restores the length of segments. cwnd is at least one segment, or nothing would be sent. */
static void
mss_restore(const struct tcp *t, struct conn *c, uint32_t path_mss)
{
	c->path_mss = (uint16_t)path_mss;
	mss_update(c);
	c->cwnd = max_u32(c->cwnd, c->mss);
	pmtu_sample_next(t, c);
}

static void
mss_raise(struct tcp *t, struct conn *c)
{
	c->flags &= ~(CONN_PMTU_REDUCED | CONN_PMTU_BLACK_HOLE);
	mss_restore(t, c, mss_of_route(t, &c->peer_ip, c->local));
	tcp_count(t, TCP_PMTU_RAISED);
}

static void
process_report(struct tcp *t, struct conn *c, uint32_t seq, uint32_t mtu)
{
	uint32_t path_mss;

	if (c->state < CONN_ESTABLISHED || c->state == CONN_TIME_WAIT ||
	    seq - c->snd_una >= c->snd_max - c->snd_una) {
		tcp_count(t, TCP_PMTU_STRAY);
		return;
	}
	if (mtu == 0 && is_v4(c))
		mtu = plateau_below(c->path_mss + header_bytes(c));
	path_mss = mtu > header_bytes(c) ? mtu - header_bytes(c) : 0;
	/* RFC 8201 section 4: a report below the minimum of IPv6 is ignored. */
	if (is_v4(c))
		path_mss = max_u32(path_mss, mss_floor(c));
	if (path_mss < mss_floor(c) || path_mss >= c->path_mss) {
		tcp_count(t, TCP_PMTU_IGNORED);
		return;
	}
	tcp_count(t, TCP_PMTU_LOWERED);
	c->flags &= ~CONN_PMTU_BLACK_HOLE;
	c->pmtu_reductions = 0;
	mss_lower(t, c, path_mss, PMTU_LIFE_S);
	loss_pmtu_reduced(t, c);
}

static struct conn *
conn_of_report(const struct tcp *t, const struct pmtu_report *report)
{
	return flow_find(t, (struct flow){&report->peer, report->peer_port, report->local_port,
					  report->local});
}

/* Shares a report with the other cores: the connection may be another core's, because a NIC hashes
 * the router's address and not the peer's. */
static void
share_report(struct tcp *t, const struct pmtu_report *report)
{
	if (t->cfg.pmtu_reports == NULL) {
		tcp_count(t, TCP_PMTU_STRAY);
	} else if (rate_limit_allow(&t->pmtu_limit, t->net.now_ns, PMTU_REPORTS_SHARED_MAX)) {
		pmtu_reports_add_mt(t->cfg.pmtu_reports, report);
		net_count(&t->net, ICMP_PMTU_SHARED);
	} else {
		net_count(&t->net, ICMP_STRAY);
	}
}

static void
poll_shared(struct tcp *t)
{
	struct pmtu_report report;

	for (uint32_t i = 0; i < PMTU_REPORTS; i++) {
		struct conn *c;

		if (!pmtu_reports_next_mt(t->cfg.pmtu_reports, &t->pmtu_cursor, &report))
			return;
		c = conn_of_report(t, &report);
		if (c != NULL)
			process_report(t, c, report.seq, report.mtu);
	}
}

void
pmtu_reports_poll(struct tcp *t)
{
	struct pmtu_inbox *inbox = &t->net.pmtu_reports;

	for (uint32_t i = 0; i < inbox->count; i++) {
		const struct pmtu_report *report = &inbox->report[i];
		struct conn *c = conn_of_report(t, report);

		if (c != NULL)
			process_report(t, c, report->seq, report->mtu);
		else
			share_report(t, report);
	}
	inbox->count = 0;
	if (t->cfg.pmtu_reports != NULL)
		poll_shared(t);
}

static uint32_t
black_hole_life_s(const struct conn *c)
{
	static const uint16_t lives_s[] = {5, 60, PMTU_LIFE_S};
	const uint32_t again = c->pmtu_reductions - BLACK_HOLE_TRIALS - 1u;

	return lives_s[min_u32(again, sizeof lives_s / sizeof lives_s[0] - 1)];
}

/* Records the sample as delivered if it is acknowledged. */
static void
pmtu_sample_check(struct conn *c)
{
	struct pmtu_state *l = &c->pmtu;

	if (l->sample_len == 0 || seq_before(c->snd_una, l->sample_end))
		return;
	l->delivered_len = l->sample_len;
	l->delivered_tick = l->sampled_tick;
	l->sample_len = 0;
	if (l->delivered_len >= l->lost_len)
		c->pmtu_reductions = 0;
}

static bool
is_recent(const struct tcp *t, uint16_t tick)
{
	return (uint16_t)(pmtu_tick(t) - tick) <= PROVEN_TICKS;
}

void
pmtu_sample(const struct tcp *t, struct conn *c, uint32_t end, uint32_t len)
{
	struct pmtu_state *l = &c->pmtu;

	pmtu_sample_check(c);
	if (l->sample_len > 0 && is_recent(t, l->sampled_tick))
		return;
	if (l->delivered_len > len && is_recent(t, l->delivered_tick))
		return; /* a shorter sample proves less */
	l->sample_end = end;
	l->sample_len = (uint16_t)len;
	l->sampled_tick = c->pmtu_sample_tick = pmtu_tick(t);
}

/* True if the reduction is not confirmed. Its end restores the earlier length; CONN_PMTU_REDUCED
 * and its time do not change. */
static bool
in_trial(const struct conn *c)
{
	return c->flags & CONN_PMTU_BLACK_HOLE && c->pmtu_reductions <= BLACK_HOLE_TRIALS;
}

static void
black_hole_enter(struct tcp *t, struct conn *c, uint32_t len)
{
	struct pmtu_state *l = &c->pmtu;
	const bool proven = l->delivered_len >= len && is_recent(t, l->delivered_tick);

	if (c->pmtu_reductions == 0 && !proven)
		c->pmtu_reductions = BLACK_HOLE_TRIALS;
	c->pmtu_reductions += c->pmtu_reductions < UINT8_MAX;
	c->flags |= CONN_PMTU_BLACK_HOLE;
	l->lost_len = (uint16_t)len;
	l->prev_mss = c->path_mss;
	if (c->pmtu_reductions > BLACK_HOLE_TRIALS)
		tcp_count(t, TCP_PMTU_BLACK_HOLES);
}

static void
black_hole_reduce(struct tcp *t, struct conn *c, uint32_t path_mss)
{
	const uint32_t len =
		min_u32(min_u32(c->tx.bytes, c->snd_max - c->snd_una), (uint32_t)c->mss);

	if (len + conn_option_bytes(c) <= path_mss || c->scoreboard.sacked >= len)
		return;
	pmtu_sample_check(c);
	c->pmtu.sample_len = 0; /* the sampled data will be segmented anew */
	if (!(c->flags & CONN_PMTU_BLACK_HOLE))
		black_hole_enter(t, c, len);
	if (in_trial(c)) {
		c->path_mss = (uint16_t)path_mss;
		mss_update(c);
	} else {
		mss_lower(t, c, path_mss, black_hole_life_s(c));
	}
}

/* Handles an ACK of data sent since the reduction: a trial ends, or the lifetime begins. */
static void
black_hole_data_acked(struct tcp *t, struct conn *c)
{
	if (in_trial(c))
		mss_restore(t, c, c->pmtu.prev_mss);
	else
		c->pmtu_raise_at_s = now_s(t) + black_hole_life_s(c);
	c->flags &= ~CONN_PMTU_BLACK_HOLE;
}

static void
black_hole_undo(struct tcp *t, struct conn *c)
{
	if (in_trial(c)) {
		mss_restore(t, c, c->pmtu.prev_mss);
		c->flags &= ~CONN_PMTU_BLACK_HOLE;
	} else {
		mss_raise(t, c);
	}
}

void
pmtu_timeout(struct tcp *t, struct conn *c)
{
	const uint32_t shorter = max_u32(BLACK_HOLE_MSS + conn_option_bytes(c), mss_floor(c));

	if (c->tries == 1 && c->flags & CONN_PMTU_BLACK_HOLE)
		black_hole_data_acked(t, c);
	pmtu_sample_check(c);
	switch (c->tries) {
	case 1:
		if (c->pmtu_reductions > 0 && c->pmtu_reductions <= BLACK_HOLE_TRIALS)
			black_hole_reduce(t, c, shorter);
		return;
	case BLACK_HOLE_TIMEOUTS:
		black_hole_reduce(t, c, shorter);
		return;
	case 2 * BLACK_HOLE_TIMEOUTS:
		black_hole_reduce(t, c, mss_floor(c));
		return;
	case 3 * BLACK_HOLE_TIMEOUTS:
		if (c->flags & CONN_PMTU_BLACK_HOLE)
			black_hole_undo(t, c);
		return;
	default:
		return;
	}
}

void
pmtu_check(struct tcp *t, struct conn *c)
{
	if (c->tries > 0)
		return;
	if (c->flags & CONN_PMTU_BLACK_HOLE)
		black_hole_data_acked(t, c);
	if (c->flags & CONN_PMTU_REDUCED && now_s(t) >= c->pmtu_raise_at_s)
		mss_raise(t, c);
}

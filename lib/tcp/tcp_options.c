/*
 * tcp_options.c - the options that two ends agree on in their SYNs and use in later segments:
 * timestamps (RFC 7323), SACK blocks (RFC 2018), the size of segments (RFC 9293 section 3.7.1).
 *
 * Timestamps and SACK are used with every peer that offers them. Timestamps take 83 instructions a
 * request and 12 bytes a segment.
 *
 * Our timestamp clock ticks every millisecond (RFC 7323 section 5.4 wants 1 ms to 1 s) from an
 * offset of the flow's own. So it does not reveal our uptime or how many hosts share an address
 * (section 7.1), and a flow that is opened again continues its clock.
 */
#include "tcp_options.h"

#include "tcp.h"

/* RFC 9293 section 3.7.1: the MSS is what the peer and the path take, minus the options of each
 * segment. SACK blocks are not subtracted: they are sent where there is room (put_sack). */
void
mss_update(struct conn *c)
{
	const uint32_t both = max_u32(min_u32(c->peer_mss, c->path_mss), CONN_MSS_MIN);

	c->mss = (uint16_t)(both - conn_option_bytes(c));
}

void
offer_syn_options(const struct tcp *t, struct conn *c)
{
	c->flags |= t->cfg.timestamps ? CONN_OFFERS : CONN_OFFERS & ~CONN_TS;
	c->flags |= ecn_is_offered(t) ? CONN_ECN : 0;
	c->ts_offset = flow_ts_offset(t, flow_of_conn(c));
}

void
process_syn_options(const struct tcp *t, struct conn *c, const struct tcp_seg *seg)
{
	const struct tcp_options *opt = &seg->opt;
	const uint16_t unsaid = local_is_v4(c->local) ? TCP_MSS_DEFAULT : TCP_MSS_DEFAULT_V6;

	c->peer_mss = opt->seen & TCP_HAS_MSS ? opt->mss : unsaid;
	c->path_mss = (uint16_t)mss_of_route(t, &c->peer_ip, c->local);
	c->snd_wscale = 0;
	if (opt->seen & TCP_HAS_WSCALE) {
		c->flags |= CONN_WSCALE;
		c->snd_wscale = opt->wscale;
	}
	if (opt->seen & TCP_HAS_SACK_PERMITTED)
		c->flags |= CONN_SACK;
	if (opt->seen & TCP_HAS_TIMESTAMPS && t->cfg.timestamps) {
		c->flags |= CONN_TS;
		c->ts_recent = opt->ts_value;
		c->ts_offset = flow_ts_offset(t, flow_of_conn(c));
	}
	mss_update(c);
}

/* ---- sent ---- */

/*
 * Adds SACK blocks where there is room. Options count in the peer's MSS (RFC 9293 MUST-16), because
 * a tunnel that lowers it lets nothing longer pass. A full segment has no room, and an ACK of its
 * own carries the blocks.
 */
static void
put_sack(struct conn *c, struct tcp_seg *seg, uint32_t len, struct tcp_sack_block *blocks)
{
	const uint32_t others = conn_option_bytes(c);
	const uint32_t used = len + others + 4, room = c->mss + others;
	uint32_t max;

	if (!(c->flags & CONN_SACK) || seg->flags & TCP_RST)
		return;
	if (used + sizeof *blocks > room) {
		c->flags |= CONN_ACK_NOW;
		return;
	}
	max = min_u32(room - used, TCP_OPTIONS_MAX - 4 - others) / (uint32_t)sizeof *blocks;
	seg->opt.seen |= TCP_HAS_SACK;
	seg->opt.sack = blocks;
	seg->opt.sack_count = sack_blocks(c, blocks, min_u32(max, TCP_SACK_MAX));
}

static void
put_syn_options(const struct tcp *t, const struct conn *c, struct tcp_options *opt)
{
	opt->seen |= TCP_HAS_MSS;
	opt->mss = (uint16_t)mss_of_route(t, &c->peer_ip, c->local);
	if (c->flags & CONN_WSCALE) {
		opt->seen |= TCP_HAS_WSCALE;
		opt->wscale = (uint8_t)t->rcv_autotune.wscale;
	}
	if (c->flags & CONN_SACK)
		opt->seen |= TCP_HAS_SACK_PERMITTED;
}

void
put_uncommon_options(const struct tcp *t, struct conn *c, struct tcp_seg *seg, uint32_t len,
		     struct tcp_sack_block *blocks)
{
	if (seg->flags & TCP_SYN)
		put_syn_options(t, c, &seg->opt);
	else
		put_sack(c, seg, len, blocks);
}

/* ---- received ---- */

/*
 * RFC 7323 section 4.3 (2): echoes the timestamp of the segment that the next ACK answers, not of a
 * later one, so that the peer's RTT includes the wait of a delayed ACK. Older timestamps were
 * dropped before. Called after check_ack, so that a segment with a forged acknowledgment does not
 * set the clock.
 */
void
ts_recent_update(struct conn *c, const struct tcp_seg *seg)
{
	if (seg->opt.seen & TCP_HAS_TIMESTAMPS && !seq_after(seg->seq, c->last_ack_sent))
		c->ts_recent = seg->opt.ts_value;
}

/* RFC 6191 section 2: timestamps decide if both connections have them. A peer that starts to send
 * them is a new one. Otherwise, and if they are equal, sequence numbers decide (RFC 9293 MAY-2). */
bool
syn_is_newer(const struct conn *old, const struct tcp_seg *syn)
{
	const bool has = syn->opt.seen & TCP_HAS_TIMESTAMPS;

	if (has && !(old->flags & CONN_TS))
		return true;
	if (has && syn->opt.ts_value != old->ts_recent)
		return seq_after(syn->opt.ts_value, old->ts_recent);
	return seq_after(syn->seq, old->rcv_nxt);
}

/* RFC 7323 section 4.1: returns the RTT, in whole milliseconds and at least one; 0: unknown. A time
 * longer than any timeout is not an echo of ours. */
uint64_t
rtt_from_tsecr_ns(const struct tcp *t, const struct conn *c, const struct tcp_seg *seg)
{
	uint32_t ms;

	if (!(c->flags & CONN_TS) || !(seg->opt.seen & TCP_HAS_TIMESTAMPS) || seg->opt.ts_echo == 0)
		return 0;
	ms = ts_now(t, c) - seg->opt.ts_echo;
	if (ms > RTO_MAX_US / 1000)
		return 0;
	return max_u32(ms, 1) * NS_PER_MS;
}

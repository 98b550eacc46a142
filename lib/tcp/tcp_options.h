/*
 * tcp_options.h - the interface of tcp_options.c: timestamps, SACK-permitted, MSS.
 *
 * Private to tcp_*.c, which include it by tcp.h.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_TCP_OPTIONS_H
#define CLOCKOO_TCP_OPTIONS_H

#include "tcp_core.h"

#include "wire/tcp_wire.h"

/* Selects the options of our SYN (CONN_OFFERS, as configured). */
void offer_syn_options(const struct tcp *t, struct conn *c);
/* Switches off each option that the peer's SYN does not offer too. */
void process_syn_options(const struct tcp *t, struct conn *c, const struct tcp_seg *seg);
void mss_update(struct conn *c);
/* RFC 7323 section 5.4: a clock of 1 ms, from an offset of the flow's own (section 7.1). */
static inline uint32_t
ts_clock(const struct tcp *t)
{
	return t->net.now_ms;
}

static inline uint32_t
ts_now(const struct tcp *t, const struct conn *c)
{
	return ts_clock(t) + c->ts_offset;
}

/* Adds the options that few segments carry: those of a SYN, and SACK blocks. */
void put_uncommon_options(const struct tcp *t, struct conn *c, struct tcp_seg *seg, uint32_t len,
			  struct tcp_sack_block *blocks);
/* Adds the options of a segment with len bytes of data. blocks: room for its SACK blocks. */
static inline void
put_options(const struct tcp *t, struct conn *c, struct tcp_seg *seg, uint32_t len,
	    struct tcp_sack_block *blocks)
{
	if (c->flags & CONN_TS) {
		seg->opt.seen = TCP_HAS_TIMESTAMPS;
		seg->opt.ts_value = ts_now(t, c);
		seg->opt.ts_echo = c->ts_recent;
	}
	if (unlikely(seg->flags & TCP_SYN || c->rx.ooo_blocks != NULL ||
		     c->flags & (CONN_DSACK | CONN_PEER_FIN)))
		put_uncommon_options(t, c, seg, len, blocks);
}
/* Returns the bytes of options in every segment. */
static inline uint32_t
conn_option_bytes(const struct conn *c)
{
	return c->flags & CONN_TS ? TCP_TIMESTAMPS_BYTES : 0;
}
/* RFC 7323 section 4.3 (2), for an acceptable segment. */
void ts_recent_update(struct conn *c, const struct tcp_seg *seg);
/* True if the SYN is newer than everything the old connection received (RFC 6191 section 2). */
bool syn_is_newer(const struct conn *old, const struct tcp_seg *syn);
/* Returns the RTT that the echo of a segment shows, if it acknowledges something; 0: unknown. */
uint64_t rtt_from_tsecr_ns(const struct tcp *t, const struct conn *c, const struct tcp_seg *seg);

#endif

/*
 * tcp_rcv_autotune.c - receive window autotuning: dynamic right-sizing (M. Fisk and W. Feng, 2001).
 *
 * Growth: every connection may use RX_WINDOW_BYTES. A connection whose data read in a least RTT,
 * times RCV_AUTOTUNE_GAIN, exceeds its limit gets that limit. The factor is two for a peer in slow
 * start, and two for the RTT until the wider window takes effect. Data that the service leaves
 * unread does not count.
 *
 * Budget: limits beyond RX_WINDOW_BYTES come out of RCV_AUTOTUNE_BYTES_PER_FRAME for each frame of
 * rx_frames_max, which overcommits frames, since in-order data is read in the turn in which it
 * comes (its share bounds the rest). A connection gets 1 / RCV_AUTOTUNE_SHARE of what is left. If
 * that is too little, connections idle for RCV_AUTOTUNE_IDLE_US fall back to RX_WINDOW_BYTES, or
 * else the widest limit is halved. While received frames are short every wide limit is halved once
 * in an RTT.
 *
 * Invariant: the right edge never moves back (RFC 9293 section 3.8.6). A lower limit holds the edge
 * until the peer has used the window up.
 *
 * Units:  bytes; us modulo 2^32.
 * Thread: core-local.
 * Bounds: RCV_AUTOTUNE_CONNS_MAX connections are wide. A measurement is made once in an RTT of a
 *         connection that sends; others are shrunk at most once in RCV_AUTOTUNE_SHRINK_US.
 */
#include "tcp.h"

#define RCV_AUTOTUNE_SHARE     4u       /* a connection gets 1/share of what is left */
#define RCV_AUTOTUNE_STEP      32768u   /* a smaller growth is not worth a place */
#define RCV_AUTOTUNE_IDLE_US   1000000u /* time without a window's worth of data in a round trip */
#define RCV_AUTOTUNE_SHRINK_US 1000u

static void
rcv_limit_write(const struct tcp *t, struct conn *c, uint32_t limit)
{
	const uint32_t full = mss_ours(t, c->local);

	c->rcv_limit = limit;
	/* Rounded down, so that the newly advertised window is wider by at least a segment. */
	c->near_limit = (uint16_t)((limit - full) >> NEAR_LIMIT_SHIFT);
}

static void
slot_remove(struct rcv_autotune *w, uint32_t slot)
{
	uint32_t i = 0;

	while (i < w->count && w->slot[i] != slot)
		i++;
	ensure(i < w->count);
	w->slot[i] = w->slot[--w->count];
}

/* Sets the limit, at least RX_WINDOW_BYTES. The caller has made sure that a place is free for a
 * first wide limit. */
static void
rcv_limit_set(struct tcp *t, struct conn *c, uint32_t limit)
{
	struct rcv_autotune *w = &t->rcv_autotune;
	const uint32_t before = c->rcv_limit, now = max_u32(limit, RX_WINDOW_BYTES);

	if (now == before)
		return;
	if (before == RX_WINDOW_BYTES)
		w->slot[w->count++] = c->slot;
	else if (now == RX_WINDOW_BYTES)
		slot_remove(w, c->slot);
	w->bytes += now;
	w->bytes -= before;
	rcv_limit_write(t, c, now);
}

void
rcv_autotune_create(struct tcp *t, uint32_t frames)
{
	struct rcv_autotune *w = &t->rcv_autotune;
	uint64_t most;

	w->bytes_max = (uint64_t)frames * RCV_AUTOTUNE_BYTES_PER_FRAME;
	most = RX_WINDOW_BYTES + w->bytes_max / RCV_AUTOTUNE_SHARE;
	w->wscale = RX_WSCALE_MIN;
	while (w->wscale < RX_WSCALE_MAX && (uint64_t)UINT16_MAX << w->wscale < most)
		w->wscale++;
	w->window_max = UINT16_MAX << w->wscale;
	w->unit = (1u << w->wscale) - 1;
}

void
rcv_autotune_init(struct tcp *t, struct conn *c)
{
	rcv_limit_write(t, c, RX_WINDOW_BYTES);
}

void
rcv_autotune_start(const struct tcp *t, struct conn *c)
{
	c->epoch_us = t->net.now_us;
	c->epoch_seq = rx_read_to(c);
}

void
rcv_autotune_reset(struct tcp *t, struct conn *c)
{
	rcv_limit_set(t, c, RX_WINDOW_BYTES);
}

/* Shrinks other connections when too little is left for one that could use a wider window. */
static void
rcv_autotune_shrink_others(struct tcp *t, const struct conn *asker)
{
	struct rcv_autotune *w = &t->rcv_autotune;
	struct conn *widest = NULL;
	bool taken = false;

	if (t->net.now_us - w->taken_us < RCV_AUTOTUNE_SHRINK_US)
		return;
	w->taken_us = t->net.now_us;
	for (uint32_t i = w->count; i-- > 0;) {
		struct conn *c = &t->conns[w->slot[i]];

		if (t->net.now_us - c->epoch_us >= RCV_AUTOTUNE_IDLE_US) {
			rcv_limit_set(t, c, RX_WINDOW_BYTES);
			taken = true;
		} else if (widest == NULL || c->rcv_limit > widest->rcv_limit) {
			widest = c;
		}
	}
	if (!taken && widest != NULL && widest->rcv_limit / 2 >= asker->rcv_limit)
		rcv_limit_set(t, widest, widest->rcv_limit / 2);
}

static void
rcv_autotune_grow(struct tcp *t, struct conn *c, uint32_t want)
{
	const struct rcv_autotune *w = &t->rcv_autotune;
	const uint32_t own = c->rcv_limit - RX_WINDOW_BYTES;
	const uint64_t part = (w->bytes_max - w->bytes + own) / RCV_AUTOTUNE_SHARE;
	const uint32_t most = part < w->window_max - RX_WINDOW_BYTES
				      ? RX_WINDOW_BYTES + (uint32_t)part
				      : w->window_max;
	const uint32_t limit = min_u32(want, most);

	if (want < c->rcv_limit + RCV_AUTOTUNE_STEP)
		return; /* nothing is short */
	if (limit >= c->rcv_limit + RCV_AUTOTUNE_STEP &&
	    (own > 0 || w->count < RCV_AUTOTUNE_CONNS_MAX))
		rcv_limit_set(t, c, limit);
	else
		rcv_autotune_shrink_others(t, c);
}

/* Returns the part of the data read since the epoch began that was read in a round trip. */
static uint32_t
read_per_rtt(const struct conn *c, uint32_t us)
{
	const uint32_t bytes = rx_read_to(c) - c->epoch_seq;

	/* An interval of up to two round trips may be one that took longer. */
	return us / 2 < c->min_rtt_us ? bytes : (uint32_t)((uint64_t)bytes * c->min_rtt_us / us);
}

void
rcv_autotune_measure(struct tcp *t, struct conn *c)
{
	const uint32_t flags = CONN_OPENED | CONN_WSCALE | CONN_CLOSE;
	const uint32_t us = t->net.now_us - c->epoch_us;
	uint32_t want;

	if ((c->flags & flags) != (CONN_OPENED | CONN_WSCALE) || us < c->min_rtt_us)
		return;
	want = RCV_AUTOTUNE_GAIN *
	       min_u32(read_per_rtt(c, us), t->rcv_autotune.window_max / RCV_AUTOTUNE_GAIN);
	rcv_autotune_start(t, c);
	if (t->frames.is_short || want < c->rcv_limit / RCV_AUTOTUNE_GAIN)
		rcv_limit_set(t, c, c->rcv_limit / 2);
	else if (want > c->rcv_limit)
		rcv_autotune_grow(t, c, want);
}

void
stack_requests_wait(struct stack *s)
{
	struct tcp *t = stack_tcp(s);
	const uint32_t frames = t->net.cfg.rx_frames_max;

	if (frames - t->frames.left >= frames / RX_WAITING_PART)
		t->rcv_autotune.waiting_until_ns = t->net.now_ns + RX_WINDOW_WAITING_NS;
}

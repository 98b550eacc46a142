/*
 * tcp_width.c - how wide our window may be: dynamic right-sizing (M. Fisk and W. Feng, 2001).
 *
 * Every connection may have RX_WINDOW_BYTES on its way to us. Who sends so much in a round trip is
 * held up by the window and not by the path, and gets a wider one: four times what was read in the
 * last round trip, twice for a peer in slow start and twice for the round trip that the news takes.
 * Text that the service leaves unread (its request waits) counts for nothing.
 *
 * A window is a promise. The text that it lets in is read in the turn in which it comes, so that
 * the wide ones promise together more than there are frames (WIDTH_A_FRAME); what lies behind a
 * hole is bounded where it is kept (rx_is_full). One connection gets a part of what is left to all;
 * where too little is left, who has not filled his for WIDTH_IDLE_US goes back to the least, or
 * else the widest gives half of his. While received frames are short every wide one is halved each
 * round trip. What was told stays told (RFC 9293 section 3.8.6): a limit that shrinks holds the
 * right edge until the peer has used it up.
 *
 * Units:  bytes; us on the clock of 32 bits.
 * Thread: core-local.
 * Bounds: WIDTHS_MAX connections are wide; nothing is looked at but once a round trip of a
 *         connection that sends, all wide ones no more than once in WIDTH_TAKE_US.
 */
#include "tcp.h"

#define WIDTH_PART    4u       /* of what is left, for one */
#define WIDTH_STEP    32768u   /* less is not worth a place */
#define WIDTH_IDLE_US 1000000u /* without a window's worth in a round trip */
#define WIDTH_TAKE_US 1000u

static void
width_write(const struct stack *s, struct conn *c, uint32_t limit)
{
	const uint32_t full = mss_ours(s, (uint8_t)c->local);

	c->rcv_limit = limit;
	/* Rounded down: what is told anew is wider by a segment at least. */
	c->wide_above = (uint16_t)((limit - full) >> WIDE_SHIFT);
}

static void
slot_leaves(struct widths *w, uint32_t slot)
{
	uint32_t i = 0;

	while (i < w->count && w->slot[i] != slot)
		i++;
	ensure(i < w->count);
	w->slot[i] = w->slot[--w->count];
}

/* At least RX_WINDOW_BYTES; a place is there if it is the first time that it is more. */
static void
width_set(struct stack *s, struct conn *c, uint32_t limit)
{
	struct widths *w = &s->tcp->widths;
	const uint32_t before = c->rcv_limit, now = max_u32(limit, RX_WINDOW_BYTES);

	if (now == before)
		return;
	if (before == RX_WINDOW_BYTES)
		w->slot[w->count++] = c->slot;
	else if (now == RX_WINDOW_BYTES)
		slot_leaves(w, c->slot);
	w->bytes += now;
	w->bytes -= before;
	width_write(s, c, now);
}

void
width_begin(struct stack *s, struct conn *c)
{
	width_write(s, c, RX_WINDOW_BYTES);
}

void
width_open(const struct stack *s, struct conn *c)
{
	c->epoch_us = s->now_us;
	c->epoch_seq = rx_read_to(c);
}

void
width_end(struct stack *s, struct conn *c)
{
	width_set(s, c, RX_WINDOW_BYTES);
}

/* Too little is left for one that could use it. */
static void
take_from_others(struct stack *s, const struct conn *asker)
{
	struct widths *w = &s->tcp->widths;
	struct conn *widest = NULL;
	bool taken = false;

	if (s->now_us - w->taken_us < WIDTH_TAKE_US)
		return;
	w->taken_us = s->now_us;
	for (uint32_t i = w->count; i-- > 0;) {
		struct conn *c = &s->tcp->conns[w->slot[i]];

		if (s->now_us - c->epoch_us >= WIDTH_IDLE_US) {
			width_set(s, c, RX_WINDOW_BYTES);
			taken = true;
		} else if (widest == NULL || c->rcv_limit > widest->rcv_limit) {
			widest = c;
		}
	}
	if (!taken && widest != NULL && widest->rcv_limit / 2 >= asker->rcv_limit)
		width_set(s, widest, widest->rcv_limit / 2);
}

static void
width_ask(struct stack *s, struct conn *c, uint32_t want)
{
	const struct widths *w = &s->tcp->widths;
	const uint32_t own = c->rcv_limit - RX_WINDOW_BYTES;
	const uint64_t part = (w->bytes_max - w->bytes + own) / WIDTH_PART;
	const uint32_t most = part < RX_WINDOW_MAX - RX_WINDOW_BYTES
				      ? RX_WINDOW_BYTES + (uint32_t)part
				      : RX_WINDOW_MAX;
	const uint32_t limit = min_u32(want, most);

	if (want < c->rcv_limit + WIDTH_STEP)
		return; /* nothing is short */
	if (limit >= c->rcv_limit + WIDTH_STEP && (own > 0 || w->count < WIDTHS_MAX))
		width_set(s, c, limit);
	else
		take_from_others(s, c);
}

/* Of what was read since the epoch began, the share of a round trip. */
static uint32_t
read_in_round(const struct conn *c, uint32_t us)
{
	const uint32_t bytes = rx_read_to(c) - c->epoch_seq;

	/* Up to two it may be one that took longer. */
	return us / 2 < c->min_rtt_us ? bytes : (uint32_t)((uint64_t)bytes * c->min_rtt_us / us);
}

void
width_measure(struct stack *s, struct conn *c)
{
	const uint32_t flags = CONN_OPENED | CONN_WSCALE | CONN_CLOSE;
	const uint32_t us = s->now_us - c->epoch_us;
	uint32_t want;

	if ((c->flags & flags) != (CONN_OPENED | CONN_WSCALE) || us < c->min_rtt_us)
		return;
	want = WIDTH_GAIN * min_u32(read_in_round(c, us), RX_WINDOW_MAX / WIDTH_GAIN);
	width_open(s, c);
	if (s->tcp->evict.frames || want < c->rcv_limit / WIDTH_GAIN)
		width_set(s, c, c->rcv_limit / 2);
	else if (want > c->rcv_limit)
		width_ask(s, c, want);
}

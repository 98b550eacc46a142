/*
 * tcp_rx.h - the receive side: receive queue and advertised window (tcp_rx.c), quickack mode,
 * window autotuning (tcp_rcv_autotune.c), out-of-order queue (tcp_ooo.c).
 *
 * Owner:  a connection's queue owns its frames; read and dropped ones go to the deferred-free list.
 * Thread: core-local.
 * Bounds: tcp_limits.h.
 */
#ifndef CLOCKOO_TCP_RX_H
#define CLOCKOO_TCP_RX_H

#include "tcp_core.h"

#include "wire/tcp_wire.h"

struct arrival;

#define RX_HEADERS_MAX (18u + 40u + TCP_HEADER_MAX) /* Ethernet with a tag, IPv6, TCP */

#define RCV_AUTOTUNE_BYTES_PER_FRAME 3072u /* budget of all limits, for each frame of the pool */
#define RCV_AUTOTUNE_GAIN            4u    /* limit / bytes read in an RTT */
#define NEAR_LIMIT_SHIFT             6u    /* of conn.near_limit: 64 bytes */

/* While requests wait for memory of the service, and hold this part of the frames. */
#define RX_WAITING_PART      16u
#define RX_WINDOW_WAITING    65536u              /* the window then, at most... */
#define RX_WINDOW_WAITING_NS (10000 * NS_PER_MS) /* ... and so long after the last of them */
#define RX_WINDOW_BODY       32768u /* inside a body that is read, of which more is to come */
#define RX_UNREAD_PART       2u     /* of the frames: what all windows together are worth then */
#define RX_WAITING_SHARE     16u    /* of what is left of it, one connection gets such a part */
#define RX_WAITING_FRAMES    16u    /* at least: a value of 20 KB then need not wait */
#define RX_REFUSED_FRAMES    2u     /* at least, behind replies that the peer does not read */
#define RX_UPLOAD_FRAMES     8u     /* at least, where long values come... */
#define RX_UPLOAD_PART       64u    /* ... but no more than such a part of the frames */

/* ---- tcp_rx.c: receive queue, advertised window ---- */

void rx_pool_create(struct tcp *t, struct region *region, uint32_t frames);
/* Queues in-order or out-of-order data; false: no room, nothing kept. */
bool rx_enqueue(struct tcp *t, struct conn *c, struct arrival *a);
/* The same for data at rcv_nxt when both queues are empty and a node is free. */
void rx_enqueue_first(struct tcp *t, struct conn *c, struct frame *frame, uint8_t *start,
		      struct view payload);
void rx_clear(struct tcp *t, struct conn *c);
/* Once a turn, after the service: of data that came in this turn and was not read, a connection
 * keeps its share while frames are short. The rest is dropped before it is acknowledged. */
void rx_lent_return(struct tcp *t);
void rx_read(struct tcp *t, struct conn *c, uint32_t n);
/* The delayed ACK timer fired. */
void rx_delayed_ack_sent(struct conn *c);
/* The window to advertise to the peer, unscaled; never takes back what was advertised (RFC
 * 9293 3.8.6). */
uint32_t rx_window(const struct tcp *t, const struct conn *c);

/* The same, after a measurement for autotuning. */
uint32_t rx_window_now(struct tcp *t, struct conn *c);

/* Is the window advertised within a full segment of rcv_limit? Silly window avoidance, RFC 9293
 * section 3.8.6.2.2: the edge moves by at least that, or not at all. */
static inline bool
rx_window_near_limit(const struct conn *c)
{
	return c->rcv_edge - c->rcv_nxt > (uint32_t)c->near_limit << NEAR_LIMIT_SHIFT;
}

/*
 * Quickack mode: after out-of-order or duplicate data the peer's cwnd is small, and if the only ACK
 * of a burst is lost it times out. So for QUICKACK_US segments are counted, and a burst of several
 * gets more than one ACK (RFC 5681 section 4.2).
 */
static inline void
quickack_count(struct conn *c)
{
	c->acks_due += c->acks_due < BURST_ACKS_MAX;
}

static inline void
quickack_enter(const struct tcp *t, struct conn *c)
{
	c->flags |= CONN_QUICKACK;
	c->quickack_us = t->net.now_us;
	quickack_count(c);
}

/* For tcp_ooo.c: */
struct rx_seg *rx_node_take(struct tcp *t, struct arrival *a);
void rx_node_free(struct tcp *t, struct rx_seg *node);
/* Appends the data to the node's frame; false: no room there. */
bool rx_coalesce(const struct tcp *t, struct rx_seg *node, const struct view *payload);
/* The turn in which the node's next byte was here, if later turns added to it (last_at not 0). */
uint64_t rx_later_since_ns(const struct rx_seg *node);
/* True if a connection with so many frames holds more than its share, or all of it, while frames
 * are short. */
static inline bool
rx_is_over(struct tcp *t, const struct conn *c, uint32_t held)
{
	struct budget_place *place = &t->places[c->slot].frames;

	if (held == 0 || !t->frames.is_short)
		return false;
	budget_join(&t->frames, place, &c->peer_ip);
	return held >= budget_share(&t->frames, place);
}

/* Nodes reserved for connections without unread data. */
uint32_t rx_reserve(const struct tcp *t);

/* ---- tcp_rcv_autotune.c: limit of the window ---- */

void rcv_autotune_init(struct tcp *t, struct conn *c);
void rcv_autotune_start(const struct tcp *t, struct conn *c);
/* Back to RX_WINDOW_BYTES. */
void rcv_autotune_reset(struct tcp *t, struct conn *c);
/* A new edge is about to be advertised: has the peer filled what it was advertised before? If
 * rcv_autotune_is_due().
 */
void rcv_autotune_measure(struct tcp *t, struct conn *c);

/* Up to where the service has read; unread data does not widen the window. */
static inline uint32_t
rx_read_to(const struct conn *c)
{
	return c->rcv_nxt - c->rx.bytes;
}

/* Has enough been read to widen the window, or is there a widened one to take back? */
static inline bool
rcv_autotune_is_due(const struct conn *c)
{
	return c->rcv_limit != RX_WINDOW_BYTES ||
	       rx_read_to(c) - c->epoch_seq > RX_WINDOW_BYTES / RCV_AUTOTUNE_GAIN;
}

/* ---- tcp_ooo.c: out-of-order queue, SACK blocks ---- */

bool ooo_insert(struct tcp *t, struct conn *c, struct arrival *a);
/* Removes what overlaps data that begins at rcv_nxt. */
void ooo_trim(struct tcp *t, struct conn *c, struct tcp_seg *seg);
/* After rcv_nxt has moved: the first block may be in order now. */
void ooo_move_in_order(struct tcp *t, struct conn *c);
/* Drops the last node: out-of-order data can be retransmitted. */
void ooo_drop_last(struct tcp *t, struct conn *c);
void ooo_clear(struct tcp *t, struct conn *c);
/* These bytes are duplicates (RFC 2883). */
void dsack_record(struct conn *c, uint32_t begin, uint32_t end);
/* Writes at most max blocks (RFC 2018 section 4). Returns their number. */
uint32_t sack_blocks(struct conn *c, struct tcp_sack_block *to, uint32_t max);

#endif

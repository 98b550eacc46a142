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

/* Budget of all window limits, for each frame of the pool. */
#define RCV_AUTOTUNE_BYTES_PER_FRAME 3072u
#define RCV_AUTOTUNE_GAIN            4u            /* limit / bytes read in an RTT */
#define NEAR_LIMIT_SHIFT             RX_WSCALE_MAX /* unit of conn.near_limit: 512 bytes */

/* Limits while requests wait for memory of the service and hold 1/RX_WAITING_PART of the frames. */
#define RX_WAITING_PART   16u
#define RX_WINDOW_WAITING 65536u /* bytes: the widest window then */
/* How long the limits last after the last such request. */
#define RX_WINDOW_WAITING_NS (10000 * NS_PER_MS)
#define RX_WINDOW_BODY       32768u /* bytes: the window inside a body that is being read */
/* 1/part of the frames is what all windows together may promise. */
#define RX_UNREAD_PART   2u
#define RX_WAITING_SHARE 16u /* one connection gets 1/share of what is left of that */
/* Frames a connection gets at least: a value of 20 KB need not wait. */
#define RX_WAITING_FRAMES 16u
/* Frames a connection gets at least while its peer does not read replies. */
#define RX_REFUSED_FRAMES 2u
#define RX_UPLOAD_FRAMES  8u  /* frames at least for an upload of a long value */
#define RX_UPLOAD_PART    64u /* but no more than 1/part of the frames */

/* ---- tcp_rx.c: receive queue, advertised window ---- */

void rx_pool_create(struct tcp *t, struct region *region, uint32_t frames);
/* Queues in-order or out-of-order data; false: no room, and nothing is kept. */
bool rx_enqueue(struct tcp *t, struct conn *c, struct arrival *a);
/* Queues data at rcv_nxt when both queues are empty and a node is free. */
void rx_enqueue_first(struct tcp *t, struct conn *c, struct frame *frame, uint8_t *start,
		      struct view payload);
void rx_clear(struct tcp *t, struct conn *c);
/* Takes lent frames back, once a turn, after the service has read. While frames are short, a
 * connection keeps its share of what it was lent; other unread data is dropped unacknowledged. */
void rx_lent_return(struct tcp *t);
void rx_read(struct tcp *t, struct conn *c, uint32_t n);
/* Adjusts the estimate of the peer's segment length; called when the delayed ACK timer fires. */
void rx_delayed_ack_sent(struct conn *c);
/* Returns the window to advertise to the peer, unscaled. The right edge never moves back (RFC 9293
 * 3.8.6). */
uint32_t rx_window(const struct tcp *t, const struct conn *c);

/* Measures for autotuning first, then returns the window. */
uint32_t rx_window_now(struct tcp *t, struct conn *c);

/* True if the advertised window is within a full segment of rcv_limit. Silly window avoidance, RFC
 * 9293 section 3.8.6.2.2: the edge moves by at least that, or not at all. */
static inline bool
rx_window_near_limit(const struct conn *c)
{
	return c->rcv_edge - c->rcv_nxt > (uint32_t)c->near_limit << NEAR_LIMIT_SHIFT;
}

/*
 * Quickack mode. After out-of-order or duplicate data the peer's cwnd is small, and the peer times
 * out if the only ACK of a burst is lost. So for QUICKACK_US segments are counted, and a burst of
 * several gets more than one ACK (RFC 5681 section 4.2).
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

/* Nodes, used by tcp_ooo.c too, and by conn_pipe.c for data that is in no frame. */
struct rx_seg *rx_node_take(struct tcp *t, struct arrival *a);
void rx_node_free(struct tcp *t, struct rx_seg *node);
/* Appends the data to the node's frame; false: no room there. */
bool rx_coalesce(const struct tcp *t, struct rx_seg *node, const struct view *payload);
/* Returns the turn in which the node's next byte was received, for a node to which later turns
 * added data (last_at is not 0). */
uint64_t rx_later_since_ns(const struct rx_seg *node);
/* True if frames are short and a connection with `held` frames has its share of them or more. */
static inline bool
rx_is_over(struct tcp *t, const struct conn *c, uint32_t held)
{
	struct budget_place *place = &t->places[c->slot].frames;

	if (held == 0 || !t->frames.is_short)
		return false;
	budget_join(&t->frames, place, &c->peer_ip);
	return held >= budget_share(&t->frames, place);
}

/* Returns how many nodes are reserved for connections without unread data. */
static inline uint32_t
rx_reserve(const struct tcp *t)
{
	return min_u32(peers_max(t), t->net.cfg.rx_frames_max / 2);
}

/* ---- tcp_rcv_autotune.c: limit of the window ---- */

void rcv_autotune_create(struct tcp *t, uint32_t frames);
void rcv_autotune_init(struct tcp *t, struct conn *c);
void rcv_autotune_start(const struct tcp *t, struct conn *c);
/* Sets the limit back to RX_WINDOW_BYTES. */
void rcv_autotune_reset(struct tcp *t, struct conn *c);
/* Checks if the peer has filled the window advertised before. Call if rcv_autotune_is_due(), before
 * a new edge is advertised. */
void rcv_autotune_measure(struct tcp *t, struct conn *c);

/* Returns the position up to which the service has read; unread data does not widen the window. */
static inline uint32_t
rx_read_to(const struct conn *c)
{
	return c->rcv_nxt - c->rx.bytes;
}

/* True if enough was read to widen the window, or the window is wide and may be taken back. */
static inline bool
rcv_autotune_is_due(const struct conn *c)
{
	return c->rcv_limit != RX_WINDOW_BYTES ||
	       rx_read_to(c) - c->epoch_seq > RX_WINDOW_BYTES / RCV_AUTOTUNE_GAIN;
}

/* ---- tcp_ooo.c: out-of-order queue, SACK blocks ---- */

bool ooo_insert(struct tcp *t, struct conn *c, struct arrival *a);
/* Removes held data that overlaps data at rcv_nxt. */
void ooo_trim(struct tcp *t, struct conn *c, struct tcp_seg *seg);
/* Call after rcv_nxt has moved: the first block may be in order now. */
void ooo_move_in_order(struct tcp *t, struct conn *c);
/* Drops the last node. The peer can retransmit out-of-order data. */
void ooo_drop_last(struct tcp *t, struct conn *c);
void ooo_clear(struct tcp *t, struct conn *c);
/* Records that these bytes are duplicates (RFC 2883). */
void dsack_record(struct conn *c, uint32_t begin, uint32_t end);
/* Writes at most max blocks (RFC 2018 section 4). Returns their number. */
uint32_t sack_blocks(struct conn *c, struct tcp_sack_block *to, uint32_t max);

#endif

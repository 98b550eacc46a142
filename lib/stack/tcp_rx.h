/*
 * tcp_rx.h - the interface of tcp_rx.c and tcp_ooo.c: what is received and not yet read, the window
 * we advertise, and how often a burst is acknowledged.
 *
 * Private to tcp_*.c, which include it by tcp.h.
 *
 * Owner:  a connection's queue owns its frames; what is read or let go of goes to the deferred-free
 *         list.
 * Thread: core-local.
 * Bounds: tcp_limits.h.
 */
#ifndef CLOCKOO_TCP_RX_H
#define CLOCKOO_TCP_RX_H

#include "tcp_conn.h"

#include "wire/tcp_wire.h"

struct arrival;
struct tcp;

#define RX_HEADERS_MAX (18u + 40u + TCP_HEADER_MAX) /* Ethernet with a tag, IPv6, TCP */

#define RCV_AUTOTUNE_CONNS_MAX 64u /* connections whose window is wider than RX_WINDOW_BYTES */
#define RCV_AUTOTUNE_BYTES_PER_FRAME                                                               \
	3072u                /* bytes that all may be wider, for each frame they may hold */
#define RCV_AUTOTUNE_GAIN 4u /* a window is so many times what came in a round trip */
#define NEAR_LIMIT_SHIFT  6u /* of conn.near_limit: 64 bytes */

struct rcv_autotune {
	uint64_t bytes, bytes_max; /* beyond RX_WINDOW_BYTES, of all together */
	uint32_t taken_us;         /* when it was last taken from some for others */
	uint32_t count;
	uint32_t slot[RCV_AUTOTUNE_CONNS_MAX]; /* of those connections, in no order */
};

/* ---- tcp_rx.c: receive queue, and our window ---- */

void rx_pool_create(struct tcp *t, struct region *region, uint32_t frames);
/* Queue the data at rcv_nxt, or keep it for later; false: no room, nothing kept. */
bool rx_enqueue(struct stack *s, struct conn *c, struct arrival *a);
/* The same for data at rcv_nxt of an open connection where none waits unread and there are no
 * holes; a node is left. */
void rx_enqueue_first(struct stack *s, struct conn *c, struct frame *frame, uint8_t *start,
		      struct view payload);
void rx_clear(struct stack *s, struct conn *c);
void rx_read(struct stack *s, struct conn *c, uint32_t n);
/* The delayed ACK timer ran out. */
void rx_delayed_ack_sent(struct conn *c);
/* The window to advertise to the peer, unscaled; never takes back what was advertised (RFC
 * 9293 3.8.6). */
uint32_t rx_window(const struct stack *s, const struct conn *c);

/* The same, and the limit of it is measured anew first. */
uint32_t rx_window_now(struct stack *s, struct conn *c);

/* Is the window advertised within a full segment of rcv_limit? Silly window avoidance, RFC 9293
 * section 3.8.6.2.2: the edge moves by at least that, or not at all. */
static inline bool
rx_window_near_limit(const struct conn *c)
{
	return c->rcv_edge - c->rcv_nxt > (uint32_t)c->near_limit << NEAR_LIMIT_SHIFT;
}

/*
 * After data that came out of order or twice, the peer's window is small and its ACKs are few:
 * where a burst's one ACK is lost, nothing but a timeout goes on. So for QUICKACK_US each segment
 * of a burst counts (RFC 5681 section 4.2 asks for an ACK each), and more than one ACK goes out for
 * several.
 */
static inline void
quickack_count(struct conn *c)
{
	c->acks_due += c->acks_due < BURST_ACKS_MAX;
}

static inline void
quickack_enter(const struct stack *s, struct conn *c)
{
	c->flags |= CONN_QUICKACK;
	c->quickack_us = s->now_us;
	quickack_count(c);
}

/* For tcp_ooo.c: */
struct rx_seg *rx_node_take(struct stack *s, struct arrival *a);
void rx_node_free(struct stack *s, struct rx_seg *node);
/* Put the data into the room behind a node's own; false: it does not fit. */
bool rx_coalesce(const struct stack *s, struct rx_seg *node, const struct view *payload);
/* May the connection hold no more than `held` frames, where `kept` of those left are for others? */
bool rx_is_full(const struct stack *s, const struct conn *c, uint32_t held, uint32_t kept);
/* Data in a frame at least, on average: what did not fit behind its neighbour (rx_coalesce) and the
 * neighbour hold together more than one frame can. */
static inline uint32_t
rx_frame_min(const struct stack *s)
{
	return (s->port->frame_bytes - RX_HEADERS_MAX) / 2;
}
/* Nodes that are for connections without unread data. */
uint32_t rx_reserve(const struct stack *s);

/* ---- tcp_rcv_autotune.c: how wide the window may be ---- */

void rcv_autotune_init(struct stack *s, struct conn *c);
void rcv_autotune_start(const struct stack *s, struct conn *c);
/* As wide as any again. */
void rcv_autotune_reset(struct stack *s, struct conn *c);
/* A new edge is about to be advertised: has the peer filled what it was advertised before? If
 * rcv_autotune_is_due().
 */
void rcv_autotune_measure(struct stack *s, struct conn *c);

/* Up to where the service has read: data that waits is no reason to let in more. */
static inline uint32_t
rx_read_to(const struct conn *c)
{
	return c->rcv_nxt - c->rx.bytes;
}

/* Too little for a wider window, however short the time, and there is none to take back. */
static inline bool
rcv_autotune_is_due(const struct conn *c)
{
	return c->rcv_limit != RX_WINDOW_BYTES ||
	       rx_read_to(c) - c->epoch_seq > RX_WINDOW_BYTES / RCV_AUTOTUNE_GAIN;
}

/* ---- tcp_ooo.c: out-of-order data, and what SACK says of it ---- */

bool ooo_insert(struct stack *s, struct conn *c, struct arrival *a);
/* The data begins at rcv_nxt: cut off, or let go of, what is there already. */
void ooo_trim(struct stack *s, struct conn *c, struct tcp_seg *seg);
/* rcv_nxt has moved: data after the first hole may be in order now. */
void ooo_move_in_order(struct stack *s, struct conn *c);
/* Let go of the last node: out-of-order data can be sent again. */
void ooo_drop_last(struct stack *s, struct conn *c);
void ooo_clear(struct stack *s, struct conn *c);
/* Those bytes came twice (RFC 2883). */
void dsack_record(struct conn *c, uint32_t begin, uint32_t end);
/* RFC 2018 section 4, at most max blocks. Returns how many. */
uint32_t sack_blocks(struct conn *c, struct tcp_sack_block *to, uint32_t max);

#endif

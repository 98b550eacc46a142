/*
 * tcp_fast_path.h - the fast path of segments that are as expected (tcp_fast_path.c).
 *
 * Private to tcp_in.c, tcp_out.c and tcp_fast_path.c.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_TCP_FAST_PATH_H
#define CLOCKOO_TCP_FAST_PATH_H

#include "tcp.h"

/* One segment to be: where it lies in the stream, and what it carries. */
struct out_seg {
	uint32_t seq, len;
	uint8_t flags;
	bool retransmit; /* the data was sent before: not from the cursor */
};

void fast_path_init(struct tcp *t);
/* Received frame i, of TCP: has it taken the fast path? */
bool fast_path_input(struct stack *s, struct classified *in, uint32_t i);
/* At the beginning of a turn's output. */
void fast_path_output_begin(struct stack *s);
/* Has all that the connection has to send gone out on the fast path? There is room for one frame.
 */
bool fast_path_output(struct stack *s, struct conn *c);
/* Is c->hop where its frames go? Only between fast_path_output_begin() and the end of the output.
 */
bool conn_hop_valid(struct stack *s, struct conn *c);
/* A segment over IPv4 with no options but timestamps; first: as in struct conn_hop. False: there is
 * no room. */
bool fast_path_segment(struct stack *s, struct conn *c, uint64_t first, struct out_seg what);

/* The first bytes of a frame to that station. */
static inline uint64_t
hop_header(const struct stack *s, const uint8_t mac[6])
{
	return load_u32(mac) | (uint64_t)load_u16(mac + 4) << 32 |
	       (uint64_t)load_u16(s->port->mac) << 48;
}

/* The window field; from here on the peer knows the edge it tells. Rounded up, because a scaled
 * window rounded down takes back what was promised. */
static inline uint16_t
advertise_window(struct stack *s, struct conn *c, uint8_t flags)
{
	const bool scaled = !(flags & TCP_SYN) && (c->flags & CONN_WSCALE);
	const uint32_t shift = scaled ? RX_WSCALE : 0;
	const uint32_t advertised = c->rcv_edge - c->rcv_nxt;
	const uint32_t window = likely(rx_window_near_limit(c)) ? advertised : rx_window_now(s, c);
	const uint32_t field = min_u32((window + (1u << shift) - 1) >> shift, UINT16_MAX);

	if (seq_after(c->rcv_nxt + (field << shift), c->rcv_edge))
		c->rcv_edge = c->rcv_nxt + (field << shift);
	c->last_ack_sent = c->rcv_nxt;
	c->flags &= ~(CONN_ACK_NOW | CONN_ACK_DELAYED);
	c->ack_at_ns = NEVER;
	return (uint16_t)field;
}

#endif

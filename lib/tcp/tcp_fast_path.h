/*
 * tcp_fast_path.h - the fast path for expected segments, and what it shares with tcp_out.c: the hop
 * cache and the window field.
 *
 * Shape:  input and output each refuse or handle a segment whole.
 * Thread: core-local.
 */
#ifndef CLOCKOO_TCP_FAST_PATH_H
#define CLOCKOO_TCP_FAST_PATH_H

#include "tcp.h"

/* A segment to send: its sequence number, and what it carries. */
struct out_seg {
	uint32_t seq, len;
	uint8_t flags;
	uint8_t ecn;     /* enum ip_ecn */
	bool retransmit; /* the data is not at the send queue's cursor */
};

/* RFC 3168 section 6.1.2: new data is ECT, and the first after a reduction says so. */
static inline void
out_new_data(const struct conn *c, struct out_seg *what)
{
	what->ecn = ecn_of_new_data(c);
	what->flags |= unlikely(c->flags & CONN_CWR) ? TCP_CWR : 0;
}

void fast_path_init(struct tcp *t);
/* Handles received frame i; false: it does not qualify, and nothing has changed. */
bool fast_path_input(struct tcp *t, const struct classified *in, uint32_t i);
/* Does the same for connections with ECN, in an instance of its own: others execute nothing for
 * it. */
bool fast_path_input_ecn(struct tcp *t, const struct classified *in, uint32_t i);
/* Call at the beginning of a turn's output. */
void fast_path_output_begin(struct tcp *t);
/* Sends all that the connection has queued as one segment; false: it does not qualify. The transmit
 * queue has room for one frame. */
bool fast_path_output(struct tcp *t, struct conn *c);
/* True if the connection's data is ECT, or it is to another of our addresses. */
static inline bool
fast_path_is_other(const struct conn *c)
{
	return (c->flags & CONN_ECT) != 0 || c->other_local;
}
/* Does the same as fast_path_output() for these connections. */
bool fast_path_output_other(struct tcp *t, struct conn *c);
/* True if the cached MAC c->hop is valid or could be resolved. Call between
 * fast_path_output_begin() and the end of output. */
bool conn_hop_valid(struct tcp *t, struct conn *c);
/* True if a segment with these flags is over IPv4, and has no options other than timestamps. */
static inline bool
fast_path_suits(const struct conn *c, uint8_t flags)
{
	return local_is_v4(c->local) && !(flags & TCP_SYN) && c->rx.ooo_blocks == NULL &&
	       !(c->flags & (CONN_DSACK | CONN_PEER_FIN));
}

/* Queues a segment over IPv4 without options other than timestamps; first as in struct conn_hop.
 * False: no room. */
bool fast_path_segment(struct tcp *t, struct conn *c, uint64_t first, struct out_seg what);
/* Does the same for new data with tcp.lends, and lends the data to the port if it may. */
bool fast_path_segment_lent(struct tcp *t, struct conn *c, uint64_t first, struct out_seg what);
/* Lends the next len bytes to the port, as the end of the frame that tx_queue_begin() returned;
 * false: they are copied. */
bool payload_lend(struct tcp *t, struct conn *c, uint32_t len);

/* Returns the first 8 bytes of a frame to that MAC. */
static inline uint64_t
hop_header(const struct tcp *t, const uint8_t mac[6])
{
	return load_u32(mac) | (uint64_t)load_u16(mac + 4) << 32 |
	       (uint64_t)load_u16(t->net.port->mac) << 48;
}

/*
 * Returns the window field of a segment and updates the advertised right edge and the ACK state.
 * Rounded up, because rounding a scaled window down would move the right edge back (RFC 9293
 * section 3.8.6).
 */
static inline uint16_t
advertise_window(struct tcp *t, struct conn *c, uint8_t flags)
{
	const bool scaled = !(flags & TCP_SYN) && (c->flags & CONN_WSCALE);
	const uint32_t shift = scaled ? t->rcv_autotune.wscale : 0;
	const uint32_t advertised = c->rcv_edge - c->rcv_nxt;
	const uint32_t window = likely(rx_window_near_limit(c)) ? advertised : rx_window_now(t, c);
	const uint32_t most = flags & TCP_SYN ? syn_window(t, c->local) : UINT16_MAX;
	const uint32_t field =
		min_u32((window + (scaled ? t->rcv_autotune.unit : 0)) >> shift, most);

	if (seq_after(c->rcv_nxt + (field << shift), c->rcv_edge))
		c->rcv_edge = c->rcv_nxt + (field << shift);
	c->last_ack_sent = c->rcv_nxt;
	c->flags &= ~(CONN_ACK_NOW | CONN_ACK_DELAYED);
	c->ack_at_ns = NEVER;
	return (uint16_t)field;
}

#endif

/*
 * tcp.h - the stages of TCP, for lib/stack, and the interfaces that its files share.
 *
 * A segment's way: tcp_match (tcp_table.c) finds the connection; tcp_input (tcp_in.c) runs the
 * steps of RFC 9293 section 3.10.7.4; data goes into the receive queue (tcp_rx.c); the service
 * reads and writes (tcp_api.c); tcp_output (tcp_out.c) sends what is due; tcp_tick (tcp_tick.c)
 * runs the timers.
 *
 * Thread: core-local.
 * Bounds: the constants here and in tcp_limits.h.
 */
#ifndef CLOCKOO_TCP_H
#define CLOCKOO_TCP_H

#include "tcp_core.h"
#include "tcp_ecn.h"
#include "tcp_flow.h"
#include "tcp_loss.h"
#include "tcp_rx.h"
#include "tcp_timer.h"

#include "wire/tcp_wire.h"

#define HALF_OPEN_MAX    1024u /* limited to half of conns_max; beyond that SYNs get cookies */
#define TIMERS_PER_TURN  64u
#define RX_BACKLOG_TURNS 64u  /* consecutive full bursts for which timers wait: a NIC's ring */
#define SEGS_PER_VISIT   16u  /* segments of one connection in a visit */
#define MSS_SMALL        600u /* connections with a smaller MSS are visited once a turn */
/* A visit of such a connection sends a segment for each MSS_PER_SEG bytes of its MSS. */
#define MSS_PER_SEG      90u
#define VISITS_PER_TURN  256u /* connections visited by one tcp_output */
#define DRAIN_SLOTS      256u /* slots examined by one tcp_drain */
#define BLOCKED_PER_TURN 16u
static_assert((CONN_MSS_MIN - TCP_TIMESTAMPS_BYTES) / MSS_PER_SEG > 0, "a visit sends a segment");

/* Returns how many segments a visit may send. A segment of any length costs the same work,
 * and the peer chooses the MSS, so fewer short ones are sent. */
static inline uint32_t
segs_per_visit(const struct conn *c)
{
	return likely(c->mss >= MSS_SMALL) ? SEGS_PER_VISIT : c->mss / MSS_PER_SEG;
}

/* Returns the end of a full segment that starts at begin. The FIN takes no room. */
static inline uint32_t
segment_end(const struct conn *c, uint32_t begin, uint32_t end)
{
	const uint32_t full = begin + c->mss;

	return seq_after(end, full) && full != conn_tx_end(c) ? full : end;
}

/* ---- the stages, for lib/stack ---- */

size_t tcp_bytes(const struct tcp_config *cfg, uint32_t rx_frames_max);
/* Initializes *t, which must be zero except for its net. */
void tcp_create(struct tcp *t, struct region *region, const struct tcp_config *cfg);
void tcp_lender_set(struct tcp *t, const struct lender *lender); /* stack_lender_set() */
void tcp_match(struct tcp *t, const struct classified *in);
/* Takes ownership of the frames of in->tcp: each goes to a receive queue or to the deferred-free
 * list. */
void tcp_input(struct tcp *t, const struct classified *in);
void tcp_tick(struct tcp *t);
/* Call before the first turn after a pause. begin_ns: when the turn before the pause began. */
void tcp_paused(struct tcp *t, uint64_t begin_ns, uint64_t end_ns);
void tcp_output(struct tcp *t);
uint64_t tcp_next_timer(const struct tcp *t);
bool tcp_has_ready(const struct tcp *t);
bool tcp_drain(struct stack *s);
void tcp_abort_all(struct stack *s);

/* A received segment on its way through the steps of 3.10.7.4. */
struct arrival {
	struct tcp_seg seg; /* trimmed to the window by process_data */
	struct frame *frame;
	uint8_t *start; /* start of the frame */
	const uint8_t *src_mac;
	const struct l3_info *l3; /* the sender, and which of our addresses it sent to */
	bool kept;                /* the frame went into a receive queue */
};

static inline enum ip_ecn
ecn_field(const struct arrival *a)
{
	return ip_ecn_of_frame(a->start, local_is_v4(a->l3->local));
}

/* Returns the largest segment in our MTU, without options. */
static inline uint32_t
mss_ours(const struct tcp *t, uint16_t local)
{
	return t->net.port->mtu - ip_header_bytes(local) - TCP_HEADER_BYTES;
}

/* Returns the largest segment in the MTU of the route to a peer, without options. */
static inline uint32_t
mss_of_route(const struct tcp *t, const struct ip_addr *peer, uint16_t local)
{
	return route_mtu(&t->net, peer) - ip_header_bytes(local) - TCP_HEADER_BYTES;
}

/* Returns the window of our SYN or SYN-ACK, with a cookie or without: the ten segments that the
 * peer may send at once (RFC 6928). The ACK that follows advertises more if no requests wait for
 * memory. */
static inline uint32_t
syn_window(const struct tcp *t, uint16_t local)
{
	return min_u32(INITIAL_CWND_SEGS * mss_ours(t, local), UINT16_MAX);
}

static inline struct flow
flow_of_arrival(const struct arrival *a)
{
	return (struct flow){&a->l3->src_ip, a->seg.src_port, a->seg.dst_port, a->l3->local};
}

/* ---- tcp_conn.c: birth, states, death ---- */

/* True if the half-open table is full or all slots are taken. */
bool conn_half_open_full(const struct tcp *t);
/* Opens a connection in SYN_RCVD, if necessary in the slot of the oldest half-open one. NULL:
 * refused, and counted by reason. */
struct conn *conn_open(struct tcp *t, struct flow flow);
/* Opens a connection in SYN_SENT. NULL: refused, and counted by reason. */
struct conn *conn_open_active(struct tcp *t, struct flow flow);
/* Opens a pipe of the wire, with the wire's peer and ports and without a flow (conn_pipe.h). */
struct conn *conn_open_pipe(struct tcp *t, const struct conn *wire); /* wire may be NULL */
/* Withdraws a connection that leaves SYN_SENT from the flows that other cores watch for
 * (pending_connects.h). */
void conn_not_pending(struct tcp *t, const struct conn *c);
void conn_established(struct tcp *t, struct conn *c);
void conn_fin_wait_2(struct tcp *t, struct conn *c);
void conn_time_wait(struct tcp *t, struct conn *c);
void conn_detach(struct tcp *t, struct conn *c);
/* Moves the connection to CLOSED and frees its slot. Calls gone() if opened() was called. */
void conn_free(struct tcp *t, struct conn *c);
/* Like conn_free(), and sends a RST to the peer. */
void conn_reset(struct tcp *t, struct conn *c);
/* Frees a connection that was never opened. Calls failed() if it is an active open. */
void conn_fail(struct tcp *t, struct conn *c, enum conn_failure why);

static inline void
conn_make_ready(struct tcp *t, struct conn *c)
{
	if ((c->flags & (CONN_OPENED | CONN_CLOSE)) == CONN_OPENED && list_empty(&c->ready))
		list_push_back(&t->ready, &c->ready);
}

static inline void
conn_schedule_output(struct tcp *t, struct conn *c)
{
	if (list_empty(&c->out))
		list_push_back(&t->out, &c->out);
}

static inline void
conn_ack_now(struct tcp *t, struct conn *c)
{
	c->flags |= CONN_ACK_NOW;
	conn_schedule_output(t, c);
}

/* Makes a refused writer ready if acknowledged bytes or freed chunks give it room. */
void conn_wake_writer(struct tcp *t, struct conn *c);
void wake_blocked_writers(struct tcp *t);

/* ---- tcp_listen.c: segments of no connection ---- */

/* Returns the connection that a valid cookie in the segment opens, or NULL. */
struct conn *listen_input(struct tcp *t, struct arrival *a);
/* In TIME-WAIT: true if the segment is a SYN that has opened a new connection in the place of
 * old. */
bool listen_reopen(struct tcp *t, struct conn *old, struct arrival *a);

/* ---- tcp_cookie.c: handshakes without state ---- */

/* True if the SYN is deferred until its retransmission. */
bool syn_defer(struct tcp *t, const struct arrival *a);
void cookie_answer(struct tcp *t, const struct arrival *a);
/* Returns the connection that the cookie in this ACK opens, in SYN_RCVD; NULL: none. */
struct conn *cookie_open(struct tcp *t, const struct arrival *a);
/* For a half-open connection: a valid cookie of the same flow replaces it, since the peer
 * acknowledges that number; a SYN outside its window gets a cookie. Returns the segment's
 * connection, or NULL. */
struct conn *cookie_replace_half_open(struct tcp *t, struct conn *half_open,
				      const struct arrival *a);

/* ---- tcp_connect.c: connections that we open ---- */

/* Processes a segment of a connection in SYN_SENT. */
void connect_input(struct tcp *t, struct conn *c, struct arrival *a);
/* Handles crossed SYNs: turns the peer's SYN-ACK into the plain ACK that it stands for. */
void connect_simultaneous(struct tcp *t, struct conn *c, struct tcp_seg *seg);
/* Processes a segment without a connection on this core. True: it is the reply to a SYN of another
 * core. That core is notified, and the peer gets one RST. */
bool connect_other_core(struct tcp *t, const struct arrival *a);
/* Handles a SYN that was not answered, or a next hop that was not resolved. */
void connect_timeout(struct tcp *t, struct conn *c);

/* ---- tcp_pmtu.c: path MTU ---- */

/* Processes the reports of this turn, and those that other cores have shared. */
void pmtu_reports_poll(struct tcp *t);
/* Handles the c->tries-th retransmission timeout in a row. */
void pmtu_timeout(struct tcp *t, struct conn *c);
/* With CONN_PMTU_REDUCED or CONN_PMTU_BLACK_HOLE: restores long segments when their time has
 * come. */
void pmtu_check(struct tcp *t, struct conn *c);
/* A segment with len > PMTU_SAMPLE_MIN bytes of data that ends at `end` was sent; it becomes the
 * sample. */
void pmtu_sample(const struct tcp *t, struct conn *c, uint32_t end, uint32_t len);

static inline uint16_t
pmtu_tick(const struct tcp *t)
{
	return (uint16_t)(t->net.now_ns >> PMTU_TICK_SHIFT);
}

/* Prepares to sample the next segment that is long enough. */
static inline void
pmtu_sample_next(const struct tcp *t, struct conn *c)
{
	c->pmtu_sample_tick = (uint16_t)(pmtu_tick(t) - 1);
}

/* ---- tcp_ack.c: acknowledgments ---- */

enum step check_ack(struct tcp *t, struct conn *c, const struct arrival *a);

/* ---- tcp_out.c: segments ---- */

void out_reset(struct tcp *t, struct conn *c);
void out_challenge(struct tcp *t, struct conn *c);
/* Sends an ACK of what was received so far, before more is. */
void out_ack(struct tcp *t, struct conn *c);

/* ---- tcp_stateless.c: replies to segments of no connection ---- */

void out_stateless_rst(struct tcp *t, const struct arrival *a);
/* Sends a RST without a rate limit, for a reply to our own SYN: only we can cause it. */
void out_rst_of_own_syn(struct tcp *t, const struct arrival *a);
/* Sends a stateless reply to the MAC the segment came from, because an unknown peer must not cause
 * ARP requests. seg holds the reply's sequence numbers, flags and options. False: no room. */
bool out_stateless(struct tcp *t, const struct arrival *a, struct tcp_seg *seg);

/* ---- tcp_evict.c: memory pressure ---- */

void evict_create(struct tcp *t, struct region *region);
void evict_tick(struct tcp *t);
uint64_t evict_next(const struct tcp *t); /* time of the next scan; NEVER: none is due */

#endif

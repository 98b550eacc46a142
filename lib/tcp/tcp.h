/*
 * tcp.h - the stages of TCP, for lib/stack, and what its files share: an interface each.
 *
 * A segment's way: tcp_match (tcp_table.c) finds the connection; tcp_input (tcp_in.c) runs the
 * steps of RFC 9293 section 3.10.7.4; data goes into the receive queue (tcp_rx.c); the service
 * reads and writes (tcp_api.c); tcp_output (tcp_out.c) sends what is due; tcp_tick
 * (tcp_tick.c) makes things due.
 *
 * Thread: core-local.
 * Bounds: the constants here and in tcp_limits.h.
 */
#ifndef CLOCKOO_TCP_H
#define CLOCKOO_TCP_H

#include "tcp_core.h"
#include "tcp_flow.h"
#include "tcp_loss.h"
#include "tcp_rx.h"
#include "tcp_timer.h"

#include "wire/tcp_wire.h"

#define PROTOCOL_TCP 6

#define HALF_OPEN_MAX    1024u /* and at most half of conns_max; then SYNs get cookies */
#define TIMERS_PER_TURN  64u
#define RX_BACKLOG_TURNS 64u  /* of full bursts, in which timers wait: as long as a NIC's ring */
#define SEGS_PER_VISIT   16u  /* segments of one connection before the next has its turn */
#define MSS_SMALL        600u /* a connection with less is visited once a turn... */
#define MSS_PER_SEG      90u  /* ... for a segment for so many bytes of its MSS */
#define VISITS_PER_TURN  256u /* connections looked at by one tcp_output */
#define DRAIN_SLOTS      256u /* connections looked at by one tcp_drain */
#define BLOCKED_PER_TURN 16u
static_assert((CONN_MSS_MIN - TCP_TIMESTAMPS_BYTES) / MSS_PER_SEG > 0, "a visit sends a segment");

/* ---- the stages, for lib/stack ---- */

size_t tcp_bytes(const struct tcp_config *cfg, uint32_t rx_frames_max);
/* Fills *t, which is zero but for its net. */
void tcp_create(struct tcp *t, struct region *region, const struct tcp_config *cfg);
void tcp_match(struct tcp *t, const struct classified *in);
/* Owns the frames of in->tcp: each goes to a receive queue or the deferred-free list. */
void tcp_input(struct tcp *t, const struct classified *in);
void tcp_tick(struct tcp *t);
/* Before the first turn after a pause; begin_ns: when the turn before began. */
void tcp_paused(struct tcp *t, uint64_t begin_ns, uint64_t end_ns);
void tcp_output(struct tcp *t);
uint64_t tcp_next_timer(const struct tcp *t);
bool tcp_has_ready(const struct tcp *t);
bool tcp_drain(struct stack *s);
void tcp_abort_all(struct stack *s);

/* One received segment on its way through the steps. */
struct arrival {
	struct tcp_seg seg; /* trimmed to the window by process_data */
	struct frame *frame;
	uint8_t *start; /* of the frame */
	const uint8_t *src_mac;
	const struct l3_info *l3; /* who sent it, to which of our addresses */
	bool kept;                /* the frame went into a receive queue */
};

/* The largest segment in our MTU, without options. */
static inline uint32_t
mss_ours(const struct tcp *t, uint8_t local)
{
	return t->net.port->mtu - ip_header_bytes(local) - TCP_HEADER_BYTES;
}

/* Of a SYN or SYN-ACK, with a cookie or without: the ten segments that the peer may send at once
 * (RFC 6928). What it may send next is said in the ACK, when it is known whether requests wait. */
static inline uint32_t
syn_window(const struct tcp *t, uint8_t local)
{
	return min_u32(INITIAL_CWND_SEGS * mss_ours(t, local), UINT16_MAX);
}

static inline struct flow
flow_of_arrival(const struct arrival *a)
{
	return (struct flow){&a->l3->src_ip, a->seg.src_port, a->seg.dst_port, a->l3->local};
}

/* ---- tcp_conn.c: birth, states, death ---- */

/* Is the half-open table full, or are all slots taken? */
bool conn_half_open_full(const struct tcp *t);
/* A connection in SYN_RCVD, if need be in the slot of the oldest half-open one; NULL: refused, and
 * counted by reason. */
struct conn *conn_open(struct tcp *t, struct flow flow);
/* One in SYN_SENT, likewise. */
struct conn *conn_open_active(struct tcp *t, struct flow flow);
/* A pipe of that connection, opened: its peer and ports, but no flow (conn_pipe.h). */
struct conn *conn_open_pipe(struct tcp *t, const struct conn *wire);
/* Its reply is here, or it ends: in SYN_SENT other cores look out for it (pending_connects.h). */
void conn_not_pending(struct tcp *t, const struct conn *c);
void conn_established(struct tcp *t, struct conn *c);
void conn_fin_wait_2(struct tcp *t, struct conn *c);
void conn_time_wait(struct tcp *t, struct conn *c);
void conn_detach(struct tcp *t, struct conn *c);
/* To CLOSED, and the slot is free. gone() is called if opened() was. */
void conn_free(struct tcp *t, struct conn *c);
/* The same, with a RST to the peer. */
void conn_reset(struct tcp *t, struct conn *c);
/* The same, of one that was never opened: if we asked for it, failed() is called. */
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

/* Acknowledged bytes or freed chunks may let a refused writer go on. */
void conn_wake_writer(struct tcp *t, struct conn *c);
void wake_blocked_writers(struct tcp *t);

/* ---- tcp_listen.c: segments of no connection ---- */

/* The connection that the segment belongs to after all: its cookie came back; or NULL. */
struct conn *listen_input(struct tcp *t, struct arrival *a);
/* In TIME-WAIT: is this SYN a new connection? Then it has been opened. */
bool listen_reopen(struct tcp *t, struct conn *old, struct arrival *a);

/* ---- tcp_cookie.c: handshakes without state ---- */

/* Is this SYN deferred to its retransmission? */
bool syn_defer(struct tcp *t, const struct arrival *a);
void cookie_answer(struct tcp *t, const struct arrival *a);
/* The connection that the cookie in this ACK opens, in SYN_RCVD; NULL: none. */
struct conn *cookie_open(struct tcp *t, const struct arrival *a);
/* For a half-open connection: a valid cookie of the same flow replaces it, since the peer
 * acknowledges that number; a SYN outside its window gets a cookie. Returns the segment's
 * connection, or NULL. */
struct conn *cookie_replace_half_open(struct tcp *t, struct conn *half_open,
				      const struct arrival *a);

/* ---- tcp_connect.c: connections that we open ---- */

/* A segment in SYN_SENT. */
void connect_input(struct tcp *t, struct conn *c, struct arrival *a);
/* Two SYNs have crossed, and this is the SYN-ACK of the other: make it a plain ACK. */
void connect_simultaneous(struct tcp *t, struct conn *c, struct tcp_seg *seg);
/* A segment of no connection here. True: it is the reply to a SYN of another core, which is told
 * so, and the peer, too: once. */
bool connect_other_core(struct tcp *t, const struct arrival *a);
/* No answer came to our SYN, or the way there was not found. */
void connect_timeout(struct tcp *t, struct conn *c);

/* ---- tcp_pmtu.c: path MTU ---- */

/* Processes the reports of this turn, and those that other cores have shared. */
void pmtu_reports_poll(struct tcp *t);
/* A retransmission timeout, the c->tries-th in a row. */
void pmtu_timeout(struct tcp *t, struct conn *c);
/* With CONN_PMTU_REDUCED or CONN_PMTU_BLACK_HOLE: is it time to try longer ones again? */
void pmtu_check(struct tcp *t, struct conn *c);
/* len bytes of data, more than PMTU_SAMPLE_MIN, went out in one segment. */
void pmtu_sample(const struct tcp *t, struct conn *c, uint32_t end, uint32_t len);

static inline uint16_t
pmtu_tick(const struct tcp *t)
{
	return (uint16_t)(t->net.now_ns >> PMTU_TICK_SHIFT);
}

/* The next segment long enough is sampled. */
static inline void
pmtu_sample_next(const struct tcp *t, struct conn *c)
{
	c->pmtu_sample_tick = (uint16_t)(pmtu_tick(t) - 1);
}

/* ---- tcp_ack.c: what an acknowledgment does ---- */

enum step check_ack(struct tcp *t, struct conn *c, const struct arrival *a);

/* ---- tcp_out.c: segments ---- */

void out_reset(struct tcp *t, struct conn *c);
void out_challenge(struct tcp *t, struct conn *c);

/* ---- tcp_stateless.c: replies to segments of no connection ---- */

void out_stateless_rst(struct tcp *t, const struct arrival *a);
/* The same without a limit: who causes it are we. */
void out_rst_of_own_syn(struct tcp *t, const struct arrival *a);
/* Sends a stateless reply to the MAC the segment came from: an unknown peer must not cause ARP
 * requests. Sequence numbers, flags and options of seg are the reply's; false: no room. */
bool out_stateless(struct tcp *t, const struct arrival *a, struct tcp_seg *seg);

/* ---- tcp_evict.c: memory pressure ---- */

void evict_create(struct tcp *t, struct region *region);
void evict_tick(struct tcp *t);
uint64_t evict_next(const struct tcp *t); /* the next scan; NEVER: none */

#endif

/*
 * tcp.h - what the tcp_*.c files share: struct tcp, and one interface a file.
 *
 * A segment's way: tcp_match (tcp_table.c) finds the connection; tcp_input (tcp_in.c) runs the
 * steps of RFC 9293 section 3.10.7.4; data goes into the receive queue (tcp_rx.c); the service
 * reads and writes (tcp_api.c); tcp_output (tcp_out.c) sends what is due; tcp_tick
 * (tcp_timer.c) makes things due.
 *
 * Owner:  all memory is taken at tcp_create; connections, receive nodes and chunks are pools.
 * Thread: core-local, but for tcp_usage_mt (stack_core.h).
 * Bounds: cfg.conns_max, cfg.rx_frames_max, cfg.chunks, and the constants here.
 */
#ifndef CLOCKOO_TCP_H
#define CLOCKOO_TCP_H

#include "syn_history.h"
#include "tcp_conn.h"
#include "tcp_flow.h"
#include "tcp_loss.h"
#include "tcp_rx.h"
#include "tcp_timer.h"

#include "wire/tcp_wire.h"

#define HALF_OPEN_MAX   1024u /* and at most half of conns_max; then SYNs get cookies */
#define TIMERS_PER_TURN 64u
#define RX_BACKLOG_TURNS                                                                           \
	64u                   /* of full bursts, while which timers wait: as long as a NIC's ring  \
			       */
#define SEGS_PER_VISIT   16u  /* segments of one connection before the next has its turn */
#define VISITS_PER_TURN  256u /* connections looked at by one tcp_output */
#define RSTS_PER_LIMIT   10u  /* in RATE_LIMIT_NS: answers to segments of no connection... */
#define RST_LIMITS       32u  /* ... from a 32nd of all sources: 32,000 a second in all */
#define DRAIN_SLOTS      256u /* connections looked at by one tcp_drain */
#define BLOCKED_PER_TURN 16u
#define BUCKET_FLOWS     8u

/* Eight flows a cache line; a flow lies in one of two buckets (tcp_table.c). */
struct flow_bucket {
	uint32_t tag[BUCKET_FLOWS];         /* odd; 0: free */
	uint32_t slot_plus_1[BUCKET_FLOWS]; /* 0: free */
};
static_assert(sizeof(struct flow_bucket) == CACHE_LINE_BYTES, "a bucket is a line");

/* The progress that a connection must make (tcp_evict.c). */
struct stall {
	uint64_t recorded_ns; /* 0: never */
	uint32_t goal;
	uint8_t kind; /* enum evict_kind: what the goal measures */
};

/* Watermarks: what is left of each pool when pressure begins or ends. */
struct watermarks {
	uint32_t chunks, bufs, frames;
};

struct evict {
	struct watermarks begins, ends;
	struct stall *stalls; /* of each slot */
	uint64_t since_ns;    /* this shortage; 0: there is none */
	uint64_t pressure_ns; /* when the service last was short of what queues hold */
	uint64_t evicted_ns;  /* the last one */
	uint32_t slot;        /* next to be scanned */
	bool sendq_short, frames_short, pressure; /* what is short */
};

/* The flags in mask that a connection must have for the fast path (tcp_fast_path.c). FAST_PATH_OFF
 * is never met. */
struct fast_path_rule {
	uint32_t mask, want;
};

#define FAST_PATH_OFF ((struct fast_path_rule){.mask = 0, .want = 1})

struct tcp {
	struct conn *conns;
	struct fast_path_rule fast_path_in, fast_path_out;
	uint32_t neigh_generation; /* in the neighbour table, as of this turn's output... */
	uint32_t hop_tick;         /* ... and its time: struct conn_hop */
	uint32_t hop_cache_off;    /* 0; all ones, in tests: no hop is cached */
	struct flow_bucket *buckets;
	uint32_t bucket_mask;
	uint32_t half_open_count, half_open_max, time_wait_count;
	uint32_t active_count; /* connections of conn_connect(): their local ports are any */
	uint32_t port_next;    /* RFC 6056 section 3.3.3 */
	uint32_t *source_cell; /* of each slot, in cfg.sources; NULL without */
	uint64_t cookie_ns;    /* when the last cookie went out; 0: never */
	uint64_t turns;        /* of tcp_input */
	struct syn_budget syn_budget;
	struct syn_history syns; /* cfg.syn_lines: deferred SYNs */

	struct list ready, out, blocked;
	struct list free, half_open, fin_wait /* FIN-WAIT-2 */, time_wait; /* oldest first */

	struct list ooo_list;   /* connections with out-of-order data, the longest without progress
				   first */
	struct rx_seg *rx_free; /* nodes without a frame */
	uint32_t rx_left;       /* that many */
	uint32_t rx_ooo_frames; /* frames that hold out-of-order data */
	struct sendq_pool pool;
	struct rcv_autotune rcv_autotune;
	struct evict evict;
	struct scoreboard_pool scoreboard_pool;

	struct rate_limit resets[RST_LIMITS], pmtu_limit;
	uint64_t pmtu_cursor;      /* in cfg.pmtu_reports */
	uint32_t rx_backlog_turns; /* in succession, up to RX_BACKLOG_TURNS */
	bool draining;
	uint32_t drain_slot; /* where the walk over all connections stands */

	/* tcp_usage_mt reads these from other threads: this turn's figures, relaxed */
	_Atomic uint32_t conns_used, chunks_used, frames_held;
	_Atomic uint32_t conns_open; /* the same, but as it is now: those the service knows */
	uint32_t conns_count;        /* slots not free */
	struct wheel wheel;
};

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
mss_ours(const struct stack *s, uint8_t local)
{
	return s->port->mtu - ip_header_bytes(local) - TCP_HEADER_BYTES;
}
static inline struct flow
flow_of_arrival(const struct arrival *a)
{
	return (struct flow){&a->l3->src_ip, a->seg.src_port, a->seg.dst_port, a->l3->local};
}

/* ---- tcp_conn.c: birth, states, death ---- */

/* Is the half-open table full, or are all slots taken? */
bool conn_half_open_full(const struct stack *s);
/* A connection in SYN_RCVD, if need be in the slot of the oldest half-open one; NULL: refused, and
 * counted by reason. */
struct conn *conn_open(struct stack *s, struct flow flow);
/* One in SYN_SENT, likewise. */
struct conn *conn_open_active(struct stack *s, struct flow flow);
void conn_established(struct stack *s, struct conn *c);
void conn_fin_wait_2(struct stack *s, struct conn *c);
void conn_time_wait(struct stack *s, struct conn *c);
void conn_detach(struct stack *s, struct conn *c);
/* To CLOSED, and the slot is free. gone() is called if opened() was. */
void conn_free(struct stack *s, struct conn *c);
/* The same, with a RST to the peer. */
void conn_reset(struct stack *s, struct conn *c);
/* The same, of one that was never opened: if we asked for it, failed() is called. */
void conn_fail(struct stack *s, struct conn *c, enum conn_failure why);

static inline void
conn_make_ready(struct stack *s, struct conn *c)
{
	if ((c->flags & (CONN_OPENED | CONN_CLOSE)) == CONN_OPENED && list_empty(&c->ready))
		list_push_back(&s->tcp->ready, &c->ready);
}

static inline void
conn_schedule_output(struct stack *s, struct conn *c)
{
	if (list_empty(&c->out))
		list_push_back(&s->tcp->out, &c->out);
}

static inline void
conn_ack_now(struct stack *s, struct conn *c)
{
	c->flags |= CONN_ACK_NOW;
	conn_schedule_output(s, c);
}

/* Acknowledged bytes or freed chunks may let a refused writer go on. */
void conn_wake_writer(struct stack *s, struct conn *c);
void wake_blocked_writers(struct stack *s);

/* ---- tcp_listen.c: segments of no connection ---- */

/* The connection that the segment belongs to after all: its cookie came back; or NULL. */
struct conn *listen_input(struct stack *s, struct arrival *a);
/* In TIME-WAIT: is this SYN a new connection? Then it has been opened. */
bool listen_reopen(struct stack *s, struct conn *old, struct arrival *a);

/* ---- tcp_cookie.c: handshakes without state ---- */

/* Is this SYN deferred to its retransmission? */
bool syn_defer(struct stack *s, const struct arrival *a);
void cookie_answer(struct stack *s, const struct arrival *a);
/* The connection that the cookie in this ACK opens, in SYN_RCVD; NULL: none. */
struct conn *cookie_open(struct stack *s, const struct arrival *a);
/* For a half-open connection: a valid cookie of the same flow replaces it, since the peer
 * acknowledges that number; a SYN outside its window gets a cookie. Returns the segment's
 * connection, or NULL. */
struct conn *cookie_replace_half_open(struct stack *s, struct conn *half_open,
				      const struct arrival *a);

/* ---- tcp_connect.c: connections that we open ---- */

/* A segment in SYN_SENT. */
void connect_input(struct stack *s, struct conn *c, struct arrival *a);
/* Two SYNs have crossed, and this is the SYN-ACK of the other: make it a plain ACK. */
void connect_simultaneous(struct stack *s, struct conn *c, struct tcp_seg *seg);
/* No answer came to our SYN, or the way there was not found. */
void connect_timeout(struct stack *s, struct conn *c);

/* ---- tcp_pmtu.c: path MTU ---- */

/* Processes the reports of this turn, and those that other cores have shared. */
void pmtu_reports_poll(struct stack *s);
/* A retransmission timeout, the c->tries-th in a row. */
void pmtu_timeout(struct stack *s, struct conn *c);
/* With CONN_PMTU_REDUCED or CONN_PMTU_BLACK_HOLE: is it time to try longer ones again? */
void pmtu_check(struct stack *s, struct conn *c);
/* len bytes of data, more than PMTU_SAMPLE_MIN, went out in one segment. */
void pmtu_sample(const struct stack *s, struct conn *c, uint32_t end, uint32_t len);

static inline uint16_t
pmtu_tick(const struct stack *s)
{
	return (uint16_t)(s->now_ns >> PMTU_TICK_SHIFT);
}

/* The next segment long enough is sampled. */
static inline void
pmtu_sample_next(const struct stack *s, struct conn *c)
{
	c->pmtu_sample_tick = (uint16_t)(pmtu_tick(s) - 1);
}

/* ---- tcp_ack.c: what an acknowledgment does ---- */

enum step check_ack(struct stack *s, struct conn *c, const struct arrival *a);

/* ---- tcp_out.c: segments ---- */

void out_reset(struct stack *s, struct conn *c);
void out_stateless_rst(struct stack *s, const struct arrival *a);
void out_challenge(struct stack *s, struct conn *c);
/* Sends a stateless reply to the MAC the segment came from: an unknown peer must not cause ARP
 * requests. Sequence numbers, flags and options of seg are the reply's; false: no room. */
bool out_stateless(struct stack *s, const struct arrival *a, struct tcp_seg *seg);

/* ---- tcp_evict.c: memory pressure ---- */

void evict_create(struct evict *e, struct region *region, const struct stack_config *cfg);
void evict_tick(struct stack *s);
uint64_t evict_next(const struct stack *s); /* the next scan; NEVER: none */

#endif

/*
 * tcp_core.h - struct tcp: TCP of one core, over its net.
 *
 * Shape:  the net is its first member, so that one pointer serves for both (net_core.h).
 * Owner:  all memory is taken at tcp_create; connections, receive nodes and chunks are pools.
 * Thread: core-local.
 * Bounds: cfg.conns_max, net.cfg.rx_frames_max, cfg.chunks, and the constants here.
 */
#ifndef CLOCKOO_TCP_CORE_H
#define CLOCKOO_TCP_CORE_H

#include "lending.h"
#include "syn_history.h"
#include "tcp_conn.h"

/* Answers in RATE_LIMIT_NS to segments of no connection, for one group of sources. */
#define RSTS_PER_LIMIT         10u
#define RST_LIMITS             32u /* groups of sources, so 32,000 answers a second in all */
#define RCV_AUTOTUNE_CONNS_MAX 64u /* connections whose window is wider than RX_WINDOW_BYTES */
#define BUCKET_FLOWS           8u
#define PORT_COUNTERS          64u

/* Eight flows a cache line; a flow lies in one of two buckets (tcp_table.c). */
struct flow_bucket {
	uint32_t tag[BUCKET_FLOWS];         /* odd; 0: free */
	uint32_t slot_plus_1[BUCKET_FLOWS]; /* 0: free */
};
static_assert(sizeof(struct flow_bucket) == CACHE_LINE_BYTES, "a bucket is a line");

struct rcv_autotune {
	uint64_t waiting_until_ns; /* end of the limit RX_WINDOW_WAITING; 0: no limit */
	uint64_t bytes, bytes_max; /* window beyond RX_WINDOW_BYTES, sum of all connections */
	uint32_t window_max;       /* of one connection: what wscale can express */
	uint32_t wscale;           /* that all connections offer */
	uint32_t unit;             /* of a scaled window, minus one: it is rounded up */
	uint32_t taken_us;         /* when connections were last shrunk in favour of others */
	uint32_t count;
	uint32_t slot[RCV_AUTOTUNE_CONNS_MAX]; /* slots of those connections, in no order */
};

/* A connection's membership in the shortages of each pool (base/budget.h). */
struct conn_places {
	struct budget_place chunks, pieces, frames;
	uint32_t behind; /* conn_holds_behind() */
	uint32_t kept;   /* conn_holds_chunk() */
};

/* Connections that were lent frames in this turn (tcp_rx.c). */
struct rx_lent {
	uint32_t count;
	uint32_t slot[BURST_MAX];
};

/* The progress that a connection must make while memory is short (tcp_evict.c). */
struct stall {
	uint32_t recorded_us;
	uint32_t sent;           /* snd_una when recorded */
	uint32_t held, held_end; /* bytes queued when first recorded, and their end */
	uint32_t received_goal;
	uint16_t shortage; /* shortage in which it was recorded; 0: never */
	uint8_t kinds;     /* of enum evict_kind: the scarce memory that it held */
};

struct evict {
	struct stall *stalls; /* one for each slot */
	uint64_t since_ns;    /* start of this shortage; 0: there is none */
	uint64_t pressure_ns; /* last report of the service in EVICT_OBSERVE_NS; else 0 */
	uint64_t evicted_ns;  /* when a connection was last evicted */
	/* Required progress in EVICT_STALL_US is 1/part of what is held, from that report. */
	uint32_t part;
	uint32_t slot;     /* slot to be scanned next */
	uint16_t shortage; /* number of this shortage, from 1; wraps */
};

/* The process was paused between these two turns, most recently. */
struct pause {
	uint64_t begin_ns, ns;
	uint64_t turns; /* tcp->turns at the end of the pause */
};

/* A connection takes the fast path if its flags under mask equal the rule (tcp_fast_path.c). No
 * connection meets FAST_PATH_OFF. */
struct fast_path_rule {
	uint32_t mask, want;
};

#define FAST_PATH_OFF ((struct fast_path_rule){.mask = 0, .want = 1})

struct tcp {
	struct net net; /* the layer below: frames, addresses, time, counters */
	struct tcp_config cfg;
	struct stack_user user;
	struct conn *conns;
	struct conn *matched[BURST_MAX]; /* the likely connection of each frame; NULL: none */
	struct fast_path_rule fast_path_in, fast_path_out;
	/* Generation of the neighbour table at the start of this turn's output. */
	uint32_t neigh_generation;
	uint32_t hop_tick;      /* time of this turn's output, in ticks of struct conn_hop */
	uint32_t hop_cache_off; /* normally 0; all ones in tests: no hop is cached */
	struct flow_bucket *buckets;
	uint32_t bucket_mask;
	uint32_t half_open_count, half_open_max, time_wait_count;
	uint32_t active_count; /* connections of conn_connect(), which may have any local port */
	uint32_t port_next[PORT_COUNTERS]; /* RFC 6056 section 3.3.4 */
	/* For each slot: the other half's slot plus 1 (conn_pipe.h), with PIPE_SLOT for that of a
	 * pipe; NULL without pipes. */
	uint32_t *mates;
	uint32_t *source_cell; /* for each slot: its cell in cfg.sources; NULL without a limit */
	uint64_t cookie_ns;    /* when the last cookie was sent; 0: never */
	uint64_t turns;        /* calls of tcp_input */
	struct pause pause;
	struct syn_budget syn_budget;
	struct syn_history syns; /* deferred SYNs, in cfg.syn_lines lines */

	struct list ready, out, blocked;
	struct list out_later; /* connections that join `out` in the next turn */
	struct list free, half_open, fin_wait /* FIN-WAIT-2 */, time_wait; /* oldest first */
	struct list leaving; /* closed by the service, with unacknowledged data; oldest first */

	/* Connections with out-of-order data; the longest without progress is first. */
	struct list ooo_list;
	struct rx_seg *rx_free; /* nodes without a frame */
	struct budget frames;   /* receive nodes, and as many frames of the port */
	uint32_t rx_ooo_frames; /* frames that hold out-of-order data */
	struct rx_lent lent;
	struct sendq_pool pool;
	struct conn_places *places; /* one for each slot */
	struct rcv_autotune rcv_autotune;
	struct evict evict;
	struct scoreboard_pool scoreboard_pool;

	struct rate_limit resets[RST_LIMITS], pmtu_limit;
	uint64_t pmtu_cursor;      /* position in cfg.pmtu_reports */
	uint32_t rx_backlog_turns; /* full bursts in succession, up to RX_BACKLOG_TURNS */
	bool draining;
	uint8_t refusal;     /* enum conn_refusal */
	uint32_t drain_slot; /* position of the walk over all connections */

	/* figures of this turn for stack_usage_mt, which other threads call; relaxed */
	_Atomic uint32_t conns_used, chunks_used, frames_held;
	_Atomic uint32_t conns_open; /* connections that the service knows at this moment */
	/* Connections in each state at this moment. CLOSED wraps: slots never used are not
	 * counted. */
	_Atomic uint32_t in_state[CONN_STATE_COUNT];
	uint32_t conns_count; /* slots not free */
	struct wheel wheel;
	bool lends; /* the port takes loans and fills checksums, and the user allows it */
	struct lending lending;
};

static_assert(STACK_COUNTER_COUNT <= NET_COUNTER_COUNT + NET_TRANSPORT_COUNTERS_MAX,
	      "they follow the net's");

static inline bool
tcp_listens(const struct tcp *t, uint16_t port)
{
	if (port != 0 && (port == t->cfg.port || port == t->cfg.other_port))
		return true;
	for (uint32_t i = 0; i < t->cfg.more_count; i++)
		if (port == t->cfg.more_ports[i])
			return true;
	return false;
}

static inline void
tcp_count(struct tcp *t, enum tcp_counter which)
{
	counter_add(&t->net.counters[which], 1);
}

static inline void
in_state_add(struct tcp *t, uint32_t state, uint32_t n)
{
	const uint32_t now = atomic_load_explicit(&t->in_state[state], memory_order_relaxed);

	atomic_store_explicit(&t->in_state[state], now + n, memory_order_relaxed);
}

static inline void
conn_state_set(struct tcp *t, struct conn *c, enum conn_state state)
{
	in_state_add(t, c->state, UINT32_MAX);
	in_state_add(t, state, 1);
	c->state = state;
}

/* Returns the TCP of a handle, which is its first member. */
static inline struct tcp *
stack_tcp(const struct stack *s)
{
	return (struct tcp *)(void *)s;
}

/* ---- pipes (conn_pipe.h) ---- */

#define PIPE_SLOT (1u << 31)

/* Returns the other half of a pipe or its wire; NULL: there is none. */
static inline struct conn *
pipe_mate(const struct tcp *t, const struct conn *c)
{
	const uint32_t mate = t->mates != NULL ? t->mates[c->slot] & ~PIPE_SLOT : 0;

	return mate != 0 ? &t->conns[mate - 1] : NULL;
}

static inline bool
pipe_is(const struct tcp *t, const struct conn *c)
{
	return t->mates != NULL && (t->mates[c->slot] & PIPE_SLOT) != 0;
}

/* Returns how many connections peers may have. */
static inline uint32_t
peers_max(const struct tcp *t)
{
	return t->cfg.conns_max - t->cfg.active_reserve;
}

/* The data queued for a peer: by its connection, or by a wire and its pipe together. */
struct peer_queue {
	struct conn *c; /* TCP's: a pipe's wire */
	uint32_t bytes, pieces;
	uint32_t chunks; /* and those that the service holds of the peer's requests */
};

static inline struct peer_queue
peer_queue_of(const struct tcp *t, struct conn *c)
{
	struct conn *mate = pipe_mate(t, c);
	struct peer_queue q = {c, c->tx.bytes, c->tx.pieces,
			       c->tx.chunks + t->places[c->slot].kept};

	if (mate == NULL)
		return q;
	q.c = pipe_is(t, c) ? mate : c;
	q.bytes += mate->tx.bytes;
	q.chunks += mate->tx.chunks + t->places[mate->slot].kept;
	q.pieces += mate->tx.pieces;
	return q;
}

/* Separates a pipe and its wire when one of them ends. */
static inline void
pipe_part(struct tcp *t, const struct conn *c)
{
	const struct conn *mate = pipe_mate(t, c);

	t->mates[c->slot] = 0;
	if (mate != NULL)
		t->mates[mate->slot] = 0;
}

#endif

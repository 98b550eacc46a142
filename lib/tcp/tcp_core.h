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

#include "syn_history.h"
#include "tcp_conn.h"

#define RSTS_PER_LIMIT         10u /* in RATE_LIMIT_NS: answers to segments of no connection... */
#define RST_LIMITS             32u /* ... from a 32nd of all sources: 32,000 a second in all */
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
	uint64_t waiting_until_ns; /* no more than RX_WINDOW_WAITING is advertised; 0: ever */
	uint64_t bytes, bytes_max; /* beyond RX_WINDOW_BYTES, of all connections */
	uint32_t taken_us;         /* when others were last shrunk */
	uint32_t count;
	uint32_t slot[RCV_AUTOTUNE_CONNS_MAX]; /* those connections, unordered */
};

/* A connection's part in the shortages of each pool (base/budget.h). */
struct conn_places {
	struct budget_place chunks, pieces, frames;
	uint32_t behind; /* conn_holds_behind() */
};

/* Connections whose in-order data has taken frames in this turn, while these are short. */
struct rx_lent {
	uint32_t count;
	uint32_t slot[BURST_MAX];
};

/* The progress that a connection must make (tcp_evict.c). */
struct stall {
	uint32_t recorded_us;
	uint32_t sent;           /* snd_una then */
	uint32_t held, held_end; /* what it had queued when first recorded, and the end of that */
	uint32_t received_goal;
	uint16_t shortage; /* in which it was recorded; 0: never */
	uint8_t kinds;     /* of enum evict_kind: what was held */
};

struct evict {
	struct stall *stalls; /* of each slot */
	uint64_t since_ns;    /* this shortage; 0: there is none */
	uint64_t pressure_ns; /* when the service last was short of what queues hold */
	uint64_t evicted_ns;  /* the last one */
	uint32_t part;        /* of what is held, each EVICT_STALL_US, says that report */
	uint32_t slot;        /* next to be scanned */
	uint16_t shortage;    /* number of this shortage, from 1; wraps */
	bool sendq_short, frames_short, pressure; /* what is short */
};

/* The last pause of the process: times of two successive turns. */
struct pause {
	uint64_t begin_ns, ns;
	uint64_t turns; /* tcp->turns then */
};

/* The flags in mask that a connection must have for the fast path (tcp_fast_path.c). FAST_PATH_OFF
 * is never met. */
struct fast_path_rule {
	uint32_t mask, want;
};

#define FAST_PATH_OFF ((struct fast_path_rule){.mask = 0, .want = 1})

struct tcp {
	struct net net; /* below: frames, addresses, time, counters */
	struct tcp_config cfg;
	struct stack_user user;
	struct conn *conns;
	struct conn *matched[BURST_MAX]; /* by frame: the likely connection; NULL: none */
	struct fast_path_rule fast_path_in, fast_path_out;
	uint32_t neigh_generation; /* in the neighbour table, as of this turn's output... */
	uint32_t hop_tick;         /* ... and its time: struct conn_hop */
	uint32_t hop_cache_off;    /* 0; all ones, in tests: no hop is cached */
	struct flow_bucket *buckets;
	uint32_t bucket_mask;
	uint32_t half_open_count, half_open_max, time_wait_count;
	uint32_t active_count; /* connections of conn_connect(): their local ports are any */
	uint32_t port_next[PORT_COUNTERS]; /* RFC 6056 section 3.3.4 */
	uint32_t *mates; /* of each slot: the other half's, plus 1 (conn_pipe.h); NULL without */
	uint32_t *source_cell; /* of each slot, in cfg.sources; NULL without */
	uint64_t cookie_ns;    /* when the last cookie went out; 0: never */
	uint64_t turns;        /* of tcp_input */
	struct pause pause;
	struct syn_budget syn_budget;
	struct syn_history syns; /* cfg.syn_lines: deferred SYNs */

	struct list ready, out, blocked;
	struct list out_later; /* of out, for the next turn */
	struct list free, half_open, fin_wait /* FIN-WAIT-2 */, time_wait; /* oldest first */
	struct list leaving; /* closed, and not all of it acknowledged: oldest first */

	struct list ooo_list;   /* connections with out-of-order data, the longest without progress
				   first */
	struct rx_seg *rx_free; /* nodes without a frame */
	struct budget frames;   /* those nodes, and as many frames of the port */
	uint32_t rx_ooo_frames; /* frames that hold out-of-order data */
	struct rx_lent lent;
	struct sendq_pool pool;
	struct conn_places *places; /* of each slot */
	struct rcv_autotune rcv_autotune;
	struct evict evict;
	struct scoreboard_pool scoreboard_pool;

	struct rate_limit resets[RST_LIMITS], pmtu_limit;
	uint64_t pmtu_cursor;      /* in cfg.pmtu_reports */
	uint32_t rx_backlog_turns; /* in succession, up to RX_BACKLOG_TURNS */
	bool draining;
	uint32_t drain_slot; /* where the walk over all connections stands */

	/* stack_usage_mt reads these from other threads: this turn's figures, relaxed */
	_Atomic uint32_t conns_used, chunks_used, frames_held;
	_Atomic uint32_t conns_open; /* the same, but as it is now: those the service knows */
	_Atomic uint32_t in_state[CONN_STATE_COUNT]; /* likewise; CLOSED wraps: it counts no slots
							that were never used */
	uint32_t conns_count;                        /* slots not free */
	struct wheel wheel;
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

/* The TCP of a handle, which begins with it. */
static inline struct tcp *
stack_tcp(const struct stack *s)
{
	return (struct tcp *)(void *)s;
}

/* ---- pipes (conn_pipe.h) ---- */

/* The other half of a pipe or its wire; NULL: there is none. */
static inline struct conn *
pipe_mate(const struct tcp *t, const struct conn *c)
{
	const uint32_t mate = t->mates != NULL ? t->mates[c->slot] : 0;

	return mate != 0 ? &t->conns[mate - 1] : NULL;
}

static inline bool
pipe_is(const struct tcp *t, const struct conn *c)
{
	return pipe_mate(t, c) != NULL && (c->flags & CONN_ACTIVE) != 0;
}

/* One half ends: the other has no mate any more. */
static inline void
pipe_part(struct tcp *t, const struct conn *c)
{
	const struct conn *mate = pipe_mate(t, c);

	t->mates[c->slot] = 0;
	if (mate != NULL)
		t->mates[mate->slot] = 0;
}

#endif

/*
 * load_internal.h - shared by load_core.c, load_udp.c and load_tcp.c. Private to tests/load.
 *
 * Thread: core-local, except issued, cancelled, done and command (load_core.h).
 */
#ifndef CLOCKOO_LOAD_INTERNAL_H
#define CLOCKOO_LOAD_INTERNAL_H

#include "load_core.h"

#include "base/prefetch.h"

#include <stdatomic.h>

#define RESOLVE_EVERY_NS    1000000000ull /* interval of lookups of the server's MAC */
#define CONNECT_WAIT_NS     5000000000ull /* a run begins then without missing connections */
#define CLOSE_NS            100000000ull  /* longest wait for answers to our FINs */
#define CONNECTS_A_TURN     32u
#define REQUESTS_A_TURN     512u /* most requests of a turn, as the transmit queue has room for */
#define OVERDUE_TURNS       16u  /* turns between two checks for overdue requests */
#define OVERDUE_AT_ONCE     64u  /* flights or connections checked at a time */
#define QUARANTINE_TIMEOUTS 4u
#define QUARANTINE_MAX      (LOAD_WINDOW_MAX / 2)
#define FILL_TRIES          20u
#define UDP_SLOT_MASK       (LOAD_WINDOW_MAX - 1)
#define UDP_ID_STEP         LOAD_WINDOW_MAX /* added to a slot's ID for its next use */
#define LOAD_WRITES_A_TRY   16u             /* most reservations taken of a connection at a time */

struct flight {
	uint64_t due_ns;  /* when it was due: latency counts from here */
	uint64_t sent_ns; /* when it was sent, for the timeout; in a slot in quarantine: its end */
	uint32_t version; /* version of a set's value */
	uint16_t id;      /* UDP */
	uint8_t op;       /* enum load_op */
	uint8_t tries;    /* UDP: 0 is a free slot */
};

/* The state of a reply over UDP, one for each flight. */
struct udp_reply {
	struct reply_reader reader;
	uint16_t sequence; /* sequence number of the next datagram */
};

struct load_conn {
	struct conn *c; /* NULL: closed */
	bool open;      /* opened() was called, and we have not closed it */
	bool queued;    /* in the ring of connections that may send */
	bool writing;   /* a value is only partly in the send queue */
	uint32_t head, count;
	uint64_t retry_at_ns;
	struct item_value value; /* the value being written */
	struct reply_reader reader;
};

enum load_step {
	STEP_DONE,
	STEP_CONNECT, /* TCP: waiting for connections */
	STEP_RUN,
	STEP_DRAIN, /* nothing more is sent; replies are awaited */
	STEP_CLOSE,
};

struct load_core {
	struct load_config cfg;
	const struct workload *w;
	struct port *port;
	struct stack *stack;
	uint64_t now_ns;
	bool moved;

	/* The controlling thread writes command, then issued. The core reads command when issued
	 * has changed, and sets done to issued at the end. */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t issued;
	_Atomic uint32_t cancelled; /* the command that must end early */
	struct load_command command;
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t done;

	_Alignas(CACHE_LINE_BYTES) enum load_step step;
	struct load_rng rng;
	struct schedule schedule;
	bool open_loop;
	uint64_t begun_ns;            /* when the command was taken */
	uint64_t from_ns, end_ns;     /* requests due between them are measured */
	uint64_t requests_left;       /* requests that may still be sent */
	uint32_t fill_next, fill_end; /* keys */
	uint32_t in_flight;
	uint32_t turns;
	uint32_t head_bytes; /* most bytes of a request, without a value */

	struct flight *flights;
	uint32_t *keys; /* multiget keys for each flight */

	/* UDP */
	struct udp_peer peer;
	struct udp_flow *flows; /* one for each port of ours */
	bool resolved;
	uint64_t resolve_at_ns;
	uint32_t free_count, overdue_at;
	uint16_t *free; /* slots */
	struct udp_reply *replies;
	uint16_t *quarantine; /* slots whose last request was lost, oldest first: a ring */
	uint32_t quarantine_head, quarantine_count;

	/* TCP */
	struct load_conn *conns;
	uint16_t ring_depth; /* flights of one connection; a power of two */
	uint32_t *slot_conn; /* the stack's slot -> our connection */
	uint32_t *ring;      /* connections that may send, oldest first */
	uint32_t ring_head, ring_count;
	uint32_t open_count, alive_count, connect_at;

	struct classified in;
	struct load_result result;
};

/* ---- load_core.c ---- */

/* True if one more request may be sent now. */
static inline bool
load_may_send(const struct load_core *c)
{
	if (c->step != STEP_RUN)
		return false;
	if (c->command.task == LOAD_FILL)
		return c->fill_next < c->fill_end;
	return c->requests_left != 0 &&
	       (!c->open_loop || schedule_due_ns(&c->schedule) <= c->now_ns);
}

static inline struct counter *
load_counters_for(struct load_core *c, const struct flight *f)
{
	return f->due_ns >= c->from_ns && f->due_ns < c->end_ns ? c->result.measured
								: c->result.all;
}

/* Draws the next request into f and its keys. Returns it. */
struct request load_next_request(struct load_core *c, struct flight *f, uint32_t *keys);
/* Returns the request of a flight under way. */
struct request load_request_of(const struct load_core *c, const struct flight *f, uint32_t *keys);
/* Ends a flight that was answered. */
void load_finish(struct load_core *c, const struct flight *f);

/* ---- load_udp.c ---- */

size_t load_udp_bytes(const struct load_config *cfg);
void load_udp_create(struct load_core *c, struct region *region);
void load_udp_receive(struct load_core *c);
void load_udp_send(struct load_core *c);
void load_udp_overdue(struct load_core *c);

/* ---- load_tcp.c ---- */

size_t load_tcp_bytes(const struct load_config *cfg);
void load_tcp_create(struct load_core *c, struct region *region);
void load_tcp_receive(struct load_core *c);
void load_tcp_send(struct load_core *c);
void load_tcp_overdue(struct load_core *c);
/* Opens the missing connections of command.conns; closes those beyond it. */
void load_tcp_connect(struct load_core *c);
void load_tcp_close(struct load_core *c);

#endif

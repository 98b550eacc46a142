/*
 * tls_inside.h - definitions shared by the files of a core's TLS connections.
 *
 * Shape:  a connection is in `waiting` until its hello is whole and its first step begins. Then it
 *         has a place: it is in `unproven` until it has been answered, in `handshakes` until its
 *         handshake is complete. A connection that has yielded its place is in `waiting` again, for
 *         its end. `due` is in the list of those that the next turn visits, or in `begins` or
 *         `steps` while the connection waits for a step.
 * Thread: core-local.
 */
#ifndef CLOCKOO_TLS_INSIDE_H
#define CLOCKOO_TLS_INSIDE_H

#include "base/budget.h"
#include "base/list.h"
#include "tls_conns.h"
#include "tls_wire.h"

struct tls_conn {
	struct conn *wire, *pipe;  /* NULL: none. The pipe opens after the handshake */
	struct tls_stream *stream; /* NULL: no step was made yet */
	uint64_t since_ns;         /* when it entered the list that `handshake` is in */
	uint64_t answered_ns;      /* when its handshake was last answered; 0: not yet */
	uint64_t deferred_ns;      /* when it entered `begins` */
	struct list handshake; /* its link in `waiting`, `unproven`, `handshakes` or `leaving` */
	struct budget_place place; /* held from a complete hello to the end of the handshake */
	struct list due; /* its link in the list for the next turn, or in `begins` or `steps` */
	uint64_t looked; /* number of the turn of the last visit */
	uint64_t rests;  /* number of the turn in which it gets no further visit */
	uint32_t rekeys, rekeys_early;
	uint64_t read, rekeyed_at; /* bytes of requests so far, and at the last key update */
	bool ended;                /* no further bytes will arrive */
	bool deferred;             /* it waits for a step, in `begins` or `steps` */
	bool yielded;              /* its place was taken; it ends when its peer speaks */
	bool leaving;              /* its session has ended, and its last bytes are not sent yet */
};

struct tls_conns {
	struct tls_conns_config cfg;
	struct serve *serve;
	struct stack *stack;
	struct tls_conn *of_slot;         /* the connection of each slot of a wire */
	uint32_t *wire_of;                /* for each slot of a pipe: the wire's slot plus 1 */
	struct list waiting;              /* the oldest first */
	struct list unproven, handshakes; /* the longest without progress first */
	struct budget places;
	uint64_t taken_ns;   /* when a place was last taken */
	struct list leaving; /* the longest without progress first */
	struct list due;
	struct list begins; /* waiting for a first step: the newest first */
	struct list steps;  /* waiting for a further step: the oldest first */
	uint64_t turns;
	uint32_t kept;     /* chunks reserved for wires */
	uint32_t kept_now; /* how many of them are left in this turn */
	struct tls_context *context;
	uint64_t now_ns;
	/* Length and end of the last handshake step, and the requests served until then; 0:
	 * unknown. */
	uint64_t step_ns, step_ends_ns;
	uint64_t step_requests;
	bool stepped;     /* a step was made in this turn */
	bool begun_last;  /* the last step was made for `begins` */
	uint32_t rekeys;  /* key updates in this turn */
	uint32_t records; /* records read in this turn */
	struct tls_wire_io io;
	_Alignas(CACHE_LINE_BYTES) struct counter counters[TLS_COUNTER_COUNT];
};

static inline void
tls_count(struct tls_conns *tc, enum tls_counter which)
{
	counter_add(&tc->counters[which], 1);
}

/* Ends the wire with a FIN, after the bytes that are queued: an alert, or the last reply. */
void tls_finish(struct tls_conns *tc, struct tls_conn *t);
void tls_handshake_failed(struct tls_conns *tc, struct tls_conn *t);
/* Removes the connection from the lists of handshakes. */
void tls_handshake_leave(struct tls_conns *tc, struct tls_conn *t);

/* True if a place is free, or can be taken from a connection now. */
bool tls_place_is_available(const struct tls_conns *tc);
/* Returns the next connection of `begins`, which is not empty: the oldest if it has waited for less
 * than TLS_IN_ORDER_NS. Otherwise the newest whose source has no more than its part, or the newest
 * if there is no such one. */
struct list *tls_begin_next(struct tls_conns *tc);
/* True if this turn may make a step: at most one a turn, and at most half of the time while
 * requests are served. */
bool tls_step_is_allowed(const struct tls_conns *tc);
/* Makes a step of the handshake, or queues it for one. False if the connection has ended. */
bool tls_handshake_go_on(struct tls_conns *tc, struct tls_conn *t);

#endif

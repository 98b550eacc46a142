/*
 * tls_inside.h - what the files of a core's TLS connections share.
 *
 * Shape:  a connection is in `waiting` until its hello is whole and its first step begins. Then it
 *         has a place: it is in `unproven` until it has been answered, in `handshakes` until its
 *         handshake is complete. A connection that has yielded its place is in `waiting` again, for
 *         its end. `due` is in the list of those that the next turn looks at, or in `begins` or
 *         `steps` while the connection waits for a step.
 * Thread: core-local.
 */
#ifndef CLOCKOO_TLS_INSIDE_H
#define CLOCKOO_TLS_INSIDE_H

#include "base/budget.h"
#include "base/list.h"
#include "tls_conns.h"

#define OUT_PIECES      10u /* of CONN_RESERVE_MAX, that a call may fill: a record, and more */
#define OUT_BYTES       (OUT_PIECES * CONN_RESERVE_MAX)
#define PIECES_READ_MAX 64u /* frames and records looked at in a visit */

static_assert(OUT_BYTES >= TLS_STEP_MAX + TLS_RECORD_MORE, "a record fits");

struct tls_conn {
	struct conn *wire, *pipe;  /* NULL: there is none; the pipe is open after the handshake */
	struct tls_stream *stream; /* NULL: nothing has come yet */
	uint64_t since_ns;         /* it is in that list: */
	uint64_t answered_ns;      /* its handshake, last; 0: not yet */
	struct list handshake;     /* in waiting, unproven or handshakes; or in leaving */
	struct budget_place place; /* joined from a whole hello until the handshake is complete */
	struct list due;           /* to be looked at in the next turn; or in steps */
	uint64_t looked;           /* the turn in which it was last */
	uint32_t rekeys, rekeys_early;
	uint64_t read, rekeyed_at; /* bytes of requests; that many at the last key update */
	bool ended;                /* nothing more comes */
	bool deferred;             /* it waits for a step, in begins or steps */
	bool yielded;              /* another one has its place; it ends when its peer speaks */
	bool leaving;              /* its session is over, what it wrote is not sent */
};

struct tls_conns {
	struct tls_conns_config cfg;
	struct serve *serve;
	struct stack *stack;
	struct tls_conn *of_slot;         /* of wires, by their slots */
	uint32_t *wire_of;                /* of pipes: the wire's slot, plus 1 */
	struct list waiting;              /* the oldest first */
	struct list unproven, handshakes; /* the longest without progress first */
	struct budget places;
	uint64_t taken_ns;   /* when a place was last taken */
	struct list leaving; /* the longest without progress first */
	struct list due;
	struct list begins; /* that wait for a first step: the newest first */
	struct list steps;  /* that wait for a further one: the oldest first */
	uint64_t turns;
	uint32_t kept; /* chunks */
	struct tls_context *context;
	uint64_t now_ns;
	uint64_t step_ns, step_ends_ns; /* of the last step of a handshake; 0: it is not known */
	uint64_t step_requests;         /* served until then */
	bool stepped;                   /* in this turn */
	bool begun_last;                /* of those that waited for a step */
	uint32_t rekeys;                /* of this turn */
	struct tls_io io;               /* of the call that is made */
	uint8_t out[OUT_BYTES], plain[TLS_STEP_MAX];
	_Alignas(CACHE_LINE_BYTES) struct counter counters[TLS_COUNTER_COUNT];
};

static inline void
tls_count(struct tls_conns *tc, enum tls_counter which)
{
	counter_add(&tc->counters[which], 1);
}

/* The next call may write so much; 0: the wire is visited again when there is room. */
uint32_t tls_io_begin(struct tls_conns *tc, struct conn *wire, uint32_t *credits);
/* What was written is queued. */
void tls_io_flush(struct tls_conns *tc, struct conn *wire, uint32_t credits);

/* In order, behind what is queued: an alert, or the last reply. */
void tls_finish(struct tls_conns *tc, struct tls_conn *t);
void tls_handshake_failed(struct tls_conns *tc, struct tls_conn *t);
/* It is in no list of handshakes any more. */
void tls_handshake_leave(struct tls_conns *tc, struct tls_conn *t);

/* True if a place is free, or one may be taken away now. */
bool tls_place_is_to_be_had(const struct tls_conns *tc);
/* Returns the connection of `begins` that is next: the newest whose source has no more than its
 * part, else the newest. begins is not empty. */
struct list *tls_begin_next(const struct tls_conns *tc);
/* One step a turn; and where requests are served meanwhile, for half of the time at most. */
bool tls_step_is_allowed(const struct tls_conns *tc);
/* Its step, or a place among those that wait for one. False: the connection is over. */
bool tls_handshake_go_on(struct tls_conns *tc, struct tls_conn *t);

#endif

/*
 * session.h - what the service remembers of one connection between its turns.
 *
 * Private to lib/serve and lib/admin.
 *
 * Owner:  the array in struct serve, indexed by conn_slot. A session owns its read buffer chunk,
 *         its fill while `filling`, its token's chunk, and one pin while value.item is set.
 * Thread: core-local.
 */
#ifndef CLOCKOO_SESSION_H
#define CLOCKOO_SESSION_H

#include "base/list.h"
#include "proto/mc_binary.h"
#include "proto/mc_reply.h"
#include "proto/mc_req.h"
#include "stack/stack.h"
#include "store/introspect.h"

enum session_body {
	BODY_NONE,
	BODY_WAIT,    /* its line is an operation of this pass; answering it decides */
	BODY_FILL,    /* bytes go into the fill */
	BODY_SWALLOW, /* bytes go nowhere */
	BODY_TOKEN,   /* bytes go into the token: a name and a password */
	BODY_FILLED,  /* the fill is complete, and waits to be asked with */
};

/* Why a connection is closed, for watchers. */
enum session_end {
	SESSION_END_NORMAL, /* as the client wants it */
	SESSION_END_ERROR,
	SESSION_END_IDLE,
	SESSION_END_SHUTDOWN,
};

/* What stands behind a value. */
enum value_tail {
	TAIL_NONE, /* binary */
	TAIL_LINE, /* a line end; more of the request follows */
	TAIL_LAST, /* the same of a request that it ends */
	TAIL_END,  /* and END: the last value of a retrieval line */
};

#define VALUE_TAIL_MAX 7u

static inline uint8_t *
value_tail_put(uint8_t *at, enum value_tail tail)
{
	if (tail == TAIL_NONE)
		return at;
	at = mc_put_line_end(at);
	return tail == TAIL_END ? mc_put_view(at, mc_reply_line[MC_END]) : at;
}

/* A large value that is not all queued yet; what stands in front of it is. */
struct value_rest {
	const struct item *item; /* NULL: none */
	uint32_t offset;
	uint8_t tail; /* enum value_tail */
};

struct stream_kind; /* serve_stream.h */

/* Where a reply stands that is written as room comes. */
struct stream {
	const struct stream_kind *kind; /* NULL: there is none */
	bool binary;                    /* rows are packets of the binary protocol */
	bool rows_done;                 /* all rows are written, the end is not */
	bool totals;                    /* slabs: all classes are written */
	bool later; /* a step: there is nothing to be done before the next turn */
	struct mc_bin_echo echo;
	uint32_t row;     /* the next one; of classes and connections: of the one at `at` */
	uint32_t at, sub; /* class; core and slot */
	uint32_t left;    /* items that may still be listed */
	uint32_t work;    /* a step: of this one, beyond what it writes (serve_work.h) */
	struct store_cursor cursor;
	uint64_t classes[(MC_CLASS_MAX + 1) / 64]; /* bits */
};

/* How a session is visited: as most are, or why not. */
enum session_sched {
	SCHED_READY,   /* whenever the stack has it ready */
	SCHED_WATCHER, /* its connection watches: no requests are read any more */
	SCHED_QUEUED,  /* it waits for its share of a turn's work (serve_work.h) */
	SCHED_NEXT,    /* it was taken out of that queue as the next one */
	SCHED_LINK,    /* a backend's own: no requests come on it (backend_link.h) */
	SCHED_WIRE,    /* of a pipe, on which they come (serve_tls.h) */
};

/* How far its fill was when it was last looked at for standing still (serve_body.c). */
struct fill_progress {
	uint32_t second; /* 0: never */
	uint32_t filled;
};

struct session {
	struct conn *conn; /* NULL: no connection in this slot */
	struct mc_parser parser;
	uint8_t body;       /* enum session_body */
	bool filling;       /* fill is begun, neither finished nor abandoned */
	bool bad_end;       /* the body does not end in CR LF */
	uint8_t body_end;   /* bytes of its end */
	bool closing;       /* nothing more is read */
	bool admitted;      /* not one too many */
	uint8_t role;       /* enum mc_role of its user; NONE: it has named none */
	uint8_t sched;      /* enum session_sched */
	uint8_t end;        /* enum session_end */
	uint8_t quota_part; /* enum fill_quota_part: where it waits... */
	uint8_t quota_used; /* ... and what its begun value uses */
	bool quota_starved; /* bytes of the value were dropped, and none have come since */
	uint32_t user;      /* the ID of its user (struct serve_user); 0: it has named none */
	uint32_t active_s;  /* the second in which something came last */

	uint32_t turn;           /* in which served was counted */
	uint32_t served;         /* requests in that turn */
	uint32_t pass_ops;       /* operations in this pass */
	uint32_t late_pass;      /* that reads bytes of an earlier turn... */
	uint64_t since_ns;       /* ... when the first of them were here (residence.h) */
	uint64_t waits_since_ns; /* since when the request was here that is not answered... */
	uint64_t waited_ns;      /* ... and the turn in which it last waited for... */
	uint8_t waited;          /* ... enum request_wait */
	union {
		uint32_t waits; /* 0: its next request waits for nothing of what follows */
		struct {
			/* Turns its request has waited for the store; 0: it does not. */
			uint32_t memory_wait_turns : 21;
			uint32_t await_count : 8;   /* awaits it has */
			uint32_t await_queued : 1;  /* it waits for a place for one... */
			uint32_t await_granted : 1; /* ... has one... */
			uint32_t await_refused : 1; /* ... or has waited too long */
		};
	};
	uint32_t memory_wait_last_turn; /* the last of them */
	uint32_t flushes;               /* store_flushes when its flush began to wait */
	uint32_t deferrable_bytes;      /* of this pass, from the first that may have to wait */
	bool has_credit;       /* the stack has room for the next operation's reply, this turn */
	bool await_counted;    /* its next request was counted when it came */
	bool ahead;            /* gets behind those that were asked for may be, too */
	bool pipeline_stopped; /* nothing more is asked for before a kept request is told */
	uint8_t reads_behind;  /* its last write, and kept */
	uint8_t passed_on;     /* awaits that answer a later key of their line, too */
	uint32_t ahead_at;     /* where those begin: in the read buffer, or at its end... */
	struct mc_parser ahead_parser; /* ... and what it is there */
	uint64_t left_out;             /* a bit for some hashes each: of gets that wait unasked */
	uint16_t await_lane;           /* where it waits for a place, or has one granted */
	uint64_t await_since_ns;       /* since when it has waited for a place; 0: it does not */
	/* Of retrievals whose bytes are executed again, or of kept requests: one of the two lists
	 * is empty (backend/pending.h). */
	struct await *awaits, *kept;

	/* A chunk while a line is cut, or while requests were deferred: bytes read_buf_at to
	 * read_buf_len stand before what conn_peek shows. */
	uint8_t *read_buf;
	uint32_t read_buf_at, read_buf_len;
	uint32_t read_buf_since_s;  /* since when */
	uint64_t read_buf_since_ns; /* since when its bytes were here... */
	uint64_t newer_since_ns;    /* ... and those from newer_at on; 0: there are none */
	uint32_t newer_at;

	/* Its end included; of a request that waits with its body unread, its line as well. */
	uint64_t body_left;
	uint64_t quota_bytes; /* of the fill quota, held by its incomplete value (serve_begun.h) */
	uint64_t ticket;      /* its number in the queue for the quota; 0: it does not wait */
	uint64_t quota_ns;    /* since when it has waited, then when its value was looked at last */
	uint32_t quota_idle_us; /* time in which its peer could have sent more of the value */
	uint32_t quota_filled;  /* of the value, when it was looked at last */
	uint32_t quota_here;    /* bytes of it that were here when it was begun */
	bool quota_asleep;      /* it waits, but outside the queue: fill_quota_sleeps() */
	/* In the queue while it waits and does not sleep, then in fills; or in the one for awaits.
	 */
	struct list quota_link;
	struct mc_req filling_req; /* but for its key, a view */
	struct fill_progress progress;
	struct fill fill;
	struct value_rest value;
	struct stream stream;
	uint8_t *token; /* a chunk while one is read */
	uint32_t token_len;
	uint32_t work_pass;       /* in which it went into the work queue */
	uint32_t work_again_pass; /* in which it was visited too early, and is visited again */
	uint64_t work_clock;      /* serve_work.h */
	struct budget_place work_place;
	uint32_t await_bytes;  /* of value, that it waits to ask with: await_lane */
	struct list work_link; /* in that queue */
	struct session *requeue_next;
};

/* Unread bytes: of the read buffer first. */
static inline struct view
session_peek(const struct session *ss)
{
	if (ss->read_buf_at < ss->read_buf_len)
		return (struct view){ss->read_buf + ss->read_buf_at,
				     ss->read_buf_len - ss->read_buf_at};
	return conn_peek(ss->conn);
}

/* The same, and since when they were here (residence.h). */
static inline struct view
session_peek_since(const struct session *ss, uint64_t *since_ns)
{
	if (likely(ss->read_buf_at == ss->read_buf_len))
		return conn_peek_since(ss->conn, since_ns);
	*since_ns = ss->read_buf_since_ns;
	return session_peek(ss);
}

static inline void
session_skip(struct stack *stack, struct session *ss, uint32_t n)
{
	if (ss->read_buf_at < ss->read_buf_len)
		ss->read_buf_at += n;
	else
		conn_advance(stack, ss->conn, n);
}

static inline bool
session_eof(const struct session *ss)
{
	return ss->read_buf_at == ss->read_buf_len && conn_eof(ss->conn);
}

#endif

/*
 * session.h - the state of one connection that the service keeps between turns.
 *
 * Private to lib/serve and lib/admin.
 *
 * Owner:  the array serve.sessions, indexed by conn_slot. A session owns the chunk of its read
 *         buffer, its fill while `filling`, the chunk of its token, and a pin while value.item is
 *         set.
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
	/* The request's line is an operation of this pass; its execution sets the next state. */
	BODY_WAIT,
	BODY_FILL,    /* bytes go into the fill */
	BODY_SWALLOW, /* bytes of the body are discarded */
	BODY_TOKEN,   /* bytes go into the token, which is a name and a password */
	BODY_FILLED,  /* the fill is complete and waits for the backend */
};

/* Why a connection is closed, for watchers. */
enum session_end {
	SESSION_END_NORMAL, /* requested by the client, or the end of its stream */
	SESSION_END_ERROR,
	SESSION_END_IDLE,
	SESSION_END_SHUTDOWN,
};

/* The bytes after a value in a reply. */
enum value_tail {
	TAIL_NONE, /* nothing: binary protocol */
	TAIL_LINE, /* a line end; other values of the same request follow */
	TAIL_LAST, /* a line end; this value ends the reply */
	TAIL_END,  /* a line end and END, after the last value of a retrieval line */
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

/* The unsent rest of a large value. The reply before it is queued. */
struct value_rest {
	const struct item *item; /* NULL: no rest */
	uint32_t offset;
	uint8_t tail;     /* enum value_tail */
	uint16_t arrival; /* arrival still filling it; 0: the value is complete */
};

extern const struct lender value_lender; /* serve_defer.c: pins the values that the port reads */

struct stream_kind; /* serve_stream.h */

/* A position in a reply of many rows, which are written as there is room. */
struct stream {
	const struct stream_kind *kind; /* NULL: no such reply */
	bool binary;                    /* rows are packets of the binary protocol */
	bool rows_done;                 /* all rows are written, but not the end of the reply */
	/* For `stats slabs`: all classes are written, but not the totals. */
	bool totals;
	bool later; /* set by a step that cannot do more in this turn */
	struct mc_bin_echo echo;
	uint32_t row;     /* the next row of the class or connection in `at` */
	uint32_t at, sub; /* at: a class or a core; sub: a slot of that core */
	uint32_t left;    /* most items that are still to be listed */
	/* Estimated ns of a step, without the bytes that it writes (serve_work.h). */
	uint32_t work;
	struct walk_cursor cursor;
	uint64_t classes[(MC_CLASS_MAX + 1) / 64]; /* a bit for each class to list */
};

/* How the service visits the session's connection. */
enum session_sched {
	SCHED_READY,   /* requests are read */
	SCHED_WATCHER, /* the connection watches: its input is discarded */
	SCHED_QUEUED,  /* not visited, since the session is in the work queue (serve_work.h) */
	SCHED_NEXT,    /* first of the work queue: it uses its share at its next visit */
	/* A connection that the backend opened; it carries no requests (backend_link.h). */
	SCHED_LINK,
	/* The encrypted side of a TLS connection; requests arrive on its pipe (serve_tls.h). */
	SCHED_WIRE,
};

/* Progress of a fill at the last check for a stall (serve_fills.c). */
struct fill_progress {
	uint32_t second; /* 0: not checked yet */
	uint32_t filled;
};

/* The session's value as the fill quota sees it: waiting for quota, or begun (serve_begun.h). */
struct session_quota {
	uint8_t part;      /* enum fill_quota_part: the queue that it waits in */
	uint8_t account;   /* enum fill_quota_part: the account that it is charged to, once begun */
	bool asleep;       /* the value waits outside the queue (fill_quota_sleeps()) */
	bool starved;      /* bytes of the body were dropped, and none have arrived since */
	bool idle;         /* at the last check the peer could have sent more */
	uint32_t present;  /* bytes that had arrived when the value was begun */
	uint32_t filled;   /* bytes that had arrived at the last check */
	uint32_t idle_us;  /* time in which the peer could have sent more and did not, in us */
	uint64_t bytes;    /* bytes of quota that the value holds */
	uint64_t ticket;   /* position in the queue (serve_begun.c); 0: it does not wait */
	uint64_t since_ns; /* begin of the wait; for a begun value, the last check */
	struct fill_progress progress;
};

/* The latest wait of a request of the session, for residence.h. */
struct session_wait {
	uint64_t arrived_ns; /* arrival of the oldest request that is not answered */
	uint64_t blocked_ns; /* the last turn in which a request waited */
	uint8_t reason;      /* enum request_wait */
};

/* The session's place in the queue for work budget (serve_work.h). */
struct session_work {
	uint32_t pass; /* the pass in which it joined the queue */
	/* The pass in which the session found no budget, and was queued to be visited again. */
	uint32_t again_pass;
	uint64_t clock; /* the session's virtual time */
	struct budget_place place;
	struct list link;
};

/* A token, which is a name and a password, that is being read. bytes: a chunk; NULL: no token. */
struct session_token {
	uint8_t *bytes;
	uint32_t len;
};

/* Most turns of a wait for memory. Evicting for a value of 128 MB takes some thousand turns; the
 * rest allows for another core whose turn takes as long as all of these. */
#define MEMORY_WAIT_TURNS_MAX (1u << 20)

struct session {
	struct conn *conn; /* NULL: the slot has no connection */
	struct mc_parser parser;
	uint8_t body;      /* enum session_body */
	bool filling;      /* the fill is begun, and neither finished nor abandoned */
	bool bad_end;      /* the body does not end in CR LF */
	uint8_t body_end;  /* bytes of the line end after the value that were read */
	bool closing;      /* no further input is read */
	bool answered;     /* during a drain: the client waits for the last request's reply */
	bool admitted;     /* the connection counts for the limit -c */
	uint8_t role;      /* enum mc_role of the user; NONE: not authenticated */
	uint8_t sched;     /* enum session_sched */
	uint8_t end;       /* enum session_end */
	uint32_t user;     /* ID of the user (struct serve_user); 0: not authenticated */
	uint32_t active_s; /* the second in which the last bytes arrived */

	uint32_t turn;      /* the turn for which `served` counts */
	uint32_t served;    /* requests served in that turn */
	uint32_t pass_ops;  /* operations of this pass */
	uint32_t late_pass; /* the last pass that read bytes of an earlier turn */
	/* When the oldest bytes that late_pass reads arrived (residence.h). */
	uint64_t since_ns;
	union {
		uint64_t waits; /* 0: the next request waits for none of the following */
		struct {
			/* Turns for which the request has waited for memory. */
			uint32_t memory_wait_turns : 21;
			uint32_t pending_count : 11; /* number of the session's pending requests */
			/* The session is in the queue of a lane, for a place in the table of
			 * pending requests. */
			uint32_t place_queued : 1;
			/* The session has such a place for this turn. */
			uint32_t place_granted : 1;
			uint32_t place_refused : 1; /* its deadline passed before it got a place */
		};
	};
	uint32_t memory_wait_last_turn; /* the last turn in which it waited for memory */
	uint32_t flushes;               /* store_flushes() when its flush_all began to wait */
	/* Bytes of this pass that may have to go back: from the first request on that may wait. */
	uint32_t deferrable_bytes;
	/* The stack has room, in this turn, for the reply to the next operation. */
	bool has_credit;
	bool pending_counted; /* the next request was already counted when it arrived */
	/* Later gets may be asked for while earlier ones are pending. */
	bool ahead;
	bool pipeline_stopped; /* no request is asked for until a kept one is completed */
	uint16_t reads_behind; /* kept retrievals after the last kept write */
	/* Pending requests whose answer will be used again, for a later key of their line. */
	uint16_t passed_on;
	/* Offset of the next get that may be asked for ahead; all pending requests are before it.
	 * Offsets count from the beginning of the read buffer; those from read_buf_len on are
	 * offsets of unread bytes of the connection. */
	uint32_t ahead_at;
	struct mc_parser ahead_parser; /* the parser's state at ahead_at */
	/* Bits for the hashes of gets that wait and were not asked for; a bit stands for several
	 * hashes. */
	uint64_t left_out;
	/* The lane in whose queue the session waits, or in which it has a place. */
	uint16_t place_lane;
	uint16_t reader; /* state of its client's reading (backend/pending_unread.h) */
	/* Length of the value for which the request needs a place. */
	uint32_t place_bytes;
	uint64_t place_since_ns; /* begin of the wait for a place; 0: it does not wait */
	/* Pending requests in the order of their bytes. pending: retrievals that will be executed
	 * again. kept: kept requests. One of the two lists is empty (backend/pending.h). */
	struct pending *pending, *kept;
	struct pending *kept_last; /* the last of kept, if there is one */

	/* A chunk with a partial line, or with deferred requests. Its bytes from read_buf_at to
	 * read_buf_len are read before those of conn_peek(). */
	uint8_t *read_buf;
	uint32_t read_buf_at, read_buf_len;
	struct budget_place read_buf_place;
	struct list read_buf_link;  /* in serve.read_bufs while the session has a place */
	uint64_t read_buf_since_ns; /* when the bytes of the read buffer arrived */
	/* When the bytes from newer_at on arrived. 0: all bytes arrived at read_buf_since_ns. */
	uint64_t newer_since_ns;
	uint32_t newer_at;
	uint32_t answer_bytes; /* mean length of the values answered; 0: none yet */

	/* Unread bytes of the body and its line end. While the request waits with its body unread,
	 * also those of its line. */
	uint64_t body_left;
	struct mc_req filling_req; /* the request that the body belongs to, without its key */
	struct fill fill;
	struct value_rest value;
	struct stream stream;

	struct session_quota quota;
	/* Link in one of: the queue for quota, while the session waits for it; serve.fills, with a
	 * begun value; the queue of a lane, while the session waits for a place. */
	struct list quota_link;
	struct session_wait wait;
	struct session_work work;
	struct session_token token;
	struct session *requeue_next; /* serve.requeue */
};

/* Returns the next contiguous unread bytes, those of the read buffer first. */
static inline struct view
session_peek(const struct session *ss)
{
	if (ss->read_buf_at < ss->read_buf_len)
		return (struct view){ss->read_buf + ss->read_buf_at,
				     ss->read_buf_len - ss->read_buf_at};
	return conn_peek(ss->conn);
}

/* True if the connection still has bytes of pending requests. They are moved to the read buffer
 * before they are parsed, so that offsets stay valid. */
static inline bool
session_asks_beyond(const struct session *ss)
{
	return ss->pending != NULL && ss->ahead_at > ss->read_buf_len;
}

/* Returns session_peek(), and the time at which these bytes arrived (residence.h). */
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

/* True if more bytes of a request must arrive: of a body, or of a line that is discarded. */
static inline bool
session_is_amid(const struct session *ss)
{
	return ss->body != BODY_NONE || ss->parser.swallow != MC_SWALLOW_NOTHING;
}

static inline bool
session_eof(const struct session *ss)
{
	return ss->read_buf_at == ss->read_buf_len && conn_eof(ss->conn);
}

#endif

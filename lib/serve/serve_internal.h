/*
 * serve_internal.h - what the files of this room share: struct serve, operations, interfaces.
 *
 * Private to lib/serve and lib/admin. Administration reads all of struct serve and struct session,
 * replies as the verbs of this room do, and writes `observed`, `detail`, session.sched and
 * session.end; all else is written here only.
 *
 * Owner:  views in an operation point into received frames or a read buffer: valid in this pass.
 * Thread: core-local, but for struct serve_shared.
 */
#ifndef CLOCKOO_SERVE_INTERNAL_H
#define CLOCKOO_SERVE_INTERNAL_H

#include "serve.h"
#include "serve_backend.h"
#include "serve_rows.h"
#include "serve_shared.h"
#include "serve_tls.h"
#include "serve_work.h"

#include "base/check.h"
#include "observe/hot_keys.h"
#include "observe/residence.h"
#include "observe/slow_log.h"
#include "proto/mc_binary.h"
#include "proto/mc_reply.h"
#include "proto/mc_req.h"
#include "proto/mc_udp.h"
#include "store/conditional.h"

/* Verbs of operations that no request line names. */
enum op_verb {
	OP_BODY_DONE = MC_VERB_COUNT, /* a body is complete */
	OP_SKIP,                      /* deferred, or its connection is closed */
	OP_AUTH,                      /* a set that names a user (serve_auth.c) */
	OP_AUTH_END,                  /* its body is complete */
	OP_KEPT_GET,                  /* a retrieval whose turn has come (backend/pending.h) */
	OP_KEPT_WRITE,                /* a write that a backend has answered */
	OP_VERB_COUNT,
};

/* The fields of plain gets stand together: two cache lines an operation. */
struct op {
	struct session *session; /* NULL: from a datagram */
	struct view raw;         /* the bytes it was parsed from, body included */
	struct probe probe;
	struct mc_parser before; /* the parser in front of raw */
	uint16_t udp_id;
	bool in_place; /* the only request of its datagram: answered in the frame it came in */
	bool probed;   /* store_probe() was called */
	uint64_t hash;
	struct mc_req req;         /* req.verb: enum mc_verb or enum op_verb */
	struct datagram *datagram; /* of a connection only if op_is_kept(): its arrival */
	struct view body;          /* with its end; data NULL: not all there yet */
};

struct messages; /* serve_message.c */
struct awaits;   /* backend/pending.h */

/* Where the parsing of datagrams stands. */
struct datagram_cursor {
	struct datagram *list; /* of this turn */
	uint32_t count, next;
	uint32_t withheld;  /* behind count: this pass does not read them */
	bool has_kept;      /* some came before this turn */
	uint32_t keep_from; /* as the stack was told: from here on it is for the next turn */
	struct view text;   /* of list[next], behind the frame; data NULL: not yet looked at */
	uint32_t at;
	uint16_t id;
	struct mc_parser parser;
};

#define GET_LENGTHS 1000u /* values of so many bytes have a fast path */

struct serve {
	struct serve_config cfg;
	struct serve_shared *shared;
	struct stack *stack;
	struct store_core *store;
	struct session *sessions;
	struct serve_clock clock;
	uint32_t turn, pass;
	uint32_t pins_pressed_turn; /* in which values that clients pin last held much memory */
	bool more;                  /* the pass left work for another one */
	bool read_bufs_in_use;      /* operations of this pass may lie in a read buffer, or wait */
	uint32_t admitted_count;    /* open connections, those one too many left out */
	uint32_t read_bufs_used, read_bufs_max;
	uint32_t read_buf_scan_slot; /* of sessions: where the look for stale read buffers stands */
	uint32_t read_buf_scan_turn; /* the turn of the last one */
	union {
		uint16_t few_behind; /* 0: requests are parsed behind others */
		struct {
			bool under_pressure; /* of chunks or memory: none behind what may wait */
			/* enum verb_trait of verbs that a backend may answer later: none behind one
			 * of these. */
			uint8_t later_traits;
		};
	};
	uint32_t fills_pressure_s;                 /* when a value last found no memory; 0: never */
	uint32_t fills_pressure_since_s;           /* since when that has been so */
	uint64_t quota_since_ns[FILL_QUOTA_PARTS]; /* since when they have not been empty */
	uint64_t quota_short_until_ns;             /* short values may begin beside the quota */
	struct list fills; /* sessions whose value is begun; those looked at last are at the end */
	/* Sessions that wait for the fill quota, in order of tickets; by enum fill_quota_part. */
	struct list quota_queue[FILL_QUOTA_PARTS];
	/* The tickets of the first ones. Written by this core, read by all. */
	_Atomic uint64_t quota_first[FILL_QUOTA_PARTS];
	struct session *requeue;

	bool long_lines; /* the pass has plain gets of several keys */
	bool unprobed;   /* some operation may not be on its way yet */
	uint32_t op_count;
	struct op ops[OPS_MAX];
	uint8_t keys[OPS_MAX][MC_KEY_DECODED_MAX]; /* of ops whose key came in base64 */

	struct datagram_cursor datagrams;
	struct messages *messages;
	uint32_t message_count;
	uint32_t message_chunks, message_chunks_max;
	bool message_open;    /* one of them is being composed */
	bool message_dropped; /* the one being composed has no memory: its bytes are dropped */

	struct work work;

	/* The policy as this core obeys it, from its first turn on (serve_policy.c). */
	bool policy_seen, auth, rate_limited;
	uint8_t protocol;
	uint32_t users_version; /* which table of users this core looks in */
	uint32_t role_slot; /* the next session to look at since the table changed; conns_max: none
			     */
	uint32_t request_bytes; /* bytes of the requests of the message being composed */
	const struct turn_times *turn_times; /* of the core; NULL: not told */
	const struct access_list *access;    /* who is let in, of this core's stack */
	uint32_t access_slot; /* the next connection to look at since it changed; 0: none */
	uint32_t idle_slot;   /* where the look for idle connections stands */
	uint64_t idle_ns;     /* up to when it has been paid for */
	struct udp_rate_limit *rate_limit;
	struct udp_rate_limit *error_limit; /* it counts errors where that counts bytes */

	const struct serve_admin_ops *admin_ops;
	struct admin *admin; /* lib/admin's */
	union {
		uint8_t gets_are_slow; /* 0: plain gets take the fast path */
		struct {
			bool observed : 1; /* some watcher wants to know, or prefixes are counted */
			bool late : 1;     /* the pass has requests that came before this turn */
			uint8_t backend_mode : 3; /* enum serve_backend_mode */
		};
	};
	struct store_class_map class_map;
	struct counter (*classes)[CLASS_COUNTS]; /* CLASSES_MAX */

	const struct serve_backend_ops *backend_ops; /* NULL: BACKEND_NONE */
	struct awaits *awaits;
	struct serve_link_user links;
	struct serve_rows rows;
	struct serve_tls *tls;                 /* NULL: connections are plain */
	uint64_t get_lengths[GET_LENGTHS];     /* " 0 LENGTH CR LF" as eight bytes */
	uint8_t get_length_bytes[GET_LENGTHS]; /* of them that count */

	uint8_t discard_buf[CONN_RESERVE_MAX]; /* where lost replies are composed */
	uint8_t scratch[2 * CHUNK_BYTES];
	_Alignas(CACHE_LINE_BYTES) struct counter counters[SERVE_COUNTER_COUNT];
	struct residence residence;
	struct hot_keys hot;
	struct slow_log slow;
};

static inline void
serve_count(struct serve *sv, enum serve_counter which)
{
	counter_add(&sv->counters[which], 1);
}

static inline bool
op_noreply(const struct op *op)
{
	return (op->req.flags & MC_NOREPLY) != 0;
}

/* Properties of a verb that the stages before execution ask for, in one lookup. */
enum verb_trait {
	VERB_LOOKUP = 1u << 0, /* looks a key up */
	VERB_WRITES = 1u << 1, /* locks both buckets of the key, where a get most often needs one */
	VERB_RETURNS_VALUE = 1u << 2, /* by a reply for which there may be no room */
	VERB_CLOSES = 1u << 3,        /* nothing of its connection is read behind it */
	/* Answered with any number of rows, or changes what its connection is: nothing stands
	 * behind it in its pass. */
	VERB_ENDS_PASS = 1u << 4,
	/* May need a share of the turn's work: copies a value (copy_admit), or moves a page. */
	VERB_TAKES_WORK = 1u << 5,
	VERB_BRINGS = 1u << 6, /* may wait for a key that a second tier promotes */
};
extern const uint8_t verb_traits[OP_VERB_COUNT];

static inline bool
op_is(const struct op *op, enum verb_trait trait)
{
	return (verb_traits[op->req.verb] & trait) != 0;
}

static inline bool
op_closes_conn(const struct op *op)
{
	return unlikely(op_is(op, VERB_CLOSES) || (op->req.flags & MC_CLOSE_AFTER));
}

/* True for a request that a backend has answered: op->datagram says when it arrived. */
static inline bool
op_is_kept(const struct op *op)
{
	return op->req.verb == OP_KEPT_GET || op->req.verb == OP_KEPT_WRITE;
}

static inline bool
op_last(const struct op *op)
{
	return (op->req.flags & MC_LAST) != 0;
}

/* ---- sessions (serve_session.c) ---- */

/* A connection on which requests come: counted, and told if it is one too many. */
void session_open(struct serve *sv, struct conn *c);
/* Visit it once more, in the next pass. */
void session_requeue(struct serve *sv, struct session *ss);
/* Close it in order, behind what is queued; what is unread stays unread. The session is free when
 * it returns, however long the peer takes. */
void session_close(struct serve *sv, struct session *ss);
/* A chunk as a read buffer; false: the stack has none to spare. */
bool read_buf_alloc(struct serve *sv, struct session *ss);
void read_buf_free(struct serve *sv, struct session *ss);

/* ---- bodies that were not all there (serve_body.c) ---- */

/* A value found no memory: from now on stalled fills are given up. */
void fills_memory_pressure(struct serve *sv);
void fills_check(struct serve *sv);
/* The store is not ready for the connection's request: its bytes go into a read buffer, to be read
 * again next turn. False: there is none. */
bool session_wait(struct serve *sv, struct session *ss);
/* Ends that wait. */
void session_go_on(struct serve *sv, struct session *ss);
/* The store is making room for this one, whose body is here: it is read again next turn. False: it
 * cannot wait. */
bool op_wait_memory(struct serve *sv, struct op *op);
enum exec_status body_begin(struct serve *sv, struct op *op);
enum exec_status execute_body_done(struct serve *sv, struct op *op);

/* ---- where replies go (serve_reply.c) ---- */

/* Contiguous room for at most bytes; never NULL. reply_end() queues what was used of it. */
uint8_t *reply_begin(struct serve *sv, struct op *op, uint32_t bytes);
void reply_end(struct serve *sv, struct op *op, uint8_t *begin, const uint8_t *end);
void reply_line(struct serve *sv, struct op *op, struct view line); /* unless noreply */
void reply_error(struct serve *sv, struct op *op, enum mc_error error);
/* For a large value call reply_in_parts(), send the header as a separate reply, then call
 * reply_pinned(). */
static inline void
reply_in_parts(struct op *op)
{
	op->in_place = false;
}

/* A value of ITEM_PIN_MIN_BYTES or more, from where it lies. */
enum exec_status reply_pinned(struct serve *sv, struct op *op, const struct item *it,
			      enum value_tail tail);

/* ---- replies that must wait (serve_defer.c) ---- */

/* Queue the rest of session->value, as far as there is room; false: the session becomes ready when
 * there is more. */
bool value_resume(struct serve *sv, struct session *ss);
/* Defer the connection's operations from ops[first] on: their bytes go into the read buffer. */
void session_defer(struct serve *sv, struct session *ss, uint32_t first);
/* Can this operation be deferred, and all behind it? */
bool defer_fits(const struct serve *sv, const struct op *op);

#endif

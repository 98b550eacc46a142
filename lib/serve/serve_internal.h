/*
 * serve_internal.h - what the files of this room share: struct serve, operations, interfaces.
 *
 * Private to lib/serve and lib/admin. lib/admin reads all of struct serve and struct session and
 * replies with the functions of this header. It writes only `observed`, `detail`, session.sched
 * and session.end; every other field is written by lib/serve alone.
 *
 * Owner:  views in an operation point into received frames or a read buffer, and are valid in this
 *         pass.
 * Thread: core-local, except for struct serve_shared.
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

/* Verbs of operations that the service itself makes, in addition to those of the parser. */
enum op_verb {
	OP_BODY_DONE = MC_VERB_COUNT, /* the body of a request is complete now */
	OP_SKIP,       /* deferred, or its connection is closed: nothing is executed */
	OP_AUTH,       /* a set whose body is a name and a password (serve_auth.c) */
	OP_AUTH_END,   /* the body of an OP_AUTH is complete */
	OP_KEPT_GET,   /* a kept retrieval whose turn has come (backend/pending.h) */
	OP_KEPT_WRITE, /* a kept write that the backend has answered */
	OP_VERB_COUNT,
};

/* A plain get uses only the first fields, which fill two cache lines. */
struct op {
	struct session *session; /* NULL: the request came in a datagram */
	struct view raw;         /* the bytes from which the operation was parsed, body included */
	struct probe probe;
	struct mc_parser before; /* the state of the parser before raw */
	uint16_t udp_id;
	bool in_place; /* alone in its datagram, so the reply can use the same frame */
	bool probed;
	uint64_t hash;
	struct mc_req req;
	/* The datagram; for a connection's request only if op_is_kept(), to show its arrival. */
	struct datagram *datagram;
	struct view body; /* the body with its line end; data NULL: it is incomplete */
};

struct messages;      /* serve_message.c */
struct pending_table; /* backend/pending.h */

/* The position of the parser in the datagrams of this turn. */
struct datagram_cursor {
	struct datagram *list; /* the datagrams of this turn */
	uint32_t count, next;
	uint32_t withheld;  /* datagrams after these that this pass must not read */
	bool has_kept;      /* some datagrams were kept from an earlier turn */
	uint32_t keep_from; /* the first datagram that stays in the stack for the next turn */
	struct view text;   /* list[next] without its UDP frame; data NULL: not opened yet */
	uint32_t at;
	uint16_t id;
	struct mc_parser parser;
};

#define GET_LENGTHS 1000u /* the fast path sends shorter values than this */

struct serve {
	struct serve_config cfg;
	struct serve_shared *shared;
	struct stack *stack;
	struct store_core *store;
	struct session *sessions;
	struct serve_clock clock;
	uint32_t turn, pass;
	uint32_t pins_pressed_turn; /* the last turn in which pins held much memory */
	bool more;
	bool read_bufs_in_use;   /* an operation may be in a read buffer, or a session waits */
	uint32_t admitted_count; /* open connections, without rejected ones */
	uint32_t read_bufs_used, read_bufs_max;
	struct list read_bufs; /* sessions with a place, the one that has it longest first */
	struct budget read_buf_places;
	uint32_t read_bufs_turn; /* the turn in which no place was found */
	uint32_t kept_scan_slot; /* slot at which the next search for stale kept requests begins */
	uint32_t kept_scan_turn; /* the turn of the last search */
	union {
		/* If above 0, some requests end their connection's part of a pass, so that the
		 * later ones need not be kept and parsed twice. */
		uint16_t few_behind;
		struct {
			/* Chunks or memory are scarce, so parsing ends after a request that may
			 * wait. */
			bool under_pressure;
			/* Traits (enum verb_trait) of the verbs that a backend may answer later. */
			uint8_t later_traits;
		};
	};
	uint32_t fills_pressure_s; /* the second in which a value last found no memory; 0: never */
	uint32_t fills_pressure_since_s; /* the second in which that pressure began */
	bool fills_no_room; /* a slow value found no room beside the quota; none was reset */
	uint64_t quota_since_ns[FILL_QUOTA_PARTS]; /* when each queue last became nonempty */
	uint64_t quota_short_until_ns; /* until then short values may begin beside the quota */
	struct list fills; /* sessions with a begun value, in the order of their last checks */
	/* Sessions that wait for quota, by enum fill_quota_part, in the order of their tickets. */
	struct list quota_queue[FILL_QUOTA_PARTS];
	/* The lowest ticket in each queue; written by this core, read by all. */
	_Atomic uint64_t quota_first[FILL_QUOTA_PARTS];
	struct session *requeue;

	bool long_lines; /* the pass has plain gets with several keys */
	bool unprobed;   /* some operation of this pass may not have been probed (store_probe()) */
	uint32_t op_count;
	struct op ops[OPS_MAX];
	/* Decoded keys of operations whose key came in base64. */
	uint8_t keys[OPS_MAX][MC_KEY_DECODED_MAX];

	struct datagram_cursor datagrams;
	struct messages *messages;
	uint32_t message_count;
	uint32_t message_chunks, message_chunks_max;
	bool message_open;    /* a message is being composed: messages->open */
	bool message_dropped; /* it found no memory, so its bytes are discarded */
	struct work work;

	bool policy_seen, auth, rate_limited; /* what the policy says, from the first turn on */
	bool plain_off; /* true only in tests: no visit begins with plain_step() */
	uint8_t protocol;
	uint32_t users_version; /* version of the user table in use by this core */
	/* The next slot whose session's role is refreshed after a change of the user table;
	 * conns_max: all are refreshed. */
	uint32_t role_slot;
	uint32_t request_bytes;              /* of the request that the open message answers */
	const struct turn_times *turn_times; /* of this core; NULL: they are not measured */
	const struct access_list *access;    /* the sources that this core's stack admits */
	const struct local_addrs *addrs;     /* the addresses of this core's stack */
	/* The next slot whose connection is checked after a change of the access list; 0: all are
	 * checked. */
	uint32_t access_slot;
	bool closes_behind, closes_idle; /* SERVE_DRAIN_CLOSE; SERVE_DRAIN_CLOSE_IDLE */
	uint32_t idle_slot;              /* the next slot to check for an idle connection */
	uint64_t idle_ns; /* slots that were due for the idle check until then have been checked */
	struct udp_rate_limit *rate_limit;
	struct udp_rate_limit *error_limit; /* as rate_limit, but counts errors */

	const struct serve_admin_ops *admin_ops;
	struct admin *admin; /* owned by lib/admin */
	union {
		/* 0: plain gets take the fast path. Each of the bits below prevents that. */
		uint8_t gets_are_slow;
		struct {
			/* A watcher receives requests, or prefixes are counted. */
			bool observed : 1;
			/* The pass has requests that arrived before this turn. */
			bool late : 1;
			uint8_t backend_mode : 3; /* enum serve_backend_mode */
		};
	};
	struct store_class_map class_map;
	struct counter (*classes)[CLASS_COUNTS]; /* CLASSES_MAX elements */

	const struct serve_backend_ops *backend_ops; /* NULL: BACKEND_NONE */
	struct pending_table *pending;
	struct serve_link_user links;
	struct serve_rows rows;
	struct serve_tls *tls;                 /* NULL: no connection uses TLS */
	uint64_t get_lengths[GET_LENGTHS];     /* " 0 LENGTH CR LF" in eight bytes */
	uint8_t get_length_bytes[GET_LENGTHS]; /* how many of those bytes are valid */

	/* Replies without room are composed here, and discarded. */
	uint8_t discard_buf[CONN_RESERVE_MAX];
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

/* Properties of a verb that the stages before execution test with one table lookup. */
enum verb_trait {
	VERB_LOOKUP = 1u << 0, /* the operation looks up a key */
	/* Needs the locks of both buckets of the key; a get mostly needs one. */
	VERB_WRITES = 1u << 1,
	VERB_RETURNS_VALUE = 1u << 2, /* its reply has a value, for which there may be no room */
	VERB_CLOSES = 1u << 3,        /* no later request of the connection is read */
	/* The reply has any number of rows, or the command changes the state of the connection. So
	 * it ends the connection's part of the pass. */
	VERB_ENDS_PASS = 1u << 4,
	/* May need a part of the turn's work budget, since it copies a value (copy_admit) or moves
	 * a page. */
	VERB_TAKES_WORK = 1u << 5,
	VERB_PROMOTES = 1u << 6, /* it may wait until the backend has promoted its key */
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

/* True for a request that a backend has answered, whose op->datagram shows when it arrived. */
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

/* Opens the session of a connection that will carry requests. A connection above the limit gets an
 * error and is closed. */
void session_open(struct serve *sv, struct conn *c);
/* Has the session visited again in the next pass. */
void session_requeue(struct serve *sv, struct session *ss);
/* Closes the connection after its queued replies; unread bytes stay unread. The session is free on
 * return, even if the peer is slow to take the replies. */
void session_close(struct serve *sv, struct session *ss);

/* ---- bodies that arrive in several turns (serve_body.c) ---- */

/* Records that a value found no memory: from now on fills that stall are reset. */
void fills_memory_pressure(struct serve *sv);
void fills_check(struct serve *sv);
/* Makes the session's request wait for the store: its bytes go into a read buffer, and are parsed
 * again in the next turn. False: no read buffer is free. */
bool session_wait(struct serve *sv, struct session *ss);
/* Ends the session's wait for memory, and takes it out of the queue for the fill quota. */
void session_go_on(struct serve *sv, struct session *ss);
/* Makes a request with a complete body wait while the store frees memory, and be parsed again in
 * the next turn. False: it cannot wait. */
bool op_wait_memory(struct serve *sv, struct op *op);
enum exec_status body_begin(struct serve *sv, struct op *op);
enum exec_status execute_body_done(struct serve *sv, struct op *op);

/* ---- destinations of replies (serve_reply.c) ---- */

/* Returns contiguous room for `bytes` bytes or fewer; never NULL. reply_end() queues what was
 * written there. */
uint8_t *reply_begin(struct serve *sv, struct op *op, uint32_t bytes);
void reply_end(struct serve *sv, struct op *op, uint8_t *begin, const uint8_t *end);
void reply_line(struct serve *sv, struct op *op, struct view line); /* no effect if noreply */
void reply_error(struct serve *sv, struct op *op, enum mc_error error);
/* Prepares a reply with a large value: the caller sends the part before the value as a reply of its
 * own, and then calls reply_pinned(). */
static inline void
reply_in_parts(struct op *op)
{
	op->in_place = false;
}

/* Sends a value of ITEM_PIN_MIN_BYTES or more from the item's own memory. */
enum exec_status reply_pinned(struct serve *sv, struct op *op, const struct item *it,
			      enum value_tail tail);

/* ---- replies that must wait (serve_defer.c) ---- */

/* Queues as much of session->value as there is room for. False: some is left, and the session
 * becomes ready when there is room again. */
bool value_resume(struct serve *sv, struct session *ss);
/* Defers the connection's operations from ops[first] on, by moving their bytes into its read
 * buffer. */
void session_defer(struct serve *sv, struct session *ss, uint32_t first);
/* True if the bytes of this operation and of all later ones of its connection fit a read buffer. */
bool defer_fits(const struct serve *sv, const struct op *op);

#endif

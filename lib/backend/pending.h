/*
 * pending.h - pending requests, as the service has them; backend.h says what a backend is asked.
 *
 * Private to lib/backend. A pending request (struct pending) belongs to a connection's session, to
 * a line of a datagram, or to a write of a datagram.
 *
 * The key of a retrieval is asked for, and the retrieval itself goes back as bytes: into a read
 * buffer, or into a chunk of its own for a datagram. When its answer has arrived, the bytes are
 * parsed and executed again, and the pending request is found by their offset. A write is kept in a
 * chunk as it was parsed, and is not executed again: its answer is an operation of its own
 * (OP_KEPT_WRITE). A retrieval of one key behind kept requests of its connection is kept as well;
 * OP_KEPT_GET executes it at its turn.
 *
 * Shape:  a session lists its pending requests in the order of their bytes. session.pending has the
 *         retrievals that are not kept, session.kept the kept requests. session.read_buf begins
 *         behind the kept requests. A ticket is generation << PENDING_SLOT_BITS | slot.
 * Owner:  a pending request is free, or belongs to its session or line. A datagram's write belongs
 *         to the table.
 * Thread: core-local.
 * Bounds: backend.h.
 */
#ifndef CLOCKOO_PENDING_H
#define CLOCKOO_PENDING_H

#include "backend.h"
#include "backend_link.h"
#include "pending_unread.h"

#include "serve/serve_internal.h"

/* The flags with which mg changes the stored item. */
#define MG_EFFECTS (MC_FLAG_VIVIFY | MC_FLAG_RECACHE | MC_FLAG_SET_EXPTIME | MC_FLAG_NEW_CAS)
static_assert(PENDING_MAX <= 1u << PENDING_SLOT_BITS, "a slot has its bits");

enum pending_state {
	PENDING_FREE,
	PENDING_ASKED,
	PENDING_READY,   /* it is answered, and its request is not executed yet */
	PENDING_UNASKED, /* a kept retrieval, asked for at its turn if there is no copy then */
};

struct pending {
	/* In pending_table.asked until it is answered, then in ready, answered or answered_udp. A
	 * line's pending request is in no list once it is answered. */
	_Alignas(CACHE_LINE_BYTES) struct list due;
	uint64_t ticket, hash;
	struct session *session; /* NULL: it is a datagram's */
	struct pending *next;    /* in its owner's list, or in the free list */
	uint32_t offset;         /* of its request in the read buffer, or line in the datagram */
	uint16_t lane;
	uint16_t bytes; /* length of a plain get; 0: it is another request */
	uint16_t more;  /* number of bytes to the last get of its line that has the same answer */
	uint8_t state;  /* enum pending_state */
	uint8_t times : 3;           /* how often it was asked for */
	uint8_t parts : 5;           /* of the timeout, left to its first ask, less one */
	bool begins_line, ends_line; /* it is a plain get, and the first, or last, of its line */
	bool passed_on; /* its request is answered; a later one of its line shares the answer */
	bool is_kept;   /* its request is kept; otherwise its bytes are executed again */
	uint64_t deadline_ns;
	union {
		struct pending_line *line; /* NULL: it is a session's */
		struct kept_request *kept; /* NULL: the kept request is being executed */
	};
	union {
		struct backend_answer answer;
		uint32_t expects; /* PENDING_ASKED: bytes of its answer, as expected */
	};
};
static_assert(sizeof(struct pending) == 2 * CACHE_LINE_BYTES, "thousands of them stay near a core");

/* A write that was asked for, or a retrieval behind kept requests, as it was parsed. It lies in a
 * chunk. For a session that is the chunk of its own reply, so the reply has its room. */
struct kept_request {
	struct pending *pending;
	struct mc_req req;         /* its key is key[] */
	struct datagram datagram;  /* only sender and arrival are set */
	bool reads;                /* a retrieval */
	uint16_t udp_id;           /* of a datagram's request, for its reply */
	uint32_t bytes;            /* length of a datagram's request */
	struct pending_line *rest; /* the rest of its datagram behind it; NULL: none */
	uint8_t key[MC_KEY_MAX];
};
static_assert(sizeof(struct kept_request) <= CHUNK_BYTES, "lies in a chunk");

/* The copied rest of a datagram: from the retrieval line that waits on, or from behind the write
 * that waits. */
struct pending_line {
	struct list link;              /* in a list of lines; while the line waits, in none */
	struct datagram datagram;      /* only sender and arrival are set */
	struct datagram_cursor cursor; /* the place in bytes that is read next */
	uint8_t *bytes;                /* a chunk */
	uint32_t len;
	uint32_t begin;    /* offset of the line that waits, or waited last */
	uint32_t line_at;  /* offset of the line that is being read */
	uint32_t cut;      /* offset of the line that a pass left open */
	uint32_t counted;  /* requests that begin before this offset were counted */
	uint32_t open;     /* keys of the waiting line that have no answer */
	uint32_t tries;    /* times that a key which was found has been evicted since */
	uint64_t since_ns; /* arrival of the datagram */
	uint8_t protocol;
	struct pending *pending; /* those of the waiting line, and of some lines behind it */
};

#define PENDING_KEPT_CELLS  1024u
#define PENDING_WAIT_PARTS  32u  /* of the timeout: a wait for a place is counted in these */
#define AHEAD_GETS_MAX      64u  /* gets of a connection that are asked for in one step */
#define AHEAD_GETS_PER_TURN 512u /* gets asked for in a turn that are not operations yet */

struct pending_lane {
	uint32_t open;       /* pending requests and granted places */
	uint64_t values;     /* bytes of writes' values that have not ended, or are granted */
	struct list waiting; /* sessions that wait for a place, by quota_link */
	struct list link;    /* in lanes_waiting while `waiting` has sessions */
};

/* A value that is sent while it arrives. */
struct arrival {
	struct session *reader; /* the session that sends it; NULL: none, or none any more */
	uint64_t ticket;
	uint32_t bytes; /* bytes of it that may leave: fewer than the value has */
	bool open;
};

struct pending_table {
	struct backend backend;
	uint32_t before_sample; /* keys answered by copies before the next sample */
	bool asked_in_turn;     /* a request was asked for in this turn */
	bool draining;
	uint32_t turn_pass;       /* number of the last pass before this turn */
	uint32_t prefetched_pass; /* number of the pass whose missed keys were prefetched */
	uint32_t free_count;      /* places that are free */
	uint32_t granted;         /* of those, granted to sessions that wait */
	uint32_t udp_count;       /* places that datagrams have */
	uint32_t kept_count;      /* kept requests, each in a chunk */
	uint16_t kept_of[PENDING_KEPT_CELLS]; /* kept requests, by their keys' hashes */
	uint32_t first_bytes; /* expected length of a session's first answer, a high guess */
	uint64_t values;      /* bytes of writes' values that have not ended, of all lanes */
	uint64_t asked_bytes; /* of expected answers, of all lanes */
	struct pending *free;
	/* List n has requests that were asked for with n + 1 parts of the timeout left, the soonest
	 * deadline first. A list without its bit in asked_lists is empty. */
	struct list asked[PENDING_WAIT_PARTS];
	uint32_t asked_lists;
	struct list ready;                  /* answered retrievals, the soonest deadline first */
	struct list answered, answered_udp; /* kept requests: answered, or to be asked for now */
	struct list lanes_waiting;
	struct list lines_free, lines_executed;
	struct list lines_ready;   /* the first is being read if a pass has left its line open */
	const uint8_t *line_start; /* beginning of the line that the last pass left open */
	struct pending_lane lanes[BACKEND_LANES_MAX + 1]; /* the last: newcomers, without a lane */
	struct arrival arrivals[BACKEND_LANES_MAX];
	bool unread_busy;   /* pending_unread_turn() has something to do */
	struct list unread; /* clients that have yet to read a value, the first to begin in front */
	uint64_t unread_bytes;                     /* that unread values hold */
	uint64_t unread_most;                      /* that they may hold */
	uint64_t unread_reset_ns, unread_spare_ns; /* the pace of their resets (pace_take) */
	struct budget unread_places;               /* shares of unread_table, by source */
	uint32_t unread_left;                      /* number of free entries in unread_free */
	uint16_t unread_free[UNREAD_MAX];
	struct unread unread_table[UNREAD_MAX];
	uint32_t ahead_left, hits_left;  /* left of this turn's limits */
	struct op ahead[AHEAD_GETS_MAX]; /* gets that are being asked for, and their bytes */
	uint8_t ahead_bytes[MC_LINE_MAX];
	struct pending table[PENDING_MAX];
	struct pending_line lines[PENDING_LINES_MAX];
	struct link_layer layer;          /* open NULL: there is no layer */
	struct serve_backend_ops layered; /* the service's functions below the layer */
};

/* ---- kinds of requests (pending_kinds.c) ---- */

/* True for a retrieval without an effect: it may be asked for before its turn, and twice. */
bool pending_reads(const struct mc_req *req);
/* True if the backend executes this request, which is then asked for once, at its turn. */
bool pending_is_write(const struct serve *sv, const struct mc_req *req);
/* True if the request changes the stored version, or shows what only the store has of it. */
bool pending_promotes(const struct mc_req *req);
/* True if it may be in a pipeline with writes: it has one key, and a write's answer no value. */
bool pending_is_keyed_write(const struct mc_req *req);
bool pending_is_keyed_read(const struct mc_req *req);
/* Returns the length of a get that gets_complete() can complete from its bytes; 0: another. */
uint16_t pending_plain_get_bytes(const struct op *op);

/* ---- places (pending_places.c) ---- */

struct pending_lane *pending_lane_of(struct pending_table *pt, struct view key, uint64_t hash);
/* Takes a place for a request of session ss, or of a datagram if ss is NULL. Returns NULL if there
 * is none. */
struct pending *pending_place_take(struct pending_table *pt, struct session *ss,
				   struct pending_lane *lane);
/* Returns how many places the session may have by asking ahead. A lane may grant fewer. */
uint32_t pending_share(const struct serve *sv, const struct session *ss);
/* Notes the length of an answer to the session: the next ones are expected to be as long. */
void pending_length_seen(struct pending_table *pt, struct session *ss, const struct item *it);
/* Counts the answer that a session's request is expected to have, until pending_answer_end(). */
void pending_answer_begin(struct pending_table *pt, struct pending *a);
void pending_answer_end(struct pending_table *pt, const struct pending *a);
/* Charges the bytes of a value to its lane, until backend_value_end(). */
void pending_values_add(struct pending_table *pt, struct pending_lane *lane, uint32_t bytes);
/* True if there is a place for a request, and memory for a value of value_len bytes. */
bool pending_has_place(struct serve *sv, const struct session *ss, struct view key, uint64_t hash,
		       uint32_t value_len);
/* Puts the session at the end of its key's lane's queue, to wait for a place and for value_len
 * bytes. */
void pending_queue(struct serve *sv, struct session *ss, struct view key, uint64_t hash,
		   uint32_t value_len);
/* Takes back the granted place of a session that cannot use it, and queues the session again. */
void pending_postpone(struct serve *sv, struct session *ss);
/* Removes the session from its queue, and takes back its granted place. */
void pending_unqueue(struct serve *sv, struct session *ss);
/* Begins a turn: in each lane's queue the first session is granted a place, or fails if it has
 * waited too long. */
void pending_queues_serve(struct serve *sv);
/* True if no request waits for an answer. */
bool pending_none_asked(const struct pending_table *pt);
/* Puts a request into the list for this many parts of the timeout. */
static inline void
pending_asked_push(struct serve *sv, struct pending *a, uint32_t parts)
{
	struct pending_table *pt = sv->pending;

	a->deadline_ns = sv->clock.now_ns + pt->backend.timeout_ns * parts / PENDING_WAIT_PARTS;
	pt->asked_lists |= 1u << (parts - 1);
	list_push_back(&pt->asked[parts - 1], &a->due);
}

/* ---- the table (pending_table.c) ---- */

/* Asks for a key, for session ss or a line of a datagram. Returns NULL if there is no place. */
struct pending *pending_ask(struct serve *sv, struct session *ss, struct pending_line *line,
			    const struct mc_req *req, struct view key, uint64_t hash);
/* Asks for op, and inserts its pending request at *link. False: there is no place. */
bool pending_ask_at(struct serve *sv, struct op *op, struct pending **link, uint32_t offset);
/* Asks for a pending request again, whose answer has no item, or for the first time. */
void pending_ask_again(struct serve *sv, struct pending *a, const struct mc_req *req,
		       struct view key);
/* Keeps a retrieval of session ss. asks: it is asked for now; otherwise at its turn. The caller has
 * checked that there is a place (pending_has_place()). */
void pending_keep(struct serve *sv, struct session *ss, struct kept_request *kept, uint64_t hash,
		  bool asks);
/* Returns the last kept request of session ss with this key, or NULL. */
struct pending *pending_kept_find(const struct serve *sv, const struct session *ss, uint64_t hash);
/* True if a later kept request has the same key, so that this one cannot be asked for again. */
bool pending_is_followed(const struct serve *sv, const struct pending *a);
/* Notes that a request was taken out of its session's kept list. */
void pending_kept_end(struct serve *sv, struct pending *a);
/* Keeps a write, and asks for it. ss NULL: it is a datagram's. */
void pending_ask_write(struct serve *sv, struct session *ss, struct kept_request *write,
		       uint64_t hash, const struct fill *value);
/* Records the answer of a request; its owner will execute the request. */
void pending_answered(struct serve *sv, struct pending *a, const struct backend_answer *answer);
/* Appends an answered retrieval to the list `ready`. */
void pending_ready_push(struct serve *sv, struct pending *a);
/* Drops the unused answer of a kept retrieval, which is asked for again at its turn. If later
 * requests of its key may have been executed, it has failed instead. */
void pending_unask(struct serve *sv, struct pending *a);
/* Frees a pending request, which is in no list of its owner. */
void pending_free(struct serve *sv, struct pending *a);

/* Returns how the store's item may answer a retrieval, and in *cas the cas that clients see. item
 * NULL: the store has none. */
enum backend_copy pending_copy(const struct serve *sv, const struct mc_req *req,
			       const struct item *item, uint64_t *cas);
/* Samples the keys of n operations from first on, all answered by copies. */
void pending_copies_used(struct serve *sv, const struct op *first, uint32_t n);
/* Samples the key of a get that a copy answered without becoming an operation. */
void pending_copy_used(struct serve *sv, struct view key, uint64_t hash);
/* False if the backend does not have the key either, which the store was seen to lack. The first
 * call of a pass prefetches for all misses of the pass; prefetching in serve_prefetch() would cost
 * hits as well. */
bool pending_may_have(const struct serve *sv, struct view key, uint64_t hash);
/* Prefetches what the backend has of this pass's missed keys, before op sets one of them, which
 * makes the backend forget that key. */
void pending_sets(const struct serve *sv, const struct op *op);

/* Returns the first pending request of the list with this key, or NULL. */
static inline struct pending *
pending_find(struct pending *first, uint64_t hash)
{
	while (first != NULL && first->hash != hash)
		first = first->next;
	return first;
}

/* Ends the session's pending request at *link. */
void session_pending_end(struct serve *sv, struct session *ss, struct pending **link);
/* Ends op's pending request, whose reply is composed. */
void pending_end(struct serve *sv, struct op *op);
/* Ends the session's first pending request, whose answer is in the reply. */
void pending_pop(struct serve *sv, struct session *ss);
/* Drops an answer that was not used in time; its key is asked for again at its turn. */
void pending_drop(struct serve *sv, struct pending *a);
/* Drops all of the session's pending requests that are not kept. */
void pending_give_up(struct serve *sv, struct session *ss);
/* Adjusts the offsets of pending requests when the operations from ops[first] on go back as
 * bytes. */
void pending_rebase(struct serve *sv, struct session *ss, uint32_t first);

#endif

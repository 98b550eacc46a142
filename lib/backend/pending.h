/*
 * pending.h - pending requests, as the service sees them (backend.h: what a backend is asked).
 *
 * Private to lib/backend. A pending request (struct pending) belongs to a connection's session,
 * to a line of a datagram, or to a write of a datagram. A retrieval goes back as bytes into a
 * read buffer, or into a chunk of its own, and is executed again when its answer has arrived:
 * the pending request is found by the offset of those bytes. A write is kept in a chunk as it
 * was parsed, and is never executed again: its answer is an operation of its own
 * (OP_KEPT_WRITE). A retrieval of one key behind kept requests of its connection is kept as
 * well; OP_KEPT_GET executes it at its turn.
 *
 * Shape:  a session lists its pending requests in the order of its bytes: retrievals that are
 *         not kept in session.pending, kept requests in session.kept. session.read_buf begins
 *         behind the kept requests.
 *         Ticket: generation << PENDING_SLOT_BITS | slot.
 *
 * Owner:  a pending request is free, its session's, or its line's. The table owns a datagram's
 *         write.
 *
 * Thread: core-local.
 *
 * Bounds: backend.h.
 */
#ifndef CLOCKOO_PENDING_H
#define CLOCKOO_PENDING_H

#include "backend.h"
#include "backend_link.h"
#include "pending_unread.h"

#include "serve/serve_internal.h"

/* Flags that make mg change the stored item. */
#define MG_EFFECTS (MC_FLAG_VIVIFY | MC_FLAG_RECACHE | MC_FLAG_SET_EXPTIME | MC_FLAG_NEW_CAS)
static_assert(PENDING_MAX <= 1u << PENDING_SLOT_BITS, "a slot has its bits");

enum pending_state {
	PENDING_FREE,
	PENDING_ASKED,
	PENDING_READY,   /* answered; its request is not executed yet */
	PENDING_UNASKED, /* a kept retrieval, asked for at its turn if there is no copy then */
};

struct pending {
	/* In pending_table.asked until it is answered, then in ready, answered or answered_udp.
	 * That of a line is in no list once it is answered. */
	_Alignas(CACHE_LINE_BYTES) struct list due;
	uint64_t ticket, hash;
	struct session *session; /* NULL: a datagram's */
	struct pending *next;    /* in its owner's list, or in the free list */
	uint32_t offset;         /* of its request in the read buffer; of its datagram's line */
	uint16_t lane;
	uint16_t bytes;    /* length of a plain get; 0: any other request */
	uint16_t more;     /* bytes to the last get of its line that takes this answer too */
	uint8_t state;     /* enum pending_state */
	uint8_t times : 3; /* times it was asked for */
	uint8_t parts : 5; /* of the timeout, left to its first ask, less one */
	bool begins_line, ends_line; /* a plain get is the first, or last, of its line */
	bool passed_on; /* its request is answered; later ones of its line take it too */
	bool is_kept;   /* its request is kept; else its bytes are executed again */
	uint64_t deadline_ns;
	union {
		struct pending_line *line; /* NULL: a session's */
		struct kept_request *kept; /* NULL: it is being executed */
	};
	struct backend_answer answer;
};
static_assert(sizeof(struct pending) == 2 * CACHE_LINE_BYTES, "thousands of them stay near a core");

/* A write that was asked for, or a retrieval behind kept requests, as it was parsed. Lies in a
 * chunk. A session's lies in the chunk of its own reply, so the reply has its room. */
struct kept_request {
	struct pending *pending;
	struct mc_req req;        /* its key is key[] */
	struct datagram datagram; /* only its sender and its arrival */
	bool reads;               /* a retrieval */
	uint16_t udp_id;
	uint32_t bytes;            /* length of a datagram's request */
	struct pending_line *rest; /* what follows it in its datagram, or NULL */
	uint8_t key[MC_KEY_MAX];
};
static_assert(sizeof(struct kept_request) <= CHUNK_BYTES, "lies in a chunk");

/* The copied rest of a datagram, from the line of retrieval that waits, or from behind the
 * write that waits. */
struct pending_line {
	struct list link;              /* in no list while it waits */
	struct datagram datagram;      /* only its sender and its arrival */
	struct datagram_cursor cursor; /* over its bytes */
	uint8_t *bytes;                /* a chunk */
	uint32_t len;
	uint32_t begin;        /* offset of the line that waits, or waited last */
	uint32_t line_at, cut; /* of the line being read; of the one a pass left open */
	uint32_t counted;      /* lines that begin before this offset are counted as requests */
	uint32_t open;         /* pending keys of the line that waits */
	uint32_t tries;
	uint64_t since_ns;
	uint8_t protocol;
	struct pending *pending; /* of the line that waits, and of some behind it */
};

#define PENDING_KEPT_CELLS  1024u
#define PENDING_WAIT_PARTS  32u  /* of the timeout: a wait for a place counts in such parts */
#define AHEAD_GETS_MAX      64u  /* gets of a connection asked for at a time */
#define AHEAD_GETS_PER_TURN 512u /* gets asked for in a turn, besides operations */

struct pending_lane {
	uint32_t open;       /* pending requests and granted places */
	uint64_t values;     /* bytes of written values that have not ended, or are granted */
	struct list waiting; /* sessions without a place, by quota_link */
	struct list link;    /* in lanes_waiting while sessions wait */
};

/* A value that is sent while it arrives. */
struct arrival {
	struct session *reader; /* that sends it; NULL: none yet, or none any more */
	uint64_t ticket;
	uint32_t bytes; /* that may leave: less than the value's length */
	bool open;
};

struct pending_table {
	struct backend backend;
	uint32_t before_sample; /* keys that copies answer before the next sample */
	bool asked_in_turn, draining;
	uint32_t turn_pass;       /* the last pass before this turn */
	uint32_t prefetched_pass; /* the pass whose missed keys were last prefetched */
	uint32_t free_count, granted, udp_count;
	uint32_t kept_count;                  /* kept requests, each in a chunk */
	uint16_t kept_of[PENDING_KEPT_CELLS]; /* requests in lists of kept ones, by their hash */
	uint32_t first_bytes; /* about the longest of recent first answers of sessions */
	uint64_t values;      /* bytes, of all lanes */
	struct pending *free;
	/* Asked ones by the parts of the timeout that were left to them, less one; each list has
	 * the soonest deadline first. Lists without a bit in asked_lists are empty. */
	struct list asked[PENDING_WAIT_PARTS];
	uint32_t asked_lists;
	struct list ready;                  /* soonest deadline first; ready has no writes */
	struct list answered, answered_udp; /* kept requests, answered or not asked for */
	struct list lanes_waiting;
	struct list lines_free, lines_executed;
	struct list lines_ready;   /* the first one is being read if its line was left open */
	const uint8_t *line_start; /* of the datagram's line that the last pass left open */
	/* The last lane is the queue of newcomers, which uses neither link nor open. */
	struct pending_lane lanes[BACKEND_LANES_MAX + 1];
	struct arrival arrivals[BACKEND_LANES_MAX];
	bool unread_busy;   /* pending_unread_turn() has work */
	struct list unread; /* clients that have yet to read a value, the first to begin in front */
	uint64_t unread_bytes, unread_most;
	uint64_t unread_reset_ns, unread_spare_ns; /* the pace of their resets (pace_take) */
	struct budget unread_places;
	uint32_t unread_left;
	uint16_t unread_free[UNREAD_MAX];
	struct unread unread_table[UNREAD_MAX];
	uint32_t ahead_left, hits_left;  /* of this turn's limits */
	struct op ahead[AHEAD_GETS_MAX]; /* gets that are being asked for, and their bytes */
	uint8_t ahead_bytes[MC_LINE_MAX];
	struct pending table[PENDING_MAX];
	struct pending_line lines[PENDING_LINES_MAX];
	struct link_layer layer; /* open NULL: there is none */
	struct serve_backend_ops layered;
};

/* ---- kinds of requests (pending_kinds.c) ---- */

/* True for a retrieval without an effect, which may be asked for before its turn. */
bool pending_reads(const struct mc_req *req);
/* True if the backend executes this request: it is asked for once, at its turn. */
bool pending_is_write(const struct serve *sv, const struct mc_req *req);
/* True if this request changes the stored version, or shows what only the store knows. */
bool pending_promotes(const struct mc_req *req);
/* True if it may stand in a pipeline with writes: one key, and no value in a write's answer. */
bool pending_is_keyed_write(const struct mc_req *req);
bool pending_is_keyed_read(const struct mc_req *req);
/* Returns the bytes of a get that gets_complete() completes as it is written; 0 for any other. */
uint16_t pending_plain_get_bytes(const struct op *op);

/* ---- places (pending_places.c) ---- */

struct pending_lane *pending_lane_of(struct pending_table *pt, struct view key, uint64_t hash);
/* Returns a place for a request of session ss, or of a datagram if ss is NULL. Returns NULL if
 * there is none. */
struct pending *pending_place_take(struct pending_table *pt, struct session *ss,
				   struct pending_lane *lane);
/* Returns how many places the session may have, asked for ahead. A lane may have fewer. */
uint32_t pending_share(const struct serve *sv, const struct session *ss);
/* Notes the value of an answer to the session: later ones are expected to be as long. */
void pending_length_seen(struct pending_table *pt, struct session *ss, const struct item *it);
/* Charges the bytes of a value to its lane, until backend_value_end(). */
void pending_values_add(struct pending_table *pt, struct pending_lane *lane, uint32_t bytes);
/* True if there is a place for a request, and room for value_len bytes of its value. */
bool pending_has_place(struct serve *sv, const struct session *ss, struct view key, uint64_t hash,
		       uint32_t value_len);
/* Puts the session at the end of the queue of the key's lane: it waits for a place and for
 * value_len bytes. */
void pending_queue(struct serve *sv, struct session *ss, struct view key, uint64_t hash,
		   uint32_t value_len);
/* Takes back the place of a session that cannot use it, and queues the session again. */
void pending_postpone(struct serve *sv, struct session *ss);
/* Takes the session out of the queue, and takes back its granted place. */
void pending_unqueue(struct serve *sv, struct session *ss);
/* Begins a turn: the first session in the queue of a lane is granted a place, or fails if it
 * has waited too long. */
void pending_queues_serve(struct serve *sv);

/* True if no request waits for an answer. */
bool pending_none_asked(const struct pending_table *pt);
/* Puts a request with this many parts of the timeout left to those that wait for an answer. */
static inline void
pending_asked_push(struct serve *sv, struct pending *a, uint32_t parts)
{
	struct pending_table *pt = sv->pending;

	a->deadline_ns = sv->clock.now_ns + pt->backend.timeout_ns * parts / PENDING_WAIT_PARTS;
	pt->asked_lists |= 1u << (parts - 1);
	list_push_back(&pt->asked[parts - 1], &a->due);
}

/* ---- the table (pending_table.c) ---- */

/* Asks for a key, for session ss or for a line of a datagram. NULL: there is no place. */
struct pending *pending_ask(struct serve *sv, struct session *ss, struct pending_line *line,
			    const struct mc_req *req, struct view key, uint64_t hash);
/* Asks for op and inserts its pending request at *link. False if there is no place. */
bool pending_ask_at(struct serve *sv, struct op *op, struct pending **link, uint32_t offset);
/* Asks again for a pending request whose answer has no item, or for the first time. */
void pending_ask_again(struct serve *sv, struct pending *a, const struct mc_req *req,
		       struct view key);
/* Keeps a retrieval of session ss. asks: it is asked for now, else at its turn. There must be a
 * place (pending_has_place()). */
void pending_keep(struct serve *sv, struct session *ss, struct kept_request *kept, uint64_t hash,
		  bool asks);
/* Returns the last kept request of session ss for the key, or NULL. */
struct pending *pending_kept_find(const struct serve *sv, const struct session *ss, uint64_t hash);
/* True if a kept request of the same key follows this one, which then cannot be asked for again. */
bool pending_is_followed(const struct serve *sv, const struct pending *a);
/* Notes that a request that is taken out of the list of kept ones is no longer kept. */
void pending_kept_end(struct serve *sv, struct pending *a);
/* Keeps a write and asks for it. ss NULL: a datagram's. */
void pending_ask_write(struct serve *sv, struct session *ss, struct kept_request *write,
		       uint64_t hash, const struct fill *value);
/* Ends the wait of a request that was asked for: its owner executes it. */
void pending_answered(struct serve *sv, struct pending *a, const struct backend_answer *answer);
/* Puts an answered retrieval at the end of those whose answers are not used yet. */
void pending_ready_push(struct serve *sv, struct pending *a);
/* Drops the unused answer of a kept retrieval, which is asked for again at its turn. Requests of
 * its key behind it may have been executed: then it has failed. */
void pending_unask(struct serve *sv, struct pending *a);
/* Frees a pending request that its owner has taken out of its list. */
void pending_free(struct serve *sv, struct pending *a);

/* Returns how the store's item may answer a retrieval, and in *cas the cas that clients see of
 * it; item NULL: the store has none. */
enum backend_copy pending_copy(const struct serve *sv, const struct mc_req *req,
			       const struct item *item, uint64_t *cas);
/* Samples the keys of n operations from first on, which copies answered. */
void pending_copies_used(struct serve *sv, const struct op *first, uint32_t n);
/* Samples the key of a get that a copy answered without becoming an operation. */
void pending_copy_used(struct serve *sv, struct view key, uint64_t hash);
/* False if a key that the store was seen to lack is not in the backend either. The first call
 * of a pass prefetches for all its misses; in serve_prefetch() hits would pay for that. */
bool pending_may_have(const struct serve *sv, struct view key, uint64_t hash);
/* Prefetches what the backend has of this pass's missed keys before op sets one of them, which
 * makes the backend forget its version. */
void pending_sets(const struct serve *sv, const struct op *op);

/* Returns the pending request of this list for the key, or NULL. A pending key of another line
 * is asked for again only at its turn, so that a connection never reads an older value after a
 * newer one. */
static inline struct pending *
pending_find(struct pending *first, uint64_t hash)
{
	while (first != NULL && first->hash != hash)
		first = first->next;
	return first;
}

/* Ends the session's pending request at *link. */
void session_pending_end(struct serve *sv, struct session *ss, struct pending **link);
/* Ends the pending request of op, whose reply is composed. */
void pending_end(struct serve *sv, struct op *op);
/* Ends the session's first pending request, whose answer is in the reply. */
void pending_pop(struct serve *sv, struct session *ss);
/* Drops an answer that was not used in time. Its key is asked for again at its turn. */
void pending_drop(struct serve *sv, struct pending *a);
/* Drops the session's pending requests that are not kept. */
void pending_give_up(struct serve *sv, struct session *ss);
/* Moves the offsets of pending requests when operations from ops[first] on go back. */
void pending_rebase(struct serve *sv, struct session *ss, uint32_t first);

#endif

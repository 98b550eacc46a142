/*
 * pending.h - asks that are open, as the service sees them (backend.h says what they are).
 *
 * Private to lib/backend. An await belongs to a connection's session, to a line of a datagram, or
 * to a write of a datagram. The request of a retrieval goes back as bytes into a read buffer, or
 * into a chunk of its own, and is executed again when the answer is here: the await is found by
 * where its request stands in there. A write is kept as it was parsed, in a chunk, and never
 * executed again: its answer is an operation of its own (OP_KEPT_WRITE). So is a retrieval of a key
 * that stands behind kept requests of its connection: that operation executes it, at its turn.
 *
 * Shape:  a session's awaits are a list in the order of its bytes: session.awaits of retrievals
 *         that are not kept, or session.kept. Behind kept requests session.read_buf begins.
 *         Ticket: generation << AWAIT_SLOT_BITS | slot.
 *
 * Owner:  an await is free, or its session's, or its line's; a datagram's write is the table's.
 *
 * Thread: core-local.
 *
 * Bounds: backend.h.
 */
#ifndef CLOCKOO_PENDING_H
#define CLOCKOO_PENDING_H

#include "backend.h"

#include "serve/serve_internal.h"

/* Flags by which a mg changes what is there. */
#define MG_EFFECTS (MC_FLAG_VIVIFY | MC_FLAG_RECACHE | MC_FLAG_SET_EXPTIME | MC_FLAG_NEW_CAS)
static_assert(AWAITS_MAX <= 1u << AWAIT_SLOT_BITS, "a slot has its bits");

enum await_state {
	AWAIT_FREE,
	AWAIT_ASKED,
	AWAIT_READY,   /* answered; its request is not executed yet */
	AWAIT_UNASKED, /* kept, of a retrieval; asked for at its turn, if there is no copy then */
};

struct await {
	/* In awaits.asked; answered, of a line in none, else in another one. */
	_Alignas(CACHE_LINE_BYTES) struct list due;
	uint64_t ticket, hash;
	struct session *session; /* NULL: of a datagram */
	struct await *next;      /* its owner's; a free one's: the next free one */
	uint32_t offset;         /* of its request, in the read buffer; of its line */
	uint16_t lane;
	uint16_t bytes;              /* of a plain get; 0: of anything else */
	uint16_t more;               /* to the last one of its line that names the key, too */
	uint8_t state;               /* enum await_state */
	uint8_t times;               /* that it was asked for */
	bool begins_line, ends_line; /* of a plain get */
	bool passed_on;              /* its request is answered, and others of its line are not */
	bool is_kept;                /* its request is; else that is executed again */
	uint64_t deadline_ns;
	union {
		struct awaited_line *line; /* NULL: of a session */
		struct kept_request *kept; /* NULL: it is executed now */
	};
	struct serve_answer answer;
};
static_assert(sizeof(struct await) == 2 * CACHE_LINE_BYTES, "thousands of them stay near a core");

/* A write that was asked, or a retrieval behind requests that are kept. Lies in a chunk: of a
 * session that of its reply, which so has its room. */
struct kept_request {
	struct await *await;
	struct mc_req req;        /* its key is key[] */
	struct datagram datagram; /* only who sent it */
	bool reads;               /* a retrieval */
	uint16_t udp_id;
	uint32_t bytes;            /* of the datagram's request */
	struct awaited_line *rest; /* behind it in its datagram; NULL: nothing */
	uint8_t key[MC_KEY_MAX];
};
static_assert(sizeof(struct kept_request) <= CHUNK_BYTES, "lies in a chunk");

/* The rest of a datagram: from a line of retrieval on that waits, or behind a write that waits. */
struct awaited_line {
	struct list link;              /* in none while it waits */
	struct datagram datagram;      /* only who sent it */
	struct datagram_cursor cursor; /* over its bytes */
	uint8_t *bytes;                /* a chunk */
	uint32_t len;
	uint32_t begin;        /* of the line that waits, or has waited last */
	uint32_t line_at, cut; /* of the line that is read; of one left open by a pass */
	uint32_t counted;      /* lines that begin in front of it were, as requests */
	uint32_t open;         /* awaits of the line that waits: not ready */
	uint32_t tries;
	uint64_t since_ns;
	uint8_t protocol;
	struct await *awaits; /* of that line, and of some behind it */
};

#define AHEAD_GETS_MAX      64u  /* gets of a connection that are asked for at a time */
#define AHEAD_GETS_PER_TURN 512u /* gets asked for in a turn, besides operations */

struct await_lane {
	uint32_t open;       /* asked, or granted */
	uint64_t values;     /* bytes of values: asked with and not ended, or granted */
	struct list waiting; /* sessions without a place, by quota_link */
	struct list link;    /* in lanes_waiting while there are some */
};

struct awaits {
	struct serve_supplier supplier;
	bool asked_in_turn, draining;
	uint32_t turn_pass;       /* the pass in front of this turn's first one */
	uint32_t prefetched_pass; /* of which the supplier was told what is missed */
	uint32_t free_count, granted, udp_count;
	uint32_t kept_count; /* requests, each in a chunk */
	uint64_t values;     /* of all lanes */
	struct await *free;
	struct list asked, ready;           /* soonest deadline first; ready: no writes */
	struct list answered, answered_udp; /* kept, and not told; or not asked for */
	struct list lanes_waiting;
	struct list lines_free, lines_executed;
	struct list lines_ready;   /* first the one that is read, if a pass left its line open */
	const uint8_t *line_start; /* of the datagram's line that the last pass left open */
	struct await_lane lanes[AWAIT_LANES_MAX];
	uint32_t ahead_left, hits_left;  /* in this turn */
	struct op ahead[AHEAD_GETS_MAX]; /* those that are asked for now */
	struct await table[AWAITS_MAX];
	struct awaited_line lines[AWAITED_LINES_MAX];
};

/* ---- the table (pending_table.c) ---- */

/* Begin of a turn: answers, deadlines. */
void awaits_turn(struct serve *sv);
/* Asks for the key of op, whose hash is known. NULL: there is no place. Of session ss, or of line.
 */
struct await *await_ask(struct serve *sv, struct session *ss, struct awaited_line *line,
			const struct mc_req *req, struct view key, uint64_t hash);
/* Asks once more for a key whose answer has no item, or now for a key that was not asked for. */
void await_ask_again(struct serve *sv, struct await *a, const struct mc_req *req, struct view key);
/* True if who has waited for timeout_ns for an answer of this lane, or for a place, waits on. */
static inline bool
await_lane_is_coming(const struct awaits *aw, uint32_t lane)
{
	return !aw->draining && aw->supplier.is_coming != NULL &&
	       aw->supplier.is_coming(aw->supplier.arg, lane);
}

/* Returns the await of this list for the key, or NULL. A key that is waited for is asked for
 * once more only at its turn, unless it is in the same line, so that a connection never reads an
 * older value after a newer one. */
static inline struct await *
awaits_find(struct await *first, uint64_t hash)
{
	while (first != NULL && first->hash != hash)
		first = first->next;
	return first;
}
/* A kept retrieval of session ss. There is a place: await_has_place(). asks: now, else at its turn.
 */
void await_keep(struct serve *sv, struct session *ss, struct kept_request *kept, uint64_t hash,
		bool asks);
/* The same of a write of session ss, or of a datagram, which is asked now. */
void await_ask_write(struct serve *sv, struct session *ss, struct kept_request *write,
		     uint64_t hash, const struct fill *value);
/* True if there is a place for a write with so many bytes of value. */
bool await_has_place(struct serve *sv, const struct session *ss, struct view key, uint64_t hash,
		     uint32_t value_len);
/* Its owner does not list it any more. */
void await_free(struct serve *sv, struct await *a);
/* The session has no place yet, nor one for so many bytes: to the end of its lane's queue. */
void await_queue(struct serve *sv, struct session *ss, struct view key, uint64_t hash,
		 uint32_t value_len);
/* It cannot use the place that it is granted: to the end of the queue. */
void await_postpone(struct serve *sv, struct session *ss);
/* It leaves the queue, or does not need its place. */
void await_unqueue(struct serve *sv, struct session *ss);

/* Returns how the store's item may answer a retrieval; item NULL: the store has none. */
enum serve_copy await_copy(const struct serve *sv, const struct mc_req *req,
			   const struct item *item);
/* Returns the cas of a copy in the store. */
uint64_t await_copy_cas(const struct serve *sv, const struct item *item);
/* n operations from first on were answered by copies. */
void await_copies_used(struct serve *sv, const struct op *first, uint32_t n);
/* A get that was no operation was. */
void await_copy_used(struct serve *sv, const struct view *key, uint64_t hash);

/* ---- connections (pending_order.c) ---- */

enum await_status {
	AWAIT_ANSWERED, /* *answer is what the supplier says; await_end() follows */
	AWAIT_FAILED,   /* it says nothing, and an error is to be told */
	AWAIT_LATER,    /* await_later() follows */
};

/* A retrieval has found nothing in the store. */
enum await_status await_read(struct serve *sv, struct op *op, struct serve_answer *answer);
/* The reply to op is composed. */
void await_end(struct serve *sv, struct op *op);
/* Tells that op has failed, or the error of its answer; what follows of its line is not answered.
 */
void await_fail(struct serve *sv, struct op *op, const struct serve_answer *answer);

static inline enum exec_status
await_later(const struct op *op)
{
	return op->session != NULL ? EXEC_RETRY : EXEC_LATER;
}

/* True if the session may get a read buffer for a request that waits. Requests that wait take
 * half of the buffers at most, because partial lines need the others. */
bool await_may_defer(const struct serve *sv, const struct session *ss);

/* True for a retrieval without an effect, which may be asked for before its turn. */
bool await_reads(const struct mc_req *req);
/* False: a key that the store was seen to lack is nowhere. The first one of a pass tells the
 * supplier of all that it has missed; in serve_prefetch() hits would pay for that. */
bool await_may_have(const struct serve *sv, struct view key, uint64_t hash);
/* A key that op has missed is about to be set, of which the supplier forgets what it has. */
void await_sets(const struct serve *sv, const struct op *op);
/* True if this request has an effect on the stored version, or shows what only the store knows. */
bool await_brings(const struct mc_req *req);
/* Asks for such a request's key, which the store lacks. True if the request waits: await_later()
 * follows, or for a body the session is BODY_FILLED. */
bool await_bring(struct serve *sv, struct op *op);
/* A miss is to be told, though the supplier may have the key: it has nothing from now on. NULL, or
 * what the store has by then. */
const struct item *await_missed(struct serve *sv, const struct op *op);

/* True if an earlier part of the same line has returned an answer for this key. The same answer
 * is returned again, even if a copy has come and gone since. */
bool await_is_told(struct serve *sv, const struct op *op);

/* Operations from ops[first] on go back into the read buffer. */
void awaits_rebase(struct serve *sv, struct session *ss, uint32_t first);
/* Whether the session's next request waits. If not, nothing behind one that does is parsed; and
 * the answer to its write is an operation now. */
bool awaits_wait(struct serve *sv, struct session *ss);
/* The session's operations of this pass are executed; what stands behind them may be asked for. */
void awaits_sweep(struct serve *sv, struct session *ss);
/* The answer has not been used for long: it is to be asked for again. */
void await_drop(struct serve *sv, struct await *a);
/* The first of the session's awaits has been told. */
void awaits_pop(struct serve *sv, struct session *ss);
/* None of the session's asks is wanted. */
void awaits_give_up(struct serve *sv, struct session *ss);
/* The session ends. */
void awaits_forget(struct serve *sv, struct session *ss);
/* Ends a pass. Behind the last pass of a turn the backend hears that its requests are complete. */
void awaits_pass_end(struct serve *sv);

/* Operations that will stand one behind the other, from offset on in the read buffer, behind all
 * that wait. How many: what stands behind them has found no place. */
uint32_t awaits_ask_more(struct serve *sv, struct session *ss, struct op *ops, uint32_t n,
			 uint32_t offset);

/* ---- gets that are no operations yet (pending_ahead.c) ---- */

/* True if gets behind the operations of the pass, all of which are asked for, may be asked for
 * too. */
bool session_is_ahead(const struct session *ss);
/* Asks for further gets that the connection of a session that is ahead has received. */
void gets_ask_ahead(struct serve *sv, struct session *ss);
/* Plain gets that waited (pending_ahead.c): as far as their answers are here they are told, in
 * order, without being parsed again. What is for another path stays. */
void gets_tell(struct serve *sv, struct session *ss);

/* ---- writes (pending_kept.c) ---- */

/* True if this request is asked of the backend at its turn, and once. */
bool await_is_write(const struct serve *sv, const struct mc_req *req);
/* True if this request is asked for whatever the store has. */
bool await_passes_copies(const struct serve *sv, const struct mc_req *req);

/* ---- datagrams (pending_datagrams.c) ---- */

/* Keeps the line of op, and asks for all its keys that are missed. */
void awaited_line_keep(struct serve *sv, struct op *op);
void awaited_lines_pass_end(struct serve *sv);
void awaited_lines_drop(struct serve *sv);
/* Operations of what is answered. False: one of the lines is not at its end. */
bool awaited_lines_parse(struct serve *sv);
struct await *awaited_line_find(struct serve *sv, const struct op *op);
/* The line of op is executed from its beginning, once one of its keys is answered again. */
void awaited_line_again(struct serve *sv, struct op *op);
/* Nothing more of the line of op is answered. */
void awaited_line_fail(struct serve *sv, struct op *op);
/* True if the datagram of op has waited for so long that nothing more of it is asked for. */
bool awaited_line_is_late(struct serve *sv, const struct op *op);
/* A write is about to be asked: what was told before it is released first. Nothing behind it was
 * asked for. */
void awaited_line_give_up(struct serve *sv, const struct op *op);
/* A write is asked: what stands behind it in its datagram waits for awaited_rest_go_on(). NULL:
 * nothing. */
struct awaited_line *awaited_rest_keep(struct serve *sv, struct op *op);
void awaited_rest_go_on(struct serve *sv, struct awaited_line *rest);

#endif

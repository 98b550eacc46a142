/*
 * backend.h - requests that a backend answers in a later turn: retrievals of keys that the store
 * lacks, and writes if the backend executes them.
 *
 * A backend (struct backend) is a front, which asks servers, or the flash tier, which
 * reads a device. Without a backend no function of this room is called, and a retrieval that
 * finds nothing in the store is a miss at once.
 *
 * The mode of a backend (enum serve_backend_mode) is one of three. A second tier answers misses,
 * and promotes keys on which writes depend. A read-only backend answers misses. An owner of all
 * writes also executes them, so that the store's items are copies.
 *
 * Each turn: poll() runs before requests are read. While requests are executed, ask() is called for
 * every missed key, and for every write if the backend executes writes. send() is called once,
 * after all requests.
 *
 * A request is executed "at its turn", when all earlier requests of its connection are completed.
 * Asking the backend "ahead" means to ask before that turn.
 *
 * Shape:  a ticket names one pending request and is never used again. The requests of a connection
 *         are executed and completed in order.
 *         Retrievals that follow a pending one in the same pass are asked for ahead if they may be
 *         executed twice: get, gets, mg without N, R, T and E, binary gets. A key for which the
 *         connection already waits is not asked for ahead; a second time in the same line of text,
 *         it gets the same answer.
 *         Writes, with BACKEND_WRITES, are all commands that store, delete, incr and decr, touch,
 *         gat, flush_all, ms, md, ma, mg with N, R, T or E, and their binary twins, including
 *         noreply and quiet ones. The store executes none of them; ask() also updates the store's
 *         copy of the key. A write is asked for once, and at its turn, except in a pipeline.
 *         A pipeline is a write and the requests that follow it: writes (except gat, mg and
 *         flush_all) and retrievals of one key are asked for ahead, at most PENDING_KEPT_MAX
 *         together. If an earlier one has the same key, and the backend does not execute the two in
 *         order (follows()), a write waits and a retrieval is asked for at its turn. A retrieval
 *         that a copy answers is executed at its turn. No other request is executed before the
 *         earlier write is answered, and all are completed in order.
 *         All keys of a gat line in a datagram are asked for at once, each once.
 *         Promotion, with BACKEND_PROMOTES, is for a write that depends on the stored version of
 *         its key, if the store lacks the key and may_have() says that the backend may have it. The
 *         key is asked for at the write's turn. The answer says only that the store has the key
 *         now, or that neither has it. After any answer the store executes the write. If the store
 *         has evicted the key again by then, it is asked for again, PENDING_TIMES_MAX times in all.
 *
 * Units:  ns of the clock of serve_turn().
 *
 * Owner:  views in an ask are valid during the call. The item of an answer stays the backend's, and
 *         does not change until release(), except that a value may still be arriving. After
 *         release() only pinned parts of it can be reached (store_abandon() keeps the pinned parts
 *         of a fill).
 *         A write's value belongs to the backend from ask() on. The backend publishes or abandons
 *         it, even if the request has ended before, and then calls backend_value_end().
 *
 * Thread: core-local.
 *
 * Errors: a request fails if it has no answer for timeout_ns, in which the wait for a place counts.
 *         It is forgotten then, unless its answer is arriving (is_coming()), or an earlier answer
 *         of its connection is. It also fails if it finds no place for timeout_ns, arrives in a
 *         drain, or finds no buffer for its bytes. A failed retrieval is answered by a miss, or by
 *         an error that ends its line of text (misses_on_failure).
 *         A datagram that finds no place is dropped.
 *         An answer is released, and its key is asked for once more, if its connection has no room
 *         for it for timeout_ns, or if the backend needs its memory (backend_answer_yield()). If
 *         the key was written since, the answer is not released; once its memory is needed, it
 *         counts as failed.
 *         A failed write is always answered by an error. If it was asked for, it may or may not
 *         have been done. A failed flush_all with noreply ends its connection. Room for a write's
 *         reply is reserved from ask() on. A write that is refused for its size or for lack of
 *         memory is not asked for.
 *
 * Bounds: a core has PENDING_MAX places for pending requests. A connection has at most
 *         PENDING_SESSION_MAX of them, and fewer while few are free; the last PENDING_FIRST_ONLY
 *         are for connections without any. Answers asked for ahead are limited to what a
 *         connection's client takes (BUDGET.md). A lane, which is a server or a disk, has at most
 *         as many places as are free.
 *         Datagrams have PENDING_UDP_MAX places, in PENDING_LINES_MAX requests of at most
 *         CHUNK_BYTES.
 *         In a turn PENDING_ENDED_PER_TURN requests end by their deadline, poll() answers a few
 *         hundred at most, and HITS_PER_TURN hits are completed between gets that have waited.
 *         A connection has PENDING_KEPT_MAX kept requests: writes, and retrievals that follow
 *         them. All kept requests hold an eighth of the chunks at most. While they hold a
 *         sixteenth of the chunks, or PENDING_KEPT_PLACES places, a connection that has one gets
 *         no more, since its client might not read, and then they would not be freed.
 *         Values of writes that have not ended take at most half as much memory as the fill quota,
 *         divided among the cores; a single value may take more. A lane takes at most as much of
 *         that as is free.
 */
#ifndef CLOCKOO_BACKEND_H
#define CLOCKOO_BACKEND_H

#include "proto/mc_req.h"
#include "serve/serve_backend.h"

#ifndef FEW_PENDING
#define PENDING_MAX         4096u
#define PENDING_SESSION_MAX 640u
#define PENDING_FIRST_ONLY  1024u
#define PENDING_UDP_MAX     1536u
#define PENDING_LINES_MAX   64u
#define HITS_PER_TURN       512u
#define PENDING_KEPT_MAX    512u
#define UNREAD_MAX          1024u
#else /* small values for tests that fill the table */
#define PENDING_MAX         24u
#define PENDING_SESSION_MAX 6u
#define PENDING_FIRST_ONLY  6u
#define PENDING_UDP_MAX     6u
#define PENDING_LINES_MAX   3u
#define HITS_PER_TURN       100u
#define PENDING_KEPT_MAX    4u
#define UNREAD_MAX          8u
#endif
#define PENDING_KEPT_PLACES ((PENDING_MAX - PENDING_FIRST_ONLY) / 2)
/* A session gets 1/PENDING_SESSION_PART of the free places. */
#define PENDING_SESSION_PART   (PENDING_MAX / 1024 + (PENDING_MAX < 256 ? 2 : 0))
#define PENDING_ENDED_PER_TURN 256u
#define BACKEND_LANES_MAX      1024u
/* After a datagram has waited for this many timeouts, no more of it is asked for. */
#define PENDING_LINE_TIMEOUTS 4u
/* How often a key is asked for at most. */
#define PENDING_TIMES_MAX 4u

enum backend_ask_kind {
	BACKEND_ASK_READ,    /* answer a retrieval of a key that the store lacks */
	BACKEND_ASK_PROMOTE, /* put the key's item into the store; the answer has no item */
	BACKEND_ASK_WRITE,   /* execute a write */
};

struct backend_ask {
	uint64_t ticket;
	uint64_t hash;
	struct view key;          /* the decoded key; for flush_all empty, with hash 0 */
	const struct mc_req *req; /* verb and arguments; the key in it may be base64 */
	/* The complete value of a write, with the expiry and flags of the request; NULL: it has
	 * none. */
	const struct fill *value;
	uint32_t lane;
	uint8_t kind; /* enum backend_ask_kind */
	/* True if an earlier request of this key and connection is not completed yet. This one must
	 * be executed after it, and may not share the request of another client. */
	bool behind;
};

/* Whether the store's item of a key may answer a retrieval. */
enum backend_copy {
	BACKEND_COPY_NONE, /* no copy may answer, so the backend is asked */
	BACKEND_COPY_HERE, /* the copy is the answer */
	BACKEND_COPY_MISS, /* the copy shows that the key is a miss */
};

/* The functions that only a second tier has (BACKEND_PROMOTES). */
struct backend_tier {
	/* Returns false if, at some moment after the store was seen to lack the key, neither the
	 * store nor the backend had it. Then the answer is a miss. May be NULL: true. */
	bool (*may_have)(void *arg, struct view key, uint64_t hash);
	/* Prefetches what may_have() reads, for `count` keys that the store lacked, at most
	 * OPS_MAX. Called before the first may_have() of a pass. May be NULL. */
	void (*prefetch)(void *arg, const uint64_t *hashes, uint32_t count);
	/* Makes the backend forget a key for which it was not asked, or has not answered. Called
	 * before a miss of the key is answered or a write of it is executed. Returns false if the
	 * store has the key now. May be NULL. */
	bool (*missed)(void *arg, struct view key, uint64_t hash);
};

/* The functions that only an owner of all writes has (BACKEND_WRITES); the store's items are
 * copies. */
struct backend_copies {
	/* Deletes a key whose set was refused before the backend was asked, so that the old version
	 * does not stay. There is no answer. May be NULL: the old version stays. */
	void (*drop)(void *arg, struct view key, uint64_t hash);
	/* Returns whether the store's item may answer a request: a retrieval other than a plain
	 * get, or a `me`. *cas is the item's, and is replaced by the one that clients see. May be
	 * NULL: every item is a copy that may answer. */
	enum backend_copy (*answers)(void *arg, const struct mc_req *req, const struct item *item,
				     uint64_t *cas);
	/* Takes a sample: a key that a copy has answered. Returns how many such keys are skipped
	 * before the next sample. May be NULL: there are no samples. */
	uint32_t (*sample)(void *arg, struct view key, uint64_t hash);
};

/* A backend. Only the functions ask, poll, forget and release are required. */
struct backend {
	void *arg;
	enum serve_backend_mode mode; /* PROMOTES, READS or WRITES */
	bool misses_on_failure;       /* a failed get is answered as a miss */
	uint32_t lanes;               /* 1..BACKEND_LANES_MAX */
	uint64_t timeout_ns;          /* above 0 */
	uint64_t answer_bytes_max;    /* limit for the memory of answers' values; 0: none */
	/* Begins a request. The answer comes during a poll(), never during ask(). */
	void (*ask)(void *arg, const struct backend_ask *ask);
	/* Sends the requests of this turn. Called once a turn, after all passes. */
	void (*send)(void *arg);
	/* Begins a turn: the backend calls backend_answer() for each answer that it has. */
	void (*poll)(void *arg, uint64_t now_ns);
	/* Returns how many bytes the values of answers hold, including those that are arriving.
	 * Called only if answer_bytes_max is set. */
	uint64_t (*answer_bytes)(const void *arg);
	/* Drops a pending request; from now on backend_answer() of its ticket returns false. */
	void (*forget)(void *arg, uint64_t ticket);
	/* Ends the use of the item of an answer that was accepted. */
	void (*release)(void *arg, uint64_t ticket, const struct item *item);
	/* Returns the lane of a key. May be NULL if there is only one lane. */
	uint32_t (*lane)(void *arg, struct view key, uint64_t hash);
	/* True if a request of this key that is asked for now will be executed after the pending
	 * request of this ticket, which has the same key. May be NULL: false. */
	bool (*follows)(void *arg, uint64_t ticket, struct view key, uint64_t hash);
	/* Called when a request has waited for timeout_ns. True if its answer is arriving, so that
	 * it should wait longer, by a part of timeout_ns. May be NULL: false. */
	bool (*is_coming)(void *arg, uint64_t ticket);
	/* Returns when poll() next has work without an event; UINT64_MAX: never. May be NULL. */
	uint64_t (*next_ns)(void *arg);
	struct backend_tier tier;
	struct backend_copies copies;
};

size_t backend_bytes(void);
/* Attaches a backend, once, before the core's first turn. The struct is copied. */
void backend_attach(struct region *region, struct serve *sv, const struct backend *backend);

/* Returns the attached backend, or NULL. */
const struct backend *backend_of(const struct serve *sv);

/* Returns the slot of a ticket, below PENDING_MAX. Two tickets of one core have different slots
 * while each is pending or has an item to release. */
#define PENDING_SLOT_BITS 16u
static inline uint32_t
backend_ticket_slot(uint64_t ticket)
{
	return (uint32_t)(ticket & ((1u << PENDING_SLOT_BITS) - 1));
}

/* Returns this turn's second of the store's clock, by which items expire. */
uint32_t serve_now_s(const struct serve *sv);
/* Returns the wall clock's second of this turn. */
int64_t serve_unix_s(const struct serve *sv);

/* Prefetches the pending request of a ticket that will be answered soon. */
void backend_answer_prefetch(const struct serve *sv, uint64_t ticket);
/* Answers a pending request. Called in poll(). Returns false if the request is no longer pending;
 * then no release() follows. */
bool backend_answer(struct serve *sv, uint64_t ticket, const struct backend_answer *answer);

/* Releases an answer that is not sent yet, because the backend needs its memory. Called in poll().
 * Its key is asked for again at its turn. Large answers are chosen first: among them first one
 * whose client does not read, then one that is not the next of its connection. Returns false if
 * there is none. */
bool backend_answer_yield(struct serve *sv);

/* ---- values that are sent while they arrive ---- */

/* An arrival is a value that arrives. The backend numbers its arrivals from 1 to BACKEND_LANES_MAX.
 * All these functions are called in poll(). */

/* True if the ticket's request is the next one of its connection, so that sending its value may
 * begin before it has arrived completely. */
bool backend_is_next(const struct serve *sv, uint64_t ticket);
/* Begins the arrival of a value. The next backend_answer() of this ticket is about this arrival. */
void backend_arrival_begin(struct serve *sv, uint32_t number, uint64_t ticket);
/* Allows the value's first `bytes` bytes to be sent; always fewer than all. */
void backend_arrival_goes_on(struct serve *sv, uint32_t number, uint32_t bytes);
/* Allows all of the value to be sent. */
void backend_arrival_end(struct serve *sv, uint32_t number);
/* Ends an arrival whose rest will not come. A client that has received a part of the value is
 * reset; any other request fails. */
void backend_arrival_lost(struct serve *sv, uint32_t number);

/* Sets whether requests bypass the copies from now on. Called in poll(). */
void backend_copies_bypass(struct serve *sv, bool bypass);

/* Ends the charge of a write's value to this lane, once the value is published or abandoned. */
void backend_value_end(struct serve *sv, uint32_t lane, uint32_t value_len);

/* Returns when a turn is needed for the backend or for a deadline; UINT64_MAX: none is. */
uint64_t backend_next_timer(const struct serve *sv);

/* Drains pending requests, before a stop closes connections. Called before each turn. New requests
 * fail at once; with `hurry` pending ones do, too. True if no request is pending, and all answers
 * have had a turn in which to be sent. */
bool backend_drain(struct serve *sv, bool hurry);

/* Returns the number of pending requests and of granted places together. */
uint32_t backend_pending(const struct serve *sv);

#endif

/*
 * backend.h - requests that a backend answers in a later turn: retrievals of keys that the
 * store lacks, and writes if the backend executes them.
 *
 * A backend (struct backend) is a front, which asks servers, or the flash tier, which
 * reads a device. Without a backend no function of this room is called, and a retrieval that
 * finds nothing in the store is a miss at once.
 *
 * Its mode (enum serve_backend_mode) says what it is: a second tier, which answers misses and
 * promotes keys that writes depend on; one that only answers misses; or the owner of all writes,
 * of whose items the store has copies.
 *
 * Each turn:  poll() runs before requests are read. While requests are executed, ask() is
 *             called for every missed key and every write of the backend's. send() is called
 *             once, after all of them.
 * Each ask ends exactly once: by backend_answer() while its ticket is wanted, or by forget().
 *
 * Shape:  a ticket names one pending request and is never used again. The requests of a
 *         connection are executed and completed in their order.
 *         Retrievals behind a pending one, in the same pass, are asked for ahead of their turn
 *         if they may be executed twice: get, gets, mg without N, R, T and E, binary gets. A
 *         key for which the connection already waits is not asked for ahead; in the same line
 *         of text it has the same answer.
 *         Writes, with BACKEND_WRITES, are all commands that store, delete, incr and decr,
 *         touch, gat, flush_all, ms, md, ma, mg with N, R, T or E, and their binary twins,
 *         noreply and quiet ones too. The store executes none of them: ask() also updates the
 *         store's copy of the key. Each write is asked for once, at its turn, when
 *         all earlier requests of its connection are completed. A pipeline is the exception:
 *         writes (not gat, mg and flush_all) and retrievals of one key are asked for one behind
 *         the other, PENDING_KEPT_MAX of both. Behind a request of its own key a write waits,
 *         and a retrieval is asked for at its turn, unless the backend executes the two in
 *         their order (follows()). A retrieval that a copy answers is executed at its turn.
 *         Nothing else behind a write is executed before the write's answer, and all are
 *         completed in order.
 *         All keys of a datagram's line of gat are asked for at once, each once.
 *         Promotion, with BACKEND_PROMOTES, serves a write that depends on the
 *         stored version of a key, which the store lacks and may_have() says the backend may
 *         have. The key is asked for at the write's turn, and once. The answer says only that
 *         the store has the key now, or that nobody has it. Then the store executes the write,
 *         whatever the answer was. A key that the store has evicted again by then is asked for
 *         again, PENDING_TIMES_MAX times in all.
 *
 * Units:  ns of the clock of serve_turn().
 *
 * Owner:  views in an ask are valid during the call. The item of an answer stays the backend's:
 *         it does not change until release(), but for the rest of a value that arrives. After
 *         that only pinned parts of it stay reachable (store_abandon() keeps what is pinned of a
 *         fill).
 *         A write's value belongs to the backend from ask() on. The backend publishes or
 *         abandons it, whatever becomes of the request, and then calls backend_value_end().
 *
 * Thread: core-local, all of it.
 *
 * Errors: a request without an answer after timeout_ns, in which a wait for a place counts, is
 *         forgotten and has failed, unless its answer is arriving (is_coming()) or it is behind
 *         such an answer of its connection. Its key is answered by a miss, or by
 *         an error that ends a line of text (misses_on_failure). A request fails in the same
 *         way if it finds no place for timeout_ns, arrives in a drain, or finds no buffer for
 *         its bytes. A datagram that finds no place is dropped. An answer that its connection
 *         has no room for within timeout_ns is released, and its key is asked for once more. So
 *         is an answer whose memory the backend needs (backend_answer_yield()). If its key was
 *         written since, an answer stays, or has failed once its memory is needed.
 *         A failed write is always answered by an error. If it was asked for, it may or may not
 *         have been done. A failed flush_all with noreply ends its connection. The reply to a
 *         write has its room from ask() on. A write that is refused for its size or for
 *         memory is not asked for.
 *
 * Bounds: PENDING_MAX pending requests per core. A connection has PENDING_SESSION_MAX, and less
 *         while few are free; the last PENDING_FIRST_ONLY are for connections that have none. Of
 *         answers that are asked for ahead a connection has what its client takes (BUDGET.md). A
 *         lane, which is a server or a disk, has as many as are free. Datagrams have
 *         PENDING_UDP_MAX, in PENDING_LINES_MAX requests of at most CHUNK_BYTES. In a turn
 *         PENDING_ENDED_PER_TURN end by their deadline, poll() answers a few hundred at most,
 *         and HITS_PER_TURN hits are completed between gets that have waited.
 *         A connection has PENDING_KEPT_MAX writes, and retrievals behind them. Such kept
 *         requests hold an eighth of the chunks at most. While they hold a sixteenth of the
 *         chunks, or PENDING_KEPT_PLACES places, none is asked for behind others of its
 *         connection: a client that does not read does not free its own. Values of writes that
 *         have not ended take at most half as much memory as the fill quota, divided among the
 *         cores (any one value may, alone). A lane takes at most what is free of that.
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
#else /* a table that tests fill */
#define PENDING_MAX         24u
#define PENDING_SESSION_MAX 6u
#define PENDING_FIRST_ONLY  6u
#define PENDING_UDP_MAX     6u
#define PENDING_LINES_MAX   3u
#define HITS_PER_TURN       100u
#define PENDING_KEPT_MAX    4u
#define UNREAD_MAX          8u
#endif
#define PENDING_KEPT_PLACES    ((PENDING_MAX - PENDING_FIRST_ONLY) / 2)
#define PENDING_SESSION_PART   (PENDING_MAX / 1024 + (PENDING_MAX < 256 ? 2 : 0)) /* of the free */
#define PENDING_ENDED_PER_TURN 256u
#define BACKEND_LANES_MAX      1024u
#define PENDING_LINE_TIMEOUTS  4u /* after this many no more of a datagram is asked for */
#define PENDING_TIMES_MAX      4u

enum backend_ask_kind {
	BACKEND_ASK_READ,    /* answer a retrieval of a key that the store lacks */
	BACKEND_ASK_PROMOTE, /* store the key's item in the store; the answer has no item */
	BACKEND_ASK_WRITE,   /* execute a write */
};

struct backend_ask {
	uint64_t ticket;
	uint64_t hash;
	struct view key;          /* decoded; flush_all: empty, and hash is 0 */
	const struct mc_req *req; /* verb and arguments; its key may be base64 */
	/* A write's value, complete, with the expiry and flags of the request; NULL: none. */
	const struct fill *value;
	uint32_t lane;
	uint8_t kind; /* enum backend_ask_kind */
	/* An earlier request of this key and connection is not completed yet. This one is executed
	 * after it, in a request of its own. */
	bool behind;
};

/* How the store's item of a key may answer a retrieval. */
enum backend_copy {
	BACKEND_COPY_NONE, /* no copy that may answer: the backend is asked */
	BACKEND_COPY_HERE, /* a copy, which is the answer */
	BACKEND_COPY_MISS, /* a miss copy: the answer is a miss */
};

/* Functions that only a second tier has (BACKEND_PROMOTES). */
struct backend_tier {
	/* Returns false if the key, which the store was seen to lack, was neither in the store
	 * nor in the backend at some instant since: the answer is a miss. May be NULL: true. */
	bool (*may_have)(void *arg, struct view key, uint64_t hash);
	/* Prefetches what may_have() reads for count keys that the store was seen to lack,
	 * OPS_MAX at most. A hint, given before the first may_have() of a pass. May be NULL. */
	void (*prefetch)(void *arg, const uint64_t *hashes, uint32_t count);
	/* Makes the backend forget a key before a miss is answered, or a write executed,
	 * although the backend was not asked or has not answered. Returns false if the store
	 * has the key now. May be NULL. */
	bool (*missed)(void *arg, struct view key, uint64_t hash);
};

/* Functions that only the owner of all writes has (BACKEND_WRITES). The store's items are copies.
 */
struct backend_copies {
	/* Deletes a key whose set was refused before it was asked for, so that no old version
	 * stays. No answer follows. May be NULL: old versions stay. */
	void (*drop)(void *arg, struct view key, uint64_t hash);
	/* Returns how the store's item may answer a retrieval that is no plain get, or whether
	 * it is a copy that answers a get or a `me`. *cas: the item's, and then the one that
	 * clients see. May be NULL: every item is a copy that answers. */
	enum backend_copy (*answers)(void *arg, const struct mc_req *req, const struct item *item,
				     uint64_t *cas);
	/* Takes a sampled key that a copy has answered. Returns how many such keys follow
	 * before the next sample. May be NULL: no key is sampled. */
	uint32_t (*sample)(void *arg, struct view key, uint64_t hash);
};

/* A backend: what it is, and its functions. Only ask, poll, forget and release are required. */
struct backend {
	void *arg;
	enum serve_backend_mode mode; /* PROMOTES, READS or WRITES */
	bool misses_on_failure;       /* a failed get is answered as a miss */
	uint32_t lanes;               /* 1..BACKEND_LANES_MAX */
	uint64_t timeout_ns;          /* above 0 */
	/* Starts a request. The answer comes from poll(), never from ask() itself. */
	void (*ask)(void *arg, const struct backend_ask *ask);
	/* Sends what was asked for. Called once a turn, after the passes that asked. */
	void (*send)(void *arg);
	/* Begins a turn: answers arrive by backend_answer(). */
	void (*poll)(void *arg, uint64_t now_ns);
	/* Drops a pending request: backend_answer() would return false for it from now on. */
	void (*forget)(void *arg, uint64_t ticket);
	/* Ends the use of an accepted answer's item. */
	void (*release)(void *arg, uint64_t ticket, const struct item *item);
	/* Returns the lane of a key. May be NULL if there is one lane. */
	uint32_t (*lane)(void *arg, struct view key, uint64_t hash);
	/* True if a request of this key, asked for now, would be executed after the pending request
	 * of that ticket, which has the same key. May be NULL: false. */
	bool (*follows)(void *arg, uint64_t ticket, struct view key, uint64_t hash);
	/* Called when a request has waited for timeout_ns. True if its own answer is arriving:
	 * the request waits for a part of that more. May be NULL: false. */
	bool (*is_coming)(void *arg, uint64_t ticket);
	uint64_t (*next_ns)(void *arg); /* when poll() has work next; may be NULL */
	struct backend_tier tier;
	struct backend_copies copies;
};

size_t backend_bytes(void);
/* Attaches a backend, once, before the core's first turn. The struct is copied. */
void backend_attach(struct region *region, struct serve *sv, const struct backend *backend);

/* Returns the attached backend, or NULL. */
const struct backend *backend_of(const struct serve *sv);

/* Returns the slot of a ticket. Two tickets of one core never share a slot while each is
 * pending or has an item to release. */
#define PENDING_SLOT_BITS 16u
static inline uint32_t
backend_ticket_slot(uint64_t ticket) /* below PENDING_MAX */
{
	return (uint32_t)(ticket & ((1u << PENDING_SLOT_BITS) - 1));
}

/* Returns the store's second of this turn, from which expiries count. */
uint32_t serve_now_s(const struct serve *sv);
/* Returns the wall clock's second of this turn. */
int64_t serve_unix_s(const struct serve *sv);

/* Prefetches the pending request of a ticket that is answered soon. A hint. */
void backend_answer_prefetch(const struct serve *sv, uint64_t ticket);
/* Answers a pending request; called in poll(). Returns false if the request is no longer
 * pending: no release() follows. */
bool backend_answer(struct serve *sv, uint64_t ticket, const struct backend_answer *answer);

/* Releases an answer that is not sent yet, because the backend needs memory; called in poll().
 * The key is asked for again at its turn. Large answers go first: one whose client does not
 * read, else one behind others of its connection. Returns false if there is none. */
bool backend_answer_yield(struct serve *sv);

/* ---- values that are sent while they arrive ---- */

/* Numbers from 1 to BACKEND_LANES_MAX name arrivals, which are the backend's to choose. All of
 * these are called in poll(). */

/* True if the request of the ticket is the next one of its connection, so that its value may leave
 * before all of it has arrived. */
bool backend_is_next(const struct serve *sv, uint64_t ticket);
/* Begins the arrival of a value, which backend_answer() names next. */
void backend_arrival_begin(struct serve *sv, uint32_t number, uint64_t ticket);
/* Lets the first `bytes` bytes of the value leave, never all of it. */
void backend_arrival_goes_on(struct serve *sv, uint32_t number, uint32_t bytes);
/* Lets all of the value leave. */
void backend_arrival_end(struct serve *sv, uint32_t number);
/* Ends an arrival whose rest will not come: a client that has some of the value is reset, any other
 * request fails. */
void backend_arrival_lost(struct serve *sv, uint32_t number);

/* Sets whether all requests bypass the copies, from now on; called in poll(). */
void backend_copies_bypass(struct serve *sv, bool bypass);

/* Ends the charge for the value of a write to this lane: it is published or abandoned. */
void backend_value_end(struct serve *sv, uint32_t lane, uint32_t value_len);

/* Returns when a turn is due for the backend or for a deadline; UINT64_MAX: none. */
uint64_t backend_next_timer(const struct serve *sv);

/* Drains pending requests before a stop closes connections; called before each turn. New
 * requests fail at once, and with hurry so do pending ones. True if no request is pending, and
 * what was answered has had a turn. */
bool backend_drain(struct serve *sv, bool hurry);

/* Returns the number of pending requests and of granted places. */
uint32_t backend_pending(const struct serve *sv);

#endif

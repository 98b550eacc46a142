/*
 * backend.h - operations that are answered later: a supplier is asked what the store lacks, and
 * told what clients write.
 *
 * A front has what it lacks from a server, a flash from its disk. Without a supplier nothing here
 * is called, and a retrieval that finds nothing is a miss at once.
 *
 * Each turn:  poll() before requests are read; ask() for every key that is missed, and write() for
 *             every write, while requests are executed; passes_end() once behind all of them.
 * Each ask ends once: with serve_answer() while its ticket is wanted, or with forget().
 *
 * Shape:  a ticket names one ask, and never another one. Operations of a connection are executed in
 *         their order, and answered so. Retrievals of one pass that stand behind one that waits are
 *         asked for ahead, as far as they may be asked twice: get, gets, mg without N, R, T and E,
 *         binary gets; not a key for which this connection waits already: in the same line of text
 *         it has the same answer.
 *         Writes, if the supplier has write(): all commands that store, delete, incr and decr,
 *         touch, gat, flush_all, ms, md, ma, mg with N, R, T or E, and their binary twins, noreply
 *         and quiet ones too. None of them is executed on the store: what that is to do with its
 *         copy of the key, write() does. Each is asked once, at its turn, when all before it of its
 *         connection is answered, but for those of one other key (not gat, mg and flush_all), and
 *         retrievals of one key: AWAIT_KEPT_MAX of both are asked for one behind the other. Such a
 *         retrieval is asked for at its turn if its key is waited for, or has a copy that answers
 *         it. Nothing else behind a write is executed before its answer, and all are told in order.
 *         Of a datagram's line of gat all keys are asked for at once, each once.
 *         If it brings instead (a second tier): a write that depends on the version that is there,
 *         of a key that the store lacks and may_have() says it may have, is asked for as a
 *         retrieval is, at its turn and once. Its answer says no more than that the store has it
 *         now, or nobody. Then the write is executed on the store, whatever came of the ask. What
 *         the store has evicted again by then is asked for again, AWAIT_TIMES_MAX times in all.
 *
 * Units:  ns of the clock of serve_turn().
 *
 * Owner:  views in an ask are valid in the call. The item of an answer stays the supplier's: it is
 *         not changed until release(), and it is reachable beyond that only as far as it is pinned
 *         (store_abandon() keeps what is pinned of a fill).
 *         A write's value belongs to the supplier from write() on: it is published or abandoned by
 *         it, whatever becomes of the ask, and then serve_value_end() is called.
 *
 * Thread: core-local, all of it.
 *
 * Errors: an ask without an answer after timeout_ns is forgotten, and has failed, unless its lane
 *         is slow and not late (is_coming()): its key is told as a miss, or as an error which ends
 *         a line of text (misses_on_failure). So has one that finds no place for timeout_ns, comes
 *         in a drain, or finds no buffer for its request. A datagram that finds no place is
 *         dropped. An answer that its connection has no room for within timeout_ns is released,
 *         and its key is asked for once more; so is one whose memory the supplier needs
 *         (serve_answer_yield()). A write that fails is always told as an error; if it was asked,
 *         nobody knows whether it is done. flush_all with noreply then ends its connection. The
 *         answer to a write has its room from write() on. One that is refused for its size or its
 *         memory is not asked.
 *
 * Bounds: AWAITS_MAX asks a core. A connection has AWAITS_SESSION_MAX, and less while few are free;
 *         the last AWAITS_FIRST_ONLY are for connections that have none. A lane, which is a server
 *         or a disk, has as many as are free. Datagrams have AWAITS_UDP_MAX, in AWAITED_LINES_MAX
 *         requests of at most CHUNK_BYTES. AWAITS_ENDED_PER_TURN end by their deadline in a turn;
 *         poll() answers a few hundred at most, and HITS_PER_TURN hits are told between gets that
 *         have waited.
 *         A connection has AWAIT_KEPT_MAX writes, and retrievals behind them. They hold an eighth
 *         of the chunks at most; behind others of their connection none is asked for while they
 *         hold a sixteenth, or AWAITS_KEPT_PLACES: who does not read keeps them. Values that
 *         were asked with, and have not ended, take half as much memory as the fill quota, divided
 *         among the cores (any one value may, alone); a lane as much of it as is free.
 */
#ifndef CLOCKOO_BACKEND_H
#define CLOCKOO_BACKEND_H

#include "proto/mc_req.h"
#include "serve/serve_backend.h"

#ifndef FEW_AWAITS
#define AWAITS_MAX         4096u
#define AWAITS_SESSION_MAX 128u
#define AWAITS_FIRST_ONLY  1024u
#define AWAITS_UDP_MAX     1536u
#define AWAITED_LINES_MAX  64u
#define HITS_PER_TURN      512u
#define AWAIT_KEPT_MAX     32u
#else /* a table that tests fill */
#define AWAITS_MAX         24u
#define AWAITS_SESSION_MAX 6u
#define AWAITS_FIRST_ONLY  6u
#define AWAITS_UDP_MAX     6u
#define AWAITED_LINES_MAX  3u
#define HITS_PER_TURN      100u
#define AWAIT_KEPT_MAX     3u
#endif
#define AWAITS_KEPT_PLACES    ((AWAITS_MAX - AWAITS_FIRST_ONLY) / 2)
#define AWAITS_SESSION_PART   (AWAITS_MAX / 256 + (AWAITS_MAX < 256 ? 2 : 0)) /* of the free */
#define AWAITS_ENDED_PER_TURN 256u
#define AWAIT_LANES_MAX       1024u
#define AWAITED_LINE_TIMEOUTS 4u /* after so many a datagram's requests are not asked any more */
#define AWAIT_TIMES_MAX       4u

/* A key that is missed, or a write. */
struct serve_ask {
	uint64_t ticket;
	uint64_t hash;
	struct view key;          /* decoded; flush_all: no bytes, and hash is 0 */
	const struct mc_req *req; /* verb and arguments; its key may be base64 */
	uint32_t lane;
	bool bring; /* to be in the store before the answer, which has no item */
};

/* The kind of item that the store has under a key, for a retrieval that may be answered by a
 * copy. */
enum serve_copy {
	SERVE_COPY_NONE, /* nothing for it: it is asked for */
	SERVE_COPY_HERE, /* its answer */
	SERVE_COPY_MISS, /* the knowledge that there is none: it is told a miss */
};

struct serve_supplier {
	void *arg;
	uint64_t timeout_ns;    /* above 0 */
	uint32_t lanes;         /* 1..AWAIT_LANES_MAX */
	bool misses_on_failure; /* a get that failed is told as a miss */
	bool brings;            /* without write() */
	/* False: a key that the store was seen to lack is in neither at an instant since, and a
	 * miss is told now. May be NULL: true. */
	bool (*may_have)(void *arg, struct view key, uint64_t hash);
	/* Keys that the store was seen to lack, before may_have() of the first of them in a pass:
	 * what their looks read is on its way. A hint; OPS_MAX at most. May be NULL. */
	void (*prefetch)(void *arg, const uint64_t *hashes, uint32_t count);
	/* It was not asked, or has not answered, and a miss is to be told, or a write to be
	 * executed: it has nothing of the key any more. False: the store has it. May be NULL. */
	bool (*missed)(void *arg, struct view key, uint64_t hash);
	/* Which lane a key takes. May be NULL with one. */
	uint32_t (*lane)(void *arg, struct view key, uint64_t hash);
	/* Does not answer: poll() does. */
	void (*ask)(void *arg, const struct serve_ask *ask);
	/* The same for a write. value: filled, its expiry and flags those of the request; NULL: the
	 * command has none. NULL instead of a function: writes are the store's. */
	void (*write)(void *arg, const struct serve_ask *ask, const struct fill *value);
	/* A set of this key is refused before it is asked, so what there is goes. Nobody hears of
	 * it. May be NULL with write(). */
	void (*drop)(void *arg, struct view key, uint64_t hash);
	/* True if this retrieval, which is no plain get of text, is asked for even if there is a
	 * copy. Decided by the request alone. May be NULL. */
	bool (*passes_copies)(void *arg, const struct mc_req *req);
	/* Returns whether the item in the store is a copy, for get and mg. Decided by the item
	 * alone. NULL: every item is one. */
	enum serve_copy (*copy)(void *arg, const struct mc_req *req, const struct item *item);
	/* The cas of a copy that is here; NULL: the item's. */
	uint64_t (*copy_cas)(void *arg, const struct item *item);
	/* Keys that are answered by copies: of n, the index of the next one that is to be counted,
	 * or n; and that key. Both may be NULL. */
	uint32_t (*next_sample)(void *arg, uint32_t n);
	void (*sample)(void *arg, const struct view *key, uint64_t hash);
	void (*passes_end)(void *arg); /* may be NULL */
	void (*poll)(void *arg, uint64_t now_ns);
	/* No answer is wanted any more; serve_answer() would be false. */
	void (*forget)(void *arg, uint64_t ticket);
	/* The item of a taken answer is not used any more. */
	void (*release)(void *arg, uint64_t ticket, const struct item *item);
	/* An ask of this lane has waited for timeout_ns: true if what the lane owes is on its way,
	 * and it waits as long again. May be NULL: false. */
	bool (*is_coming)(void *arg, uint32_t lane);
	uint64_t (*next_ns)(void *arg); /* when poll() has something to do; may be NULL */
};

size_t serve_awaits_bytes(void);
/* Once, before the core turns. The supplier's functions are copied. */
void serve_supplier_attach(struct region *region, struct serve *sv,
			   const struct serve_supplier *supplier);

/* NULL: there is none. */
const struct serve_supplier *serve_supplier_of(const struct serve *sv);

/* The slot of a ticket. No two tickets of one core that are open, or whose items are not
 * released, have the same. */
#define AWAIT_SLOT_BITS 16u
static inline uint32_t
serve_ticket_slot(uint64_t ticket) /* below AWAITS_MAX */
{
	return (uint32_t)(ticket & ((1u << AWAIT_SLOT_BITS) - 1));
}

/* The store's second of this turn: expiries count from it. */
uint32_t serve_now_s(const struct serve *sv);
/* The wall clock's second of this turn. */
int64_t serve_unix_s(const struct serve *sv);

/* A hint: this ticket is answered next but for a few. */
void serve_answer_prefetch(const struct serve *sv, uint64_t ticket);
/* In poll(). False: nobody waits for it any more, and no release() follows. */
bool serve_answer(struct serve *sv, uint64_t ticket, const struct serve_answer *answer);

/* In poll(): the supplier needs memory. An answer that is not told yet is released, and is asked
 * for again at its turn: first one that has waited longest for a client that does not read, else
 * one that stands behind others of its connection. False: there is none. */
bool serve_answer_yield(struct serve *sv);

/* In poll(), from now on: copy() decides of plain gets, too, which else are answered at once by
 * what the store has. */
void serve_copies_wait(struct serve *sv, bool wait);

/* The value of a write to this lane is published or abandoned. */
void serve_value_end(struct serve *sv, uint32_t lane, uint32_t value_len);

/* When a turn is due for asks and their deadlines; UINT64_MAX: none. */
uint64_t serve_next_timer(const struct serve *sv);

/* Before connections are closed at a stop, before each turn: from now on every ask fails at once.
 * hurry: so do those that are open. True: none waits, and what was answered has had a turn. */
bool serve_awaits_drain(struct serve *sv, bool hurry);

/* Asks, and places that are granted. */
uint32_t serve_awaits_open(const struct serve *sv);

#endif

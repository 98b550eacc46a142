/*
 * serve_await.h - retrievals that are answered later: a supplier is asked what the store lacks.
 *
 * A front has what it lacks from a server, a flash from its disk. Without a supplier nothing here
 * is called, and a retrieval that finds nothing is a miss at once.
 *
 * Each turn:  poll() before requests are read; ask() for every key that is missed, while requests
 *             are executed; pass_end() once after the asks of a pass.
 * Each ask ends once: with serve_answer() while its ticket is wanted, or with forget().
 *
 * Shape:  a ticket names one ask, and never another one. Operations of a connection are executed in
 *         their order, and answered so. Retrievals of one pass that stand behind one that waits are
 *         asked for ahead, as far as they may be asked twice: get, gets, mg without N, R, T and E,
 *         binary gets; not a key for which this connection waits already.
 *
 * Units:  ns of the clock of serve_turn().
 *
 * Owner:  views in an ask are valid in the call. The item of an answer stays the supplier's: it is
 *         not changed until release(), and it is reachable beyond that only as far as it is pinned.
 *         So a value of ITEM_PIN_MIN_BYTES or more must then be published, or retired, not freed.
 *
 * Thread: core-local, all of it.
 *
 * Errors: an ask without an answer after timeout_ns is forgotten, and has failed: its key is told
 *         as a miss, or as an error which ends a line of text (misses_on_failure). So has one that
 *         finds no place for timeout_ns, comes in a drain, or finds no buffer for its request.
 *         A datagram that finds no place is dropped. An answer that its connection has no room for
 *         within timeout_ns is released, and its key is asked for once more.
 *
 * Bounds: AWAITS_MAX asks a core. A connection has AWAITS_SESSION_MAX, and less while few are free;
 *         the last AWAITS_FIRST_ONLY are for connections that have none. A lane, which is a server
 *         or a disk, has as many as are free. Datagrams have AWAITS_UDP_MAX, in AWAITED_LINES_MAX
 *         requests of at most CHUNK_BYTES. AWAITS_ENDED_PER_TURN end by their deadline in a turn;
 *         poll() answers no more than that either.
 */
#ifndef CLOCKOO_SERVE_AWAIT_H
#define CLOCKOO_SERVE_AWAIT_H

#include "proto/mc_req.h"
#include "serve.h"

#ifndef FEW_AWAITS
#define AWAITS_MAX         4096u
#define AWAITS_SESSION_MAX 128u
#define AWAITS_FIRST_ONLY  1024u
#define AWAITS_UDP_MAX     512u
#define AWAITED_LINES_MAX  64u
#else /* a table that tests fill */
#define AWAITS_MAX         24u
#define AWAITS_SESSION_MAX 6u
#define AWAITS_FIRST_ONLY  6u
#define AWAITS_UDP_MAX     6u
#define AWAITED_LINES_MAX  3u
#endif
#define AWAITS_SESSION_PART   (AWAITS_MAX / 256 + (AWAITS_MAX < 256 ? 2 : 0)) /* of the free */
#define AWAITS_ENDED_PER_TURN 256u
#define AWAIT_LANES_MAX       1024u

/* A key that is missed. */
struct serve_ask {
	uint64_t ticket;
	uint64_t hash;
	struct view key;          /* decoded */
	const struct mc_req *req; /* verb and flags; its key may be base64 */
	uint32_t lane;
};

struct serve_answer {
	bool failed;             /* nothing is known */
	const struct item *item; /* NULL: a miss. Its key, value, flags and expiry are told */
	uint64_t cas;            /* told for it */
	bool won, stale, sent;   /* mg: W, X, Z */
};

struct serve_supplier {
	void *arg;
	uint64_t timeout_ns;    /* above 0 */
	uint32_t lanes;         /* 1..AWAIT_LANES_MAX */
	bool misses_on_failure; /* a get that failed is told as a miss */
	/* Which lane a key takes. May be NULL with one. */
	uint32_t (*lane)(void *arg, struct view key, uint64_t hash);
	/* Does not answer: poll() does. */
	void (*ask)(void *arg, const struct serve_ask *ask);
	void (*pass_end)(void *arg); /* may be NULL */
	void (*poll)(void *arg, uint64_t now_ns);
	/* No answer is wanted any more; serve_answer() would be false. */
	void (*forget)(void *arg, uint64_t ticket);
	/* The item of a taken answer is not used any more. */
	void (*release)(void *arg, uint64_t ticket, const struct item *item);
	uint64_t (*next_ns)(void *arg); /* when poll() has something to do; may be NULL */
};

size_t serve_awaits_bytes(void);
/* Once, before the core turns. The supplier's functions are copied. */
void serve_supplier_attach(struct region *region, struct serve *sv,
			   const struct serve_supplier *supplier);

/* In poll(). False: nobody waits for it any more, and no release() follows. */
bool serve_answer(struct serve *sv, uint64_t ticket, const struct serve_answer *answer);

/* When a turn is due for asks and their deadlines; UINT64_MAX: none. */
uint64_t serve_next_timer(const struct serve *sv);

/* Before connections are closed at a stop, before each turn: from now on every ask fails at once.
 * hurry: so do those that are open. True: none waits, and what was answered has had a turn. */
bool serve_awaits_drain(struct serve *sv, bool hurry);

/* Asks, and places that are granted. */
uint32_t serve_awaits_open(const struct serve *sv);

#endif

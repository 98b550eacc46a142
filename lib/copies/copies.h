/*
 * copies.h - copies of servers' items in the store: leased, published, and removed before a write
 * is sent.
 *
 * Shape:  a copy is an item of the key. Two other kinds are items without a value, which their
 *         cas distinguishes: a miss copy records that the server has no item, and a lease reserves
 *         the key for a fetch or a write until its answer. The cas of a lease is unique; its owner
 *         publishes only in place of its own lease. A copy whose cas at the server is known
 *         contains it in its own cas, in an item with a long part, with the number of connections
 *         opened when it was requested. It reports the cas until another connection is opened,
 *         which may reach another process, whose numbers begin again.
 * Units:  expiries in the store's seconds; 0: never. lease: its cas; 0: none.
 * Owner:  struct copies_shared: the caller, one for all cores. struct copies: a core. A lease
 *         ends by copy_publish(), _miss(), _exchange() or _release().
 * Thread: init: one thread; else core-local, except copy_kind(): any thread.
 * Errors: without memory, an admission or versions nothing is cached.
 * Bounds: constant time, and copying a value of at most COPY_VALUE_MAX.
 * Source: COHERENCE.md: F1, F2, F4; W1, W2, W4; M.
 */
#ifndef CLOCKOO_COPIES_H
#define CLOCKOO_COPIES_H

#include "admission.h"
#include "versions.h"

#include "backend/backend.h"
#include "store/conditional.h"

#define COPY_VALUE_MAX (1u << 20) /* bytes of a value, which is copied at once */

enum copy_kind {
	COPY_LEASE,
	COPY_MISS,
	COPY_VALUE, /* value and flags are the server's */
	COPY_WHOLE, /* as VALUE, and the item is not stale at the server */
};

/* State that all cores of a front share. */
struct copies_shared {
	struct versions *versions;
	struct admission *admission; /* NULL: every requested key is copied */
};

/* Copies of one core. */
struct copies {
	struct copies_shared shared; /* versions NULL: nothing is cached */
	struct store_core *store;
	uint64_t last_lease;
	struct sampler sampler;
	uint64_t life_ns;          /* shared mode: the longest life of a copy; 0: sole mode */
	uint32_t quiet_until_s;    /* counts as a flush in progress until then; 0: none */
	uint32_t unfenced_until_s; /* until then only fenced servers have copies; 0: over */
};

void copies_init(struct copies *c, const struct copies_shared *shared, struct store_core *store,
		 uint32_t core);

/* Ends copies that are too old, and what lasts until a time; called once a turn. In shared mode all
 * copies end together, so none needs a time of its own, and with them the leases of fetches, since
 * a lease is taken before its request is sent. False: old copies remain, and none may answer in
 * this turn. */
bool copies_turn(struct copies *c, uint64_t now_ns, uint32_t now_s);

static inline bool
copies_enabled(const struct copies *c)
{
	return c->shared.versions != NULL;
}

/* True if other clients write to the servers. */
static inline bool
copies_are_shared(const struct copies *c)
{
	return c->life_ns != 0;
}

/* Counts a sampled request of a key. */
static inline void
copies_count(const struct copies *c, uint64_t hash)
{
	if (c->shared.admission != NULL)
		admission_count_mt(c->shared.admission, hash);
}

/* Returns the kind of an item under a key of a front. */
enum copy_kind copy_kind(const struct item *item);
/* True if a copy can answer a retrieval with these flags of mg. */
bool copy_may_answer(uint8_t verb, uint32_t flags);
/* Returns how the item may answer a retrieval; *cas: the server's cas. */
enum backend_copy copy_answers(const struct copies *c, const struct mc_req *req,
			       const struct item *item, uint64_t *cas);
/* True if the cas of a value at its server is known. */
bool copy_has_cas(const struct item *item);

/* Call before the first write on a new connection, or to a server that keys have moved to. */
void copies_connection_opened(struct copies *c);

/* A key that is requested from a server. */
struct copy_key {
	struct view name;
	uint64_t hash;
};

/* ---- reads ---- */

/* An answer to cache until expiry_s. */
struct copy_fetched {
	const struct item *value;
	uint32_t expiry_s;
	enum copy_kind kind; /* of a value */
	bool has_cas;
	uint64_t cas;
	uint32_t opened; /* versions_opened_mt() before the request */
};

/* Bits for the facts that a copy reports besides value and flags. */
enum { COPY_SHOWS_CAS = 1u << 0, COPY_SHOWS_WHOLE = 1u << 1 };

/* Takes a lease, before a key is requested that has no copy, or none that reports enough. Returns
 * 0 if the key must not be cached. *shows: what the new copy must report; on return also what the
 * replaced copy reported. */
uint64_t copy_lease(struct copies *c, const struct copy_key *key, uint32_t *shows);
void copy_publish(struct copies *c, const struct copy_key *key, uint64_t lease,
		  const struct copy_fetched *fetched);
/* Records a server's miss before any client gets it. */
void copy_miss(struct copies *c, const struct copy_key *key, uint64_t lease);
void copy_release(struct copies *c, const struct copy_key *key, uint64_t lease);
/* Handles a value, before any client gets it, from a server that may still execute requests of an
 * earlier process. Fetches sent before may have the previous value. */
void copy_unfenced(struct copies *c, const struct copy_key *key);
/* Call before anything is cached, once no server executes requests of an earlier process any
 * more. */
void copies_fenced(struct copies *c);

/* ---- writes ---- */

/* Begins a write before it is sent. sets: it replaces the server's value independently of that
 * value. *lease: for the new value; 0: it is not cached. False: the write must not be sent, since
 * the key has too many writers. */
bool copy_write_begin(struct copies *c, const struct copy_key *key, bool sets, uint64_t *lease);
/* Publishes a written value that the server has stored, before any client gets the answer and
 * before the writer leaves. A write that has begun since has removed the lease, which ends, as
 * does the fill. */
void copy_exchange(struct copies *c, const struct copy_key *key, uint64_t lease,
		   struct fill *value);

/* ---- flushes ---- */

/* Begins a flush, before it is sent to any server. until_s: 0, or a second until which a delayed
 * one may take effect. */
void copies_flush_begin(struct copies *c, uint32_t until_s);
/* Removes all copies, before any server gets the flush. False: call again in the next turn. */
bool copies_flush(const struct copies *c, uint32_t now_s);
void copies_flush_end(const struct copies *c);

/* ---- other fronts ---- */

/* Ends the copy of a key that another front has written; copies_invalidate_all() those of all keys,
 * or returns false. */
void copies_invalidate(struct copies *c, const struct copy_key *key);
bool copies_invalidate_all(struct copies *c, uint32_t now_s);

#endif

/*
 * copies.h - copies of servers' items in the store. They are leased, published, and removed before
 * a write is sent.
 *
 * Shape:  a copy is an item with the key. Two other kinds of items have no value, and are
 *         distinguished by their cas. A miss copy records that the server has no item. A lease
 *         reserves the key for a fetch or a write until its answer; its cas is unique, and its
 *         owner publishes only in place of its own lease.
 *         If the cas at the server is known, a copy has it in its own cas, with the number of
 *         connections that had been opened when it was requested; such an item has a long part. The
 *         copy reports that cas until another connection is opened: that may reach another process,
 *         whose numbers begin again.
 * Units:  expiries in the store's seconds; 0: never. lease: its cas; 0: none.
 * Owner:  struct copies_shared: the caller, one for all cores. struct copies: a core. A lease ends
 *         by copy_publish(), copy_miss(), copy_exchange() or copy_release().
 * Thread: init: one thread. copy_kind(): any. All others: core-local.
 * Errors: without memory, or without versions, nothing is cached.
 * Bounds: constant time, and the copy of a value of at most COPY_VALUE_MAX bytes.
 * Source: COHERENCE.md: F1, F2, F4; W1, W2, W4; M.
 */
#ifndef CLOCKOO_COPIES_H
#define CLOCKOO_COPIES_H

#include "admission.h"
#include "versions.h"

#include "backend/backend.h"
#include "store/conditional.h"

#define COPY_VALUE_MAX (1u << 20) /* bytes; a value is copied at once */

enum copy_kind {
	COPY_LEASE,
	COPY_MISS,
	COPY_VALUE, /* its value and flags are the server's */
	COPY_WHOLE, /* the same, and the item was not stale at the server */
};

/* State that all cores of a front share. */
struct copies_shared {
	struct versions *versions;
	struct admission *admission; /* NULL: every requested key gets a copy */
};

/* Copies of one core. */
struct copies {
	struct copies_shared shared; /* versions NULL: nothing is cached */
	struct store_core *store;
	uint64_t last_lease;
	struct sampler sampler;
	uint64_t life_ns;       /* in shared mode, the age limit of copies; 0: sole mode */
	uint32_t quiet_until_s; /* until then a flush counts as in progress; 0: none does */
	/* Until then only fenced servers have copies; 0: that time is over. */
	uint32_t unfenced_until_s;
};

void copies_init(struct copies *c, const struct copies_shared *shared, struct store_core *store,
		 uint32_t core);

/* Ends copies that are too old, and what lasts until a certain time. Called once a turn. In
 * shared mode all copies end together, so none has a time of its own. Leases end with them: a
 * lease is taken before its request is sent. False: old copies remain, and no copy may answer in
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

/* Returns the kind of an item with a key of a front. */
enum copy_kind copy_kind(const struct item *item);
/* True if a copy may answer a retrieval with this verb and, for mg, these flags. */
bool copy_may_answer(uint8_t verb, uint32_t flags);
/* Returns how the item may answer a request. *cas becomes the server's cas. */
enum backend_copy copy_answers(const struct copies *c, const struct mc_req *req,
			       const struct item *item, uint64_t *cas);
/* True if the copy has the cas of the value at its server. */
bool copy_has_cas(const struct item *item);

/* To be called before the first write on a new connection, and before the first write to a server
 * to which keys have moved. */
void copies_connection_opened(struct copies *c);

/* A key that is requested from a server. */
struct copy_key {
	struct view name;
	uint64_t hash;
};

/* ---- reads ---- */

/* An answer to be cached until expiry_s. */
struct copy_fetched {
	const struct item *value;
	uint32_t expiry_s;
	enum copy_kind kind; /* COPY_VALUE or COPY_WHOLE */
	bool has_cas;
	uint64_t cas;
	uint32_t opened; /* versions_opened_mt() before the request was sent */
};

/* Bits for what a copy reports besides value and flags. */
enum { COPY_SHOWS_CAS = 1u << 0, COPY_SHOWS_WHOLE = 1u << 1 };

/* Takes a lease before a key is requested that has no copy, or a copy that reports too little.
 * Returns 0 if the key must not be cached. *shows is what the new copy must report; what the
 * replaced copy reported is added. */
uint64_t copy_lease(struct copies *c, const struct copy_key *key, uint32_t *shows);
void copy_publish(struct copies *c, const struct copy_key *key, uint64_t lease,
		  const struct copy_fetched *fetched);
/* Records a server's miss before any client gets it. */
void copy_miss(struct copies *c, const struct copy_key *key, uint64_t lease);
void copy_release(struct copies *c, const struct copy_key *key, uint64_t lease);
/* Handles a value from a server that may still execute requests of an earlier process, before a
 * client gets the value. Fetches that were sent before may have an older value: they publish
 * nothing. */
void copy_unfenced(struct copies *c, const struct copy_key *key);
/* To be called before anything is cached, once no server can execute requests of an earlier
 * process. */
void copies_fenced(struct copies *c);

/* ---- writes ---- */

/* Begins a write before it is sent. sets: the new value does not depend on the old one. *lease is
 * for the new value; 0: it is not cached. False: the key has too many writers, and the write must
 * not be sent. */
bool copy_write_begin(struct copies *c, const struct copy_key *key, bool sets, uint64_t *lease);
/* Publishes a written value that the server has stored, before a client gets the answer and before
 * the writer leaves. If another write has begun since, it has removed the lease, and nothing is
 * published. The lease and the fill end in any case. */
void copy_exchange(struct copies *c, const struct copy_key *key, uint64_t lease,
		   struct fill *value);

/* ---- flushes ---- */

/* Begins a flush before it is sent to any server. until_s: the second until which a delayed flush
 * may take effect; 0: it has no delay. */
void copies_flush_begin(struct copies *c, uint32_t until_s);
/* Removes all copies before any server gets the flush. False: it must be called again in the next
 * turn. */
bool copies_flush(const struct copies *c, uint32_t now_s);
void copies_flush_end(const struct copies *c);

/* ---- other fronts ---- */

/* copies_invalidate: ends the copy of a key that another front has written. copies_invalidate_all:
 * ends all copies, or returns false. */
void copies_invalidate(struct copies *c, const struct copy_key *key);
bool copies_invalidate_all(struct copies *c, uint32_t now_s);

#endif

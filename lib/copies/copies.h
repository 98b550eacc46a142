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
};

void copies_init(struct copies *c, const struct copies_shared *shared, struct store_core *store,
		 uint32_t core);

/* Ends all copies, and leases of fetches, that were requested life_ns ago or earlier; called once a
 * turn in shared mode. All copies end together, so none needs a time of its own. Leases are
 * included because a lease is taken before its request is sent. False: old copies remain, and none
 * may answer in this turn. */
bool copies_renew(struct copies *c, uint64_t now_ns, uint64_t life_ns);

static inline bool
copies_enabled(const struct copies *c)
{
	return c->shared.versions != NULL;
}

/* Returns the kind of an item under a key of a front. */
enum copy_kind copy_kind(const struct item *item);
/* For a value: is its cas known, may it be reported, and its number. */
bool copy_has_cas(const struct item *item);
bool copy_shows_cas(const struct copies *c, const struct item *item);
uint64_t copy_cas(const struct item *item);

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

#endif

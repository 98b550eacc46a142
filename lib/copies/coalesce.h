/*
 * coalesce.h - several requests of one key share one request to its server.
 *
 * Shape:  a core has a table of *leaders*, requests whose answer others may use: their *followers*.
 *         A request that may not follow the leader becomes its *successor*, or follows that. The
 *         successor is sent when the leader has its answer. Gets, gets with a cas, and plain sets
 *         have separate leaders.
 * Units:  ns of any one clock.
 * Owner:  the caller: the table, zeros; and in each request a struct coalesced, zeros but for its
 *         key and an empty list of followers. The list links requests by a member of the caller's.
 * Thread: core-local; versions are shared.
 * Bounds: constant time, and a walk over the leaders of one bucket.
 * Source: COHERENCE.md 1: J1, J2.
 */
#ifndef CLOCKOO_COALESCE_H
#define CLOCKOO_COALESCE_H

#include "copies.h"

#include "base/list.h"

#define COALESCE_BUCKETS 4096u

enum coalesce_kind {
	COALESCE_NONE, /* the request leads no others */
	COALESCE_GET,
	COALESCE_GETS, /* the answer has a cas */
	COALESCE_SET,
};

struct coalesced {
	struct copy_key key;
	uint8_t kind; /* enum coalesce_kind */
	bool sent;
	bool closed;            /* it has no followers before it is sent */
	struct version version; /* the key's version when this retrieval was sent */
	uint64_t sent_ns;       /* when it was sent; its answer is not older */
	struct coalesced *next; /* in its bucket */
	struct coalesced *successor, *predecessor;
	struct list followers;
};

struct coalesce {
	struct coalesced *bucket[COALESCE_BUCKETS];
};

/* Returns the leader of a key; NULL: there is none. */
struct coalesced *coalesce_leader(const struct coalesce *t, const struct copy_key *key,
				  enum coalesce_kind kind);
void coalesce_lead(struct coalesce *t, struct coalesced *c, enum coalesce_kind kind);
/* Records that a leader is sent. */
void coalesce_sent(const struct copies *copies, struct coalesced *c, uint64_t now_ns);
/* Makes a retrieval follow the leader, if it may; or follow the leader's successor; or be that
 * successor. link is what links the retrieval in lists. */
void coalesce_follow(const struct copies *copies, struct coalesced *leader, struct coalesced *c,
		     struct list *link, uint64_t now_ns);
void coalesce_succeed(struct coalesced *leader, struct coalesced *c);
/* Ends a leader or a successor. Returns its successor, which must be sent now; NULL: there is
 * none. */
struct coalesced *coalesce_end(struct coalesce *t, struct coalesced *c);
/* Closes the key's retrievals that are not sent: a delete of the key will be queued behind them. */
void coalesce_close(const struct coalesce *t, const struct copy_key *key);

#endif

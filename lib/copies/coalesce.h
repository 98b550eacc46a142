/*
 * coalesce.h - requests of one key that share one request to its server.
 *
 * Shape:  a per-core table of *leaders*, requests whose answer others may share: their
 *         *followers*. A request that may not follow becomes the leader's *successor*, or follows
 *         that; the successor is sent when the leader has its answer. Gets, gets with a cas and
 *         plain sets lead separately.
 * Units:  ns of any one clock.
 * Owner:  the caller: the table, zeros; in each request a struct coalesced, zeros but its key and
 *         an empty list of followers, which links lists of the caller's.
 * Thread: core-local; versions are shared.
 * Bounds: constant time, and the leaders of a bucket.
 * Source: COHERENCE.md 1: J1, J2.
 */
#ifndef CLOCKOO_COALESCE_H
#define CLOCKOO_COALESCE_H

#include "copies.h"

#include "base/list.h"

#define COALESCE_BUCKETS 4096u

enum coalesce_kind {
	COALESCE_NONE, /* leads nothing */
	COALESCE_GET,
	COALESCE_GETS, /* the answer has a cas */
	COALESCE_SET,
};

struct coalesced {
	struct copy_key key;
	uint8_t kind;           /* enum coalesce_kind */
	bool sent, closed;      /* closed: not followed before it is sent */
	struct version version; /* of the key when a retrieval was sent */
	uint64_t sent_ns;       /* the answer is not older than this */
	struct coalesced *next, *successor, *predecessor;
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
/* Makes a retrieval, whose list is link, a follower of the leader if it may be followed; else of
 * its successor; or the successor. */
void coalesce_follow(const struct copies *copies, struct coalesced *leader, struct coalesced *c,
		     struct list *link, uint64_t now_ns);
void coalesce_succeed(struct coalesced *leader, struct coalesced *c);
/* Ends a leader or a successor. Returns the successor to be sent now; NULL: there is none. */
struct coalesced *coalesce_end(struct coalesce *t, struct coalesced *c);
/* Closes the key's unsent retrievals, since a delete is queued behind them. */
void coalesce_close(const struct coalesce *t, const struct copy_key *key);

#endif

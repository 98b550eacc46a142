/*
 * serve_begun.h - the fill quota, which is the memory that incomplete values may take
 * (serve_begun.c), and the reset of stalled values while others wait for quota (serve_fills.c).
 *
 * Private to lib/serve. A value whose body is incomplete is begun in the store, which evicts for
 * its full length at once, however slowly the client sends. All begun values together take at most
 * store_begun_max bytes, the quota. A further value leaves its body unread, and waits in one of
 * three queues over all cores. A value whose body has arrived completely needs no quota. While a
 * value waits, begun values that stall are reset.
 *
 * A value is proven if 8 KiB of its body, or half of it, arrive within 100 ms after its line;
 * otherwise it is slow. A value that becomes proven moves to the end of the proven queue. Proven
 * values up to a 32nd of the quota, or up to 64 KiB, are short, and have a queue of their own. In
 * the queues of short and of slow values, a value that is 10 KB shorter is placed as if it had come
 * a second earlier.
 *
 * Thread: core-local, except for the atomics in struct serve_shared and struct serve. These are
 *         relaxed: they only bound the quota, and a core that reads an old value reads again in the
 *         next turn.
 * Bounds: each turn a core reads STORE_CORES_MAX cores and checks BUDGET_LOOKS begun values.
 */
#ifndef CLOCKOO_SERVE_BEGUN_H
#define CLOCKOO_SERVE_BEGUN_H

#include "serve_internal.h"

enum fill_quota_state {
	FILL_QUOTA_GO, /* the request must be parsed again */
	/* The request is the first in a queue of its core, and is visited each turn. */
	FILL_QUOTA_NEXT,
	/* The request is woken when an earlier value leaves the queue, or when bytes of its own
	 * arrive. */
	FILL_QUOTA_LATER,
};

void fill_quota_create(struct serve *sv);
/* Reserves quota for the connection's value. False: the value must wait, because the quota is used
 * up or an earlier value waits. */
bool fill_quota_take(struct serve *sv, struct session *ss, const struct mc_req *req);
/* Returns the quota of a value that could not be begun. */
void fill_quota_return(struct serve *sv, struct session *ss);
/* fill_quota_begin notes that the value has begun and its connection is in no queue, fill_quota_end
 * that the value has ended. */
void fill_quota_begin(struct serve *sv, struct session *ss);
void fill_quota_end(struct serve *sv, struct session *ss);
/* Put the connection, which waits with a value of this length, into its queue, or take it out. No
 * effect if that is done already. */
void fill_quota_enqueue(struct serve *sv, struct session *ss, uint64_t bytes);
void fill_quota_dequeue(struct serve *sv, struct session *ss);
/* True if bytes of the body were dropped for lack of frames. The peer is then silent until its
 * retransmission timeout, and memory for this value would be idle. So the value leaves the queue
 * until bytes arrive; its ticket reserves its position. */
bool fill_quota_sleeps(struct serve *sv, struct session *ss);
enum fill_quota_state fill_quota_state(struct serve *sv, struct session *ss);
/* Ensures, while a value waits, that begun values make progress. Called each turn. */
void fill_quota_pressure(struct serve *sv);

/* ---- for serve_fills.c ---- */

bool fill_quota_is_wanted(const struct serve *sv); /* a proven value waits */
/* Moves a begun value from the quota to the account beside it. False: there is no room. */
bool fill_quota_demote(struct serve *sv, struct session *ss);
uint64_t fill_received(const struct session *ss); /* unread bytes that have arrived */

#endif

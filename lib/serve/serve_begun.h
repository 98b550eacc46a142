/*
 * serve_begun.h - the fill quota: memory that incomplete values may take (serve_begun.c), and what
 * happens to begun values while others wait (serve_fills.c).
 *
 * Private to lib/serve. A value whose body is incomplete is begun in the store, which evicts for
 * its full length at once, however slowly the client sends. All begun values together take at most
 * store_begun_max. The next value leaves its body unread and waits in one of three queues over all
 * cores. A complete body needs no quota. While a value waits, begun values that stall are reset.
 *
 * A value is proven if 8 KiB of its body, or half of it, arrive within 100 ms after its line; else
 * it is slow. A value that becomes proven moves to the end of the proven queue. Proven values up to
 * a 32nd of the quota, or up to 64 KiB, are short and have a queue of their own, in which a value
 * that is shorter by 10 KB has the place of one that came a second earlier.
 * - Slow values together take at most three quarters of the quota.
 * - A proven value waits for earlier proven ones, never for a slow one; a slow value for both.
 * - While a slow value waits, proven ones together take at most half of the quota.
 * - The only value of its kind may take all that is left; with nothing in use any value may begin.
 * - Once a queue of proven values has not been empty for 20 ms, short values may begin beside the
 *   quota for ten seconds, in half as much memory, of which each leaves four times its length.
 * - While a proven value waits, each begun value has a clock that runs while its peer could send
 *   more: the value is incomplete, the window is open, and the stack has dropped none of its bytes
 *   since the last ones arrived. No acknowledgment is delayed meanwhile.
 * - By that clock a value may be idle for 10 ms, two round trips and 1 us for each byte received.
 *   Beyond that it is demoted: it counts beside the quota, in half as much memory.
 * - If that memory is full, the value whose clock runs and which has been idle for longest beyond
 *   10 ms, two round trips and 10 us a byte is reset, one a turn.
 * So all begun values take at most half of the memory, and while no proven value waits a value is
 * reset only for a stall.
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
	FILL_QUOTA_GO,   /* parse the request again */
	FILL_QUOTA_NEXT, /* the first in a queue of its core: visited each turn */
	/* Woken when an earlier value leaves the queue, or when its own bytes arrive. */
	FILL_QUOTA_LATER,
};

void fill_quota_create(struct serve *sv);
/* Reserves quota for the connection's value. False: the value must wait, because the quota is
 * used up or an earlier value waits. */
bool fill_quota_take(struct serve *sv, struct session *ss, const struct mc_req *req);
/* Returns the quota of a value that could not be begun. */
void fill_quota_return(struct serve *sv, struct session *ss);
/* The value has begun, and its connection is in no queue. fill_quota_end(): it has ended. */
void fill_quota_begin(struct serve *sv, struct session *ss);
void fill_quota_end(struct serve *sv, struct session *ss);
/* Puts the connection, which waits with a value of that length, into its queue, or takes it out;
 * without effect if that is done already. */
void fill_quota_enqueue(struct serve *sv, struct session *ss, uint64_t bytes);
void fill_quota_dequeue(struct serve *sv, struct session *ss);
/* True if data of the body was dropped for want of frames. The peer is then silent until its
 * retransmission timeout, and memory given to this value would wait for that. So the value
 * leaves the queue until bytes arrive; its ticket keeps its place. */
bool fill_quota_sleeps(struct serve *sv, struct session *ss);
enum fill_quota_state fill_quota_state(struct serve *sv, struct session *ss);
/* Called each turn: while a value waits, begun values must make progress. */
void fill_quota_pressure(struct serve *sv);

/* ---- for serve_fills.c ---- */

bool fill_quota_is_wanted(const struct serve *sv); /* a proven value waits */
/* Moves the begun value out of its part of the quota. False: there is no room beside the quota. */
bool fill_quota_demote(struct serve *sv, struct session *ss);
uint64_t fill_received(const struct session *ss); /* unread bytes that have arrived */

#endif

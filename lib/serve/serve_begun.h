/*
 * serve_begun.h - the fill quota: memory that incomplete values may take (serve_begun.c), and what
 * becomes of begun values while others wait (serve_fills.c).
 *
 * Private to lib/serve. A value whose body is incomplete is begun in the store, which evicts for
 * all of it, however slowly it is sent. All of them together take at most store_begun_max; the next
 * one leaves its body unread and waits, in one of three queues over all cores. A complete body
 * needs no quota. While a value waits, begun values that stall are given up.
 *
 * A value is slow, until 8 KiB of its body, or half of it, are here within 100 ms after its line:
 * then it is proven, and goes to the end of that queue. The proven ones up to a 32nd of the quota,
 * and up to 64 KiB, are short, and have a queue of their own.
 * - Slow values together take at most three quarters of the quota.
 * - A proven value waits for earlier proven ones, never for a slow one; a slow value for both.
 * - While a slow value waits, proven ones together take at most half of the quota.
 * - The only value of its kind takes what it needs of the rest; with nothing in use any may begin.
 * - Once a queue of proven values has not been empty for 200 ms, short values may begin beside the
 *   quota, for ten seconds: in half as much memory.
 * - While a proven value waits, a clock runs for each begun one in which its peer could send more:
 *   there is more to come, its window is open, and none of its bytes were dropped since bytes came
 *   last.
 * - Who gets less than 1 MB/s by that clock, and 300 ms, is demoted: its value counts beside the
 *   quota, in half as much memory.
 * - Where no place is left there, who gets less than 100 KB/s, and 300 ms, is reset while its clock
 *   runs: the slowest first, one a turn.
 * So all begun values take at most half of the memory, and nobody is reset while no proven value
 * waits, but for stalling.
 *
 * Thread: core-local, but for the atomics in struct serve_shared and struct serve: relaxed, since
 *         they limit nothing but the share, and a core that reads an old value reads again next
 *         turn.
 * Bounds: one look a turn and core, over STORE_CORES_MAX cores, and at FILL_SCAN_MAX begun values.
 */
#ifndef CLOCKOO_SERVE_BEGUN_H
#define CLOCKOO_SERVE_BEGUN_H

#include "serve_internal.h"

enum fill_quota_state {
	FILL_QUOTA_GO,   /* read the request again */
	FILL_QUOTA_NEXT, /* the first in one of its core's queues: visited each turn */
	/* Woken when an earlier value leaves the queue, or when its own bytes arrive. */
	FILL_QUOTA_LATER,
};

void fill_quota_create(struct serve *sv);
/* Reserves a part of the share for the connection's value. False: it must wait, because the share
 * is used up or an earlier value waits. */
bool fill_quota_take(struct serve *sv, struct session *ss, const struct mc_req *req);
void fill_quota_return(struct serve *sv, struct session *ss); /* it was not begun */
/* The value is begun, and its connection is in no queue; it is ended or given up. */
void fill_quota_begin(struct serve *sv, struct session *ss);
void fill_quota_end(struct serve *sv, struct session *ss);
/* Puts the connection into its queue, takes it out; no effect if it is there already, or is not. */
void fill_quota_enqueue(struct serve *sv, struct session *ss);
void fill_quota_dequeue(struct serve *sv, struct session *ss);
/* True: data of the body was dropped for want of frames. The peer is then silent until its
 * retransmission timeout, and memory given to this value would wait for that. So the value leaves
 * the queue until bytes arrive; it keeps its ticket, and with it its place. */
bool fill_quota_sleeps(struct serve *sv, struct session *ss);
enum fill_quota_state fill_quota_state(struct serve *sv, struct session *ss);
/* Each turn: while a value waits, values that hold a part of the share must make progress. */
void fill_quota_pressure(struct serve *sv);

/* ---- for serve_fills.c ---- */

bool fill_quota_is_wanted(const struct serve *sv); /* a proven value waits */
/* The begun value leaves its part of the quota. False: there is no room beside it. */
bool fill_quota_demote(struct serve *sv, struct session *ss);
uint64_t fill_received(const struct session *ss); /* unread bytes that are here */

#endif

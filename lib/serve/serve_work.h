/*
 * serve_work.h - one budget of a turn for work that a few bytes can ask for.
 *
 * Private to lib/serve and lib/admin. Walks over the index, rows of long replies, copies of large
 * values: each is bounded by itself, and this budget bounds all of them together. A connection that
 * finds no budget waits in a queue and goes on in a later turn, one connection at a time. Requests
 * that ask for no such work are not delayed.
 *
 * The queue is in the order of clocks (start-time fair queueing, P. Goyal, H. M. Vin and H. Cheng,
 * 1996): a connection's goes on by what it has had while others waited, times the number of its
 * shares in the whole; the clock of all is that of the last one to go on, and nobody waits with an
 * older one. Shares are those of a budget (BUDGET.md), whose holders are the connections that wait.
 * A connection that has had less than its share does not wait while the turn's budget lasts, of
 * which the others leave WORK_RESERVE: a copy does not wait behind dumps.
 *
 * Shape:  a connection in the queue is not visited (session.sched). The first one is taken out as
 *         `next`: it is ready in the stack, so that a core with a queue does not sleep.
 * Units:  work is counted in nanoseconds, about, as measured; no clock is read.
 * Owner:  session.work_link is in the queue while session.sched is SCHED_QUEUED.
 * Thread: core-local.
 * Bounds: WORK_PER_TURN, and what the last one to begin takes beyond it: a step of a reply, or the
 *         copy of one value. Datagrams have WORK_PER_TURN_UDP of their own: none of them can wait.
 */
#ifndef CLOCKOO_SERVE_WORK_H
#define CLOCKOO_SERVE_WORK_H

#include "base/budget.h"
#include "session.h"

#define WORK_PER_TURN     50000
#define WORK_RESERVE      10000 /* of it, for those that have had less than their share */
#define WORK_PER_TURN_UDP 20000

#define WORK_STEP      100u   /* one step of a reply that writes little or nothing */
#define WORK_CORE      500u   /* a look into all counters of a core */
#define WORK_PAGE_MOVE 20000u /* the search for a page to evacuate */

struct work {
	uint32_t turn; /* of which left and left_udp are */
	int32_t left, left_udp;
	struct list queue;
	struct budget shares;    /* of those in it, and of `next` */
	uint64_t clock;          /* of all: that of the last one to go on */
	struct session *next;    /* the one to go on; NULL: none waits */
	struct session *granted; /* the one that was next, in pass granted_pass */
	uint32_t granted_pass;
};

void work_create(struct serve *sv, struct region *region);
/* Whether this connection (NULL: a datagram) may begin such work now. */
bool work_may(struct serve *sv, const struct session *ss);
/* Whether one that has begun may go on. */
bool work_goes_on(struct serve *sv, const struct session *ss);
void work_use(struct serve *sv, struct session *ss, uint32_t ns);
/* Queues the connection. Its input is not read meanwhile. */
void work_wait(struct serve *sv, struct session *ss);
/* Queues the connection at the end: it could do nothing with its share. */
void work_wait_behind(struct serve *sv, struct session *ss);
/* Visits a connection that is queued or next. True: it may use its share now. */
bool work_visit(struct serve *sv, struct session *ss);
void work_forget(struct serve *sv, struct session *ss);

/* Asks for budget for so much work. False: there is none, a connection is queued and its request
 * stays unread; a datagram's request gets none this turn. */
bool work_admit(struct serve *sv, struct session *ss, uint32_t ns);

/* ---- copies of large values ---- */

#define COPY_FEW_BYTES    4096u /* values below this are as any other request's */
#define COPY_BYTES_PER_NS 10u   /* measured: 10 where memory is slow, 40 from the cache */

/* Of a verb that may copy: does the request have a value copied, if there is one? */
bool copies_value(const struct mc_req *req);
/* work_admit for a request of a verb that may copy. True also if there is nothing to copy. key is
 * decoded; hash is its hash. */
bool copy_admit(struct serve *sv, struct session *ss, const struct mc_req *req, struct view key,
		uint64_t hash);

#endif

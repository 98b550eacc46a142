/*
 * serve_work.h - the work budget: how much time of a turn goes to requests whose few bytes cause
 * much work.
 *
 * Private to lib/serve and lib/admin. Walks over the index, rows of long replies and copies of
 * large values are each bounded; this budget bounds all of them together. A connection that finds
 * no budget waits in a queue, from which one connection at a time continues in later turns. Other
 * requests are not delayed.
 *
 * The queue is ordered by virtual time (start-time fair queueing, P. Goyal, H. M. Vin and H. Cheng,
 * 1996). Each connection has a clock, which advances by the work it was given while others waited,
 * divided by its share. The common clock is that of the connection that continued last; the clock
 * of a waiting connection is never behind it. The shares are those of a budget (BUDGET.md) whose
 * holders are the waiting connections. The last WORK_RESERVE of a turn's budget are for connections
 * that have had less than their share. So a copy does not wait for dumps. For copies, a connection
 * saves up to WORK_BURST of its unused share, since the share of one among hundreds is less than a
 * copy in each millisecond.
 *
 * Shape:  a queued connection is not visited (session.sched). The first one leaves the queue,
 *         becomes `next`, and is made ready in the stack, so that a core with a queue does not
 *         sleep.
 * Units:  estimated nanoseconds, from measurements; no clock is read.
 * Owner:  session.work.link is in the queue while session.sched is SCHED_QUEUED.
 * Thread: core-local.
 * Bounds: WORK_PER_TURN, exceeded by at most one step of a reply or the copy of one value.
 *         Datagrams have a budget of their own, WORK_PER_TURN_UDP: they cannot wait.
 */
#ifndef CLOCKOO_SERVE_WORK_H
#define CLOCKOO_SERVE_WORK_H

#include "base/budget.h"
#include "session.h"

#define WORK_PER_TURN 50000
/* The part of WORK_PER_TURN that is left to connections with less than their share. */
#define WORK_RESERVE      10000
#define WORK_PER_TURN_UDP 20000
#define WORK_BURST        4000u /* the unused share that a connection saves for copies */

#define WORK_STEP      100u   /* one step of a reply that writes little or nothing */
#define WORK_CORE      500u   /* reading all counters of a core */
#define WORK_RESET     10000u /* stats reset, for each core */
#define WORK_PAGE_MOVE 20000u /* the search for a page to evacuate */

struct work {
	uint32_t turn; /* the turn to which left and left_udp belong */
	int32_t left, left_udp;
	struct list queue;
	struct budget shares;    /* the holders are the queued sessions, and `next` */
	uint64_t clock;          /* the common virtual clock */
	struct session *next;    /* the session that continues next; NULL: none waits */
	struct session *granted; /* the session that was `next` in pass granted_pass */
	uint32_t granted_pass;
};

void work_create(struct serve *sv, struct region *region);
/* True if the connection (NULL: a datagram) may begin such work now. */
bool work_may_begin(struct serve *sv, const struct session *ss);
/* True if a connection that has begun such work may continue. */
bool work_may_continue(struct serve *sv, const struct session *ss);
void work_use(struct serve *sv, struct session *ss, uint32_t ns);
/* Queues the connection. Its input is not read until it continues. */
void work_wait(struct serve *sv, struct session *ss);
/* Queues the connection at the end, since it could not use its share. */
void work_wait_behind(struct serve *sv, struct session *ss);
/* Visits a connection that is queued, or is `next`. True: it may use its share now. */
bool work_visit(struct serve *sv, struct session *ss);
void work_forget(struct serve *sv, struct session *ss);

/* Takes `ns` from the budget. False: there is not enough; a connection is queued, with its request
 * unread, and a datagram gets no work in this turn. */
bool work_admit(struct serve *sv, struct session *ss, uint32_t ns);

/* ---- copies of large values ---- */

#define COPY_FEW_BYTES    4096u /* shorter values are copied without budget */
#define COPY_BYTES_PER_NS 10u   /* measured: 10 where memory is slow, 40 in the cache */

/* True if the request, whose verb may copy a value, copies one. */
bool copies_value(const struct mc_req *req);
/* Calls work_admit() for the copy that a request makes. True also if it makes none. key is the
 * decoded key, hash its hash. */
bool copy_admit(struct serve *sv, struct session *ss, const struct mc_req *req, struct view key,
		uint64_t hash);

#endif

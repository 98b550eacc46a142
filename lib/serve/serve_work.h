/*
 * serve_work.h - one budget of a turn for work that a few bytes can ask for.
 *
 * Private to lib/serve and lib/admin. Walks over the index, rows of long replies, copies of large
 * values: each is bounded by itself, and this budget bounds all of them together. A connection that
 * finds no budget waits in a queue and goes on in a later turn; the queue moves in order, one
 * connection at a time, each for a turn's worth of work, and a new one goes to its end. Requests
 * that ask for no such work are not delayed.
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

#include "session.h"

#define WORK_PER_TURN     50000
#define WORK_PER_TURN_UDP 20000

#define WORK_STEP      100u   /* one step of a reply that writes little or nothing */
#define WORK_CORE      500u   /* a look into all counters of a core */
#define WORK_PAGE_MOVE 20000u /* the search for a page to evacuate */

struct work {
	uint32_t turn; /* of which left and left_udp are */
	int32_t left, left_udp;
	struct list queue;
	struct session *next;    /* the one to go on; NULL: none waits */
	struct session *granted; /* the one that was next, in pass granted_pass */
	uint32_t granted_pass;
};

void work_create(struct serve *sv);
/* Whether this connection (NULL: a datagram) may begin such work now. */
bool work_may(struct serve *sv, const struct session *ss);
/* Whether one that has begun may go on. */
bool work_goes_on(struct serve *sv, const struct session *ss);
void work_use(struct serve *sv, struct session *ss, uint32_t ns);
/* Queues the connection: at the front if its share was cut short by the end of the turn, else at
 * the end (deficit round robin, M. Shreedhar and G. Varghese, 1995). Its input is not read
 * meanwhile. */
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

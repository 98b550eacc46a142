/*
 * serve_work.h - one budget of a turn for work that a few bytes can ask for.
 *
 * Private to lib/serve. Walks over the index, rows of long replies, copies of large values: each is
 * bounded by itself, and what bounds all of them together is here. Who finds no budget stands in
 * line and goes on in a later turn; the line moves in order, one connection at a time, each for a
 * turn's worth of work, and whoever comes anew stands behind it. Requests that ask for none of this
 * are not held up.
 *
 * Shape:  a connection in the line is not visited (session.aside). The first of the line has the
 *         ticket: it is ready in the stack, so that a core with a line does not sleep.
 * Units:  work is counted in nanoseconds, about, as measured; no clock is read.
 * Owner:  session.line is in the line while session.aside is ASIDE_LINE.
 * Thread: core-local.
 * Bounds: WORK_A_TURN, and what the last one to begin takes beyond it: a step of a reply, or the
 *         copy of one value. Datagrams have WORK_A_TURN_UDP of their own: none of them can wait.
 */
#ifndef CLOCKOO_SERVE_WORK_H
#define CLOCKOO_SERVE_WORK_H

#include "session.h"

#define WORK_A_TURN     50000
#define WORK_A_TURN_UDP 20000

#define WORK_STEP 100u /* one step of a reply that writes little or nothing */
#define WORK_CORE 500u /* a look into all counters of a core */

struct work {
	uint32_t turn; /* of which left and left_udp are */
	int32_t left, left_udp;
	struct list line;
	struct session *ticket;  /* the one to go on next; NULL: nobody waits */
	struct session *granted; /* the one that had the ticket, in pass granted_pass */
	uint32_t granted_pass;
};

void work_create(struct serve *sv);
/* May this connection (NULL: a datagram) begin some now? */
bool work_may(struct serve *sv, const struct session *ss);
/* It has begun: may it go on? */
bool work_goes_on(struct serve *sv, const struct session *ss);
void work_use(struct serve *sv, struct session *ss, uint32_t ns);
/* It goes into the line: to the front if the turn ended before its share, which it gets first then
 * (deficit round robin, M. Shreedhar and G. Varghese, 1995), else to the end. Nothing of it is read
 * before its turn comes. */
void work_wait(struct serve *sv, struct session *ss);
/* The same of one that could do nothing with its share: to the end. */
void work_wait_behind(struct serve *sv, struct session *ss);
/* A visit of one that stands in line; true: it is its turn. */
bool work_visit(struct serve *sv, struct session *ss);
void work_forget(struct serve *sv, struct session *ss);

/* ---- copies of large values ---- */

#define COPY_FEW_BYTES  4096u /* values below this are as any other request's */
#define COPY_BYTES_A_NS 10u   /* measured: 10 where memory is slow, 40 from the cache */

/* May this request, of a verb that copies, be answered now? If so the copy counts; if not, and it
 * is a connection's, that is in line and the request stays unread. The key as it is, and its hash.
 */
bool copy_may(struct serve *sv, struct session *ss, const struct mc_req *req, struct view key,
	      uint64_t hash);

#endif

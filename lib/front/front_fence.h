/*
 * front_fence.h - whether a server may still execute what was sent to it on connections that have
 * ended: those of an earlier process of our address, and those on which writes were lost.
 *
 * Private to lib/front.
 *
 * Shape:  a server is asked for its connections. For the start: by one lane of one core, until none
 *         of them is from our address but those of this process. For lost writes (front_fates.h):
 *         by the first lane of their core, until none of their connections is listed. A server that
 *         cannot say is asked no more, nor one whose connection has ended instead of the answer:
 *         once at the start, FRONT_FENCE_CUTS times in a row for lost writes. Once its address has
 *         changed, its lists say nothing of what was before.
 *         What a process that was killed has left is listed until somebody resets it: a SYN from
 *         its port is answered by the number that is expected there, and that by our RST.
 * Units:  ns of the clock of serve_turn().
 * Owner:  a lane has one struct; the ports of all cores are in the server's report.
 * Thread: core-local; the report is shared.
 * Bounds: a list of any length, as far as it comes in the lane's timeout.
 * Source: FRONT.md 3, "fate of a write unknown", "fence", "no fence"; RFC 5961 4.2, RFC
 * 9293 3.10.7.3.
 *
 * Known limit: a connection that the server's kernel has, and its process does not list yet, is not
 * seen; ours was opened, and answered, later; and so was each on which a write is lost.
 */
#ifndef CLOCKOO_FRONT_FENCE_H
#define CLOCKOO_FRONT_FENCE_H

#include "front_listing.h"

struct front_lane;

#define FRONT_FENCE_CUTS 3u

struct front_fence {
	uint64_t ask_ns;   /* FRONT_NEVER */
	uint64_t pause_ns; /* before it is asked again */
	bool asked;
	bool unable;          /* it cannot say */
	uint32_t cuts;        /* connections that have ended instead of the answer, in a row */
	bool moved;           /* its server has another address than when the front began */
	uint16_t port;        /* of its connection, or of the last one */
	uint32_t pass;        /* of the list that it has asked for */
	uint16_t hastened;    /* the last one's port */
	struct conn *hastens; /* opened from the port of an earlier process; NULL */
	struct front_listing listing;
};

/* The lane is up; its connection ends. */
void front_fence_up(struct front_lane *l);
void front_fence_down(struct front_lane *l);
/* The lane is down, and its server has another address. */
void front_fence_moved(struct front_lane *l);
/* Its connection has ended, and writes may be lost with it. */
void front_fence_lost(struct front_lane *l);
/* It is due. */
void front_fence_ask(struct front_lane *l);
void front_fence_row(struct front_lane *l, struct view name, struct view value);
/* The answer is here; false: it was an error. */
void front_fence_answered(struct front_lane *l, bool listed);
/* Is this link, which is open or has ended, of no other use? It is gone then. */
bool front_fence_hastened(struct front_lane *l, struct conn *link, bool opened);

#endif

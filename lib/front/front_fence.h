/*
 * front_fence.h - decides whether a server may still execute requests sent on connections that
 * have ended: those of an earlier process with this address, and those on which writes were lost.
 *
 * Private to lib/front.
 *
 * Shape:  a lane requests the list of a server's connections. For the start one lane of one core
 *         does so, until the only connections from this address are those of this process. For
 *         lost writes (front_fates.h) the first lane of their core does so, until none of their
 *         connections is listed. A server that cannot list them is not asked again, nor one that
 *         ends the connection instead of answering: once at the start, FRONT_FENCE_CUTS times in
 *         a row for lost writes. Lists of a new address are no evidence about earlier writes.
 *         Connections of a killed process stay listed until they are reset: a SYN from such a
 *         port is answered with the expected sequence number, and this host answers that with a
 *         RST.
 * Units:  ns of the clock of serve_turn().
 * Owner:  a lane has one struct; the ports of all cores are in the server's report.
 * Thread: core-local; the report is shared.
 * Bounds: a list of any length, if it arrives within the lane's timeout.
 * Source: FRONT.md 3, "fate of a write unknown", "fence", "no fence"; RFC 5961 4.2, RFC
 * 9293 3.10.7.3.
 *
 * Known limit: a connection that the server's kernel has accepted but its process does not list
 * yet is not seen. The lane's own was opened and answered later, and so was each connection on
 * which a write is lost.
 */
#ifndef CLOCKOO_FRONT_FENCE_H
#define CLOCKOO_FRONT_FENCE_H

#include "front_listing.h"

struct front_lane;

#define FRONT_FENCE_CUTS 3u

struct front_fence {
	uint64_t ask_ns;   /* when to request a list; FRONT_NEVER */
	uint64_t pause_ns; /* before the next list */
	bool asked;
	bool unable;          /* the server cannot list its connections */
	uint32_t cuts;        /* connections that ended instead of an answer, in a row */
	bool moved;           /* the server's address has changed since the front began */
	uint16_t port;        /* of its connection, or of the last one */
	uint32_t pass;        /* of the requested list */
	uint16_t hastened;    /* port of the last such connection */
	struct conn *hastens; /* opened from the port of an earlier process; or NULL */
	struct front_listing listing;
};

/* Call when the lane is up, and when its connection ends. */
void front_fence_up(struct front_lane *l);
void front_fence_down(struct front_lane *l);
/* Call while the lane is down and its server has a new address. */
void front_fence_moved(struct front_lane *l);
/* Call when its connection has ended, with which writes may be lost. */
void front_fence_lost(struct front_lane *l);
/* Requests a list that is due. */
void front_fence_ask(struct front_lane *l);
void front_fence_row(struct front_lane *l, struct view name, struct view value);
/* Handles the end of the list. False: the answer was an error. */
void front_fence_answered(struct front_lane *l, bool listed);
/* True if this link, which is open or has ended, served only to reset a port; it is freed
 * then. */
bool front_fence_hastened(struct front_lane *l, struct conn *link, bool opened);

#endif

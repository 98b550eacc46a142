/*
 * front_fence.h - decides whether a server may still execute requests sent on connections that
 * have ended: those of an earlier process with this address, and those on which writes were lost.
 *
 * Private to lib/front.
 *
 * Shape:  a lane requests the list of a server's connections. At the start one lane of one core
 *         repeats this until the list shows no connections from this address but this process's
 *         own. After a lost write (in_doubt.h) the first lane of the core that lost it repeats
 *         this until the connection that carried the write is no longer listed. A server that
 *         cannot list connections is not asked again, nor is one that closes the connection
 *         instead of answering: at the start one such close is enough, for lost writes
 *         FRONT_FENCE_CUTS in a row. After a server's address changes, its lists prove nothing
 *         about writes sent to the old one. Connections of a killed process stay listed until they
 *         are reset. To reset one, the front sends a SYN from the same port: the server replies
 *         with a challenge ACK, and this host answers that with a RST.
 * Units:  ns of the clock of serve_turn().
 * Owner:  each lane owns one front_fence; the local ports of all cores' lanes are in the server's
 *         shared report.
 * Thread: core-local; the report is shared.
 * Bounds: a list of any length, if it arrives within the lane's timeout.
 * Source: COHERENCE.md 2, "outcome of a write unknown", "fence", "no fence"; RFC 5961 4.2, RFC
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
	uint16_t port;        /* local port of the lane's connection, else of its previous one */
	uint32_t pass;        /* number of the list that was requested */
	uint16_t hastened;    /* port of the last such connection */
	struct conn *hastens; /* opened from the port of an earlier process; or NULL */
	struct front_listing listing;
};

/* Call when the lane is up, and when its connection ends. */
void front_fence_up(struct front_lane *l);
void front_fence_down(struct front_lane *l);
/* Call while the lane is down and its server has a new address. */
void front_fence_moved(struct front_lane *l);
/* Call when the lane's connection has ended and writes may have been lost with it. */
void front_fence_lost(struct front_lane *l);
/* Requests a list that is due. */
void front_fence_ask(struct front_lane *l);
void front_fence_row(struct front_lane *l, struct view name, struct view value);
/* Handles the end of the list. False: the answer was an error. */
void front_fence_answered(struct front_lane *l, bool listed);
/* Call when a link has opened or ended. True: it served only to reset a port, and has been
 * freed. */
bool front_fence_hastened(struct front_lane *l, struct conn *link, bool opened);

#endif

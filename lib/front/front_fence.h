/*
 * front_fence.h - decides whether a server may still execute requests from connections that have
 * ended. Such connections are those of an earlier process with this address, and those with which
 * writes were lost.
 *
 * Private to lib/front.
 *
 * Shape:  a lane requests the server's list of its connections. After the start, one lane of one
 *         core repeats that until the list shows no connection from this address except this
 *         process's own. After a lost write (in_doubt.h), the first lane of the core that lost it
 *         repeats that until the connection which carried the write is no longer listed.
 *         A server is not asked again if it cannot list connections, or closes the connection
 *         instead of answering: after the start one such close is enough, for lost writes it takes
 *         FRONT_FENCE_CUTS in a row. If a server's address changes, its lists prove nothing about
 *         writes sent to the old address.
 *         Connections of a killed process stay listed until they are reset. To reset one, the front
 *         sends a SYN from the same port: the server replies with a challenge ACK, and this host
 *         answers that with a RST.
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
	uint64_t ask_ns;   /* when the next list is requested; FRONT_NEVER: no list is due */
	uint64_t pause_ns; /* pause before the next list */
	bool asked;        /* a list was requested and has not arrived completely */
	bool unable;       /* the server cannot list its connections */
	uint32_t cuts;     /* connections that ended instead of answering, in a row */
	bool moved;        /* the server's address has changed since the front began */
	/* Local port of the lane's connection; if there is none, of its previous one. */
	uint16_t port;
	uint32_t pass;        /* number of the last list that was requested */
	uint16_t hastened;    /* port that was reset last */
	struct conn *hastens; /* the connection that resets a port; NULL: none */
	struct front_listing listing;
};

/* To be called when the lane is up, and when its connection ends. */
void front_fence_up(struct front_lane *l);
void front_fence_down(struct front_lane *l);
/* To be called while the lane is down and its server has a new address. */
void front_fence_moved(struct front_lane *l);
/* To be called when the lane's connection has ended and writes may be lost with it. */
void front_fence_lost(struct front_lane *l);
/* Requests the list that is due. */
void front_fence_ask(struct front_lane *l);
void front_fence_row(struct front_lane *l, struct view name, struct view value);
/* Handles the end of a list. listed: false if the answer was an error. */
void front_fence_answered(struct front_lane *l, bool listed);
/* To be called when a connection has opened or ended. True: the connection served only to reset a
 * port, and was freed. */
bool front_fence_hastened(struct front_lane *l, struct conn *link, bool opened);

#endif

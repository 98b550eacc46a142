/*
 * front_fence.h - whether a server may still execute what an earlier process of our address has
 * sent it.
 *
 * Private to lib/front.
 *
 * Shape:  a server is asked for its connections, until none of them is from our address but those
 *         of this process; by one lane of one core, when that is up. A server that cannot say, or
 *         whose connection ends instead of the answer, is asked no more; so is one whose address
 *         has changed since the front began.
 * Units:  ns of the clock of serve_turn().
 * Owner:  a lane has one struct; the ports of all cores are in the server's report.
 * Thread: core-local; the report is shared.
 * Bounds: a list of any length, as far as it comes in the lane's timeout.
 * Source: FRONT.md 3, "fence", "no fence".
 *
 * Known limit: a connection that the server's kernel has, and its process does not list yet, is not
 * seen; ours was opened, and answered, later.
 */
#ifndef CLOCKOO_FRONT_FENCE_H
#define CLOCKOO_FRONT_FENCE_H

#include "front_listing.h"

struct front_lane;

struct front_fence {
	uint64_t ask_ns;   /* FRONT_NEVER */
	uint64_t pause_ns; /* before it is asked again */
	bool asked;
	bool unable; /* it cannot say, or its connection ended instead */
	bool moved;  /* its server has another address than when the front began */
	struct front_listing listing;
};

/* The lane is up; its connection ends. */
void front_fence_up(struct front_lane *l);
void front_fence_down(struct front_lane *l);
/* It is due. */
void front_fence_ask(struct front_lane *l);
/* The answer is here; false: it was an error. */
void front_fence_answered(struct front_lane *l, bool listed);

#endif

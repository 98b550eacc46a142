/*
 * front_handover.h - keys that a change of the fleet has moved, and that are handed over by their
 * former server.
 *
 * Private to lib/front.
 *
 * Thread: core-local; which keys may be handed over is shared (front_warm.h).
 */
#ifndef CLOCKOO_FRONT_HANDOVER_H
#define CLOCKOO_FRONT_HANDOVER_H

#include "front_cache.h"

/* Handles a miss of a retrieval at its server, which may be in a batch. True: it is not answered
 * now. */
bool front_handover_missed(struct front *f, struct front_request *request);
/* Settles the key of a write that is asked for, and deletes it at its former server. */
void front_handover_written(struct front *f, const struct backend_ask *ask);
/* True if a batch's miss is not answered now, since the key may be at its former server. */
static inline bool
front_handover_begins(struct front_lane *l, struct front_request *request, enum mc_error error)
{
	return unlikely(l->front->state->special) && error == MC_ERR_NONE &&
	       front_handover_missed(l->front, request);
}

/* True if the write waits in front.waiting, since an add of its key is in progress. */
bool front_handover_waits(struct front *f, struct front_request *request);
/* Ends hand-overs before a flush. False: the flush must wait for adds. */
bool front_handover_flush(const struct front *f);
/* Handles the former server's answer. */
void front_handover_answered(struct front *f, struct front_request *part,
			     const struct backend_answer *answer);
/* front_handover_fetched ends the fetch of a request, front_handover_added an add. */
void front_handover_fetched(struct front *f, struct front_request *request);
void front_handover_added(struct front *f, const struct front_request *add);

#endif

/*
 * front_handover.h - a change of the fleet has moved keys; their former servers hand them over.
 *
 * Private to lib/front.
 *
 * Thread: core-local; front_warm.h, which keys may be handed over, is shared.
 */
#ifndef CLOCKOO_FRONT_HANDOVER_H
#define CLOCKOO_FRONT_HANDOVER_H

#include "front_cache.h"

/* Handles a miss of a retrieval at its key's server. True: the request is not answered now. */
bool front_handover_missed(struct front *f, struct front_request *request);
/* Settles the key of a new write, and deletes it at its former servers. */
void front_handover_written(struct front *f, const struct backend_ask *ask);
/* True if this miss of a batch is not answered now, since a former server may have the key. */
static inline bool
front_handover_begins(struct front_lane *l, struct front_request *request, enum mc_error error)
{
	return unlikely(l->front->state->special) && error == MC_ERR_NONE &&
	       front_handover_missed(l->front, request);
}

/* True if the write waits in front.waiting until an add of its key has ended. */
bool front_handover_waits(struct front *f, struct front_request *request);
/* Ends hand-overs before a flush. False: an add is in progress, so the flush must wait. */
bool front_handover_flush(const struct front *f);
/* Handles the answer of a former server, of which part was asked. */
void front_handover_answered(struct front *f, struct front_request *part,
			     const struct backend_answer *answer);
/* front_handover_fetched: the fetch for a request has ended, and the request is sent again.
 * front_handover_added: an add has ended. */
void front_handover_fetched(struct front *f, struct front_request *request);
void front_handover_added(struct front *f, const struct front_request *add);

#endif

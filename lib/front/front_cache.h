/*
 * front_cache.h - what a front's requests do with copies and with each other.
 *
 * Private to lib/front.
 *
 * Shape:  a queued request may have a lease, and may lead plain gets or plain sets. A request that
 *         follows it is only in the leader's list, and uses its answer (front_request.owner); a set
 *         that follows has no value any more.
 *
 * Thread: core-local; versions and admission are shared.
 */
#ifndef CLOCKOO_FRONT_CACHE_H
#define CLOCKOO_FRONT_CACHE_H

#include "front_core.h"

/* ---- leaders and followers (front_follow.c) ---- */

/* Makes a retrieval follow one of its key on this lane. False: it must be queued. */
bool front_read_follow(struct front *f, struct front_lane *l, const struct backend_ask *ask);
/* Makes a set, which has its value, succeed a set of this key in progress, or merges it with the
 * successor. False: it must be queued. */
bool front_set_follow(struct front *f, struct front_request *request);
/* Makes a queued request a leader, if its kind can be. */
void front_request_lead(struct front *f, struct front_request *request);
/* Ends a leader: it is not followed any more, and its successor is queued. */
void front_request_lead_end(struct front *f, struct front_request *request);
/* Gives a leader's answer to its followers, which front_followers_complete() completes in
 * poll(). */
void front_followers_answer(struct front *f, struct front_request *request,
			    const struct backend_answer *answer);
void front_followers_complete(struct front *f);
/* Ends a leader and fails its followers. */
void front_followers_fail(struct front *f, struct front_request *request);

/* ---- copies (front_cache.c) ---- */

/* True if values of this lane's server may be cached, as far as the fence is concerned. */
static inline bool
front_may_cache(const struct front_lane *l)
{
	/* Acquire: a request sent now follows the list. */
	return likely(l->front->copies.unfenced_until_s == 0) ||
	       (!l->fence.moved && atomic_load_explicit(&l->report->fenced, memory_order_acquire));
}

/* Sets the functions with which copies answer, if the front has any. */
void front_cache_attach(struct front *f, struct backend_copies *copies);
/* Counts a retrieval of the key. */
void front_cache_asked(struct front *f, struct front_request *request);
/* Takes the lease of a queued retrieval. */
void front_cache_lease(struct front *f, struct front_request *request);
/* Begins a write that is queued. False: it must not be sent. */
bool front_cache_write(struct front *f, struct front_request *request);
/* Handle the answer to a retrieval, before a client gets it. */
void front_cache_value(struct front_lane *l, struct front_request *request);
void front_cache_miss(struct front *f, struct front_request *request);
/* Handles the answer to a write that was executed, before a client gets it. */
void front_cache_stored(struct front *f, struct front_request *request);
/* Ends a request's part in copies, when the request ends or its outcome is settled; at most once.
 */
void front_cache_end(struct front *f, struct front_request *request);
/* Begins a flush. */
void front_cache_flush(struct front *f, struct front_request *whole);
/* Initializes the front's copies; called once. */
void front_cache_begin(struct front *f);
/* Does a turn's work; called in poll(). */
void front_cache_turn(struct front *f);

#endif

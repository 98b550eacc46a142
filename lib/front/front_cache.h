/*
 * front_cache.h - how a front's requests use copies, and how requests of one key share an answer.
 *
 * Private to lib/front.
 *
 * Shape:  a queued request may have a lease for a copy, and may lead other plain gets, or plain
 *         sets, of its key. A request that follows a leader is only in the leader's list, and uses
 *         its answer (front_request.owner). A set that follows has given up its value.
 *
 * Thread: core-local; versions and admission are shared.
 */
#ifndef CLOCKOO_FRONT_CACHE_H
#define CLOCKOO_FRONT_CACHE_H

#include "front_core.h"

/* ---- leaders and followers (front_follow.c) ---- */

/* Makes a retrieval follow the leader of its key on this lane. False: there is none; it must be
 * queued. */
bool front_read_follow(struct front *f, struct front_lane *l, const struct backend_ask *ask);
/* Makes a set, which has its value, the successor of a set of its key in progress. If there is a
 * successor already, that one takes the new value, and this set follows it. False: no set is in
 * progress; it must be queued. */
bool front_set_follow(struct front *f, struct front_request *request);
/* Makes a queued request the leader of its key, if its kind can lead. */
void front_request_lead(struct front *f, struct front_request *request);
/* Ends a leader: no more requests follow it, and its successor is queued. */
void front_request_lead_end(struct front *f, struct front_request *request);
/* Gives a leader's answer to its followers. front_followers_complete() completes them, in
 * poll(). */
void front_followers_answer(struct front *f, struct front_request *request,
			    const struct backend_answer *answer);
void front_followers_complete(struct front *f);
/* Ends a leader and fails its followers. */
void front_followers_fail(struct front *f, struct front_request *request);

/* ---- copies (front_cache.c) ---- */

/* True if values of this lane's server may be cached by what is known of earlier processes
 * (front_fence.h). */
static inline bool
front_may_cache(const struct front_lane *l)
{
	/* Acquire: pairs with the release in front_fence_answered; a request that is sent now is
	 * younger than the list. */
	return likely(l->front->copies.unfenced_until_s == 0) ||
	       (!l->fence.moved && atomic_load_explicit(&l->report->fenced, memory_order_acquire));
}

/* Sets the functions by which copies answer, if the front has copies. */
void front_cache_attach(struct front *f, struct backend_copies *copies);
/* Counts a retrieval for the admission of its key. */
void front_cache_asked(struct front *f, struct front_request *request);
/* Takes the lease with which a queued retrieval may make a copy. */
void front_cache_lease(struct front *f, struct front_request *request);
/* Begins a write that will be queued: copies of its key end. False: it must not be sent. */
bool front_cache_write(struct front *f, struct front_request *request);
/* Handle a retrieval's answer, a value or a miss, before a client gets it. */
void front_cache_value(struct front_lane *l, struct front_request *request);
void front_cache_miss(struct front *f, struct front_request *request);
/* Handles the answer to a write that was executed, before a client gets it. */
void front_cache_stored(struct front *f, struct front_request *request);
/* Ends a request's leases and writers, when the request ends or its outcome is known. At most once
 * a request. */
void front_cache_end(struct front *f, struct front_request *request);
/* Begins a flush: all copies end. */
void front_cache_flush(struct front *f, struct front_request *whole);
/* Initialises the front's copies. Called once. */
void front_cache_begin(struct front *f);
/* Does the copies' work of a turn. Called in poll(). */
void front_cache_turn(struct front *f);

#endif

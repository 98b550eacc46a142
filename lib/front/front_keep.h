/*
 * front_keep.h - the interface of copies and flights for the other files of a front.
 *
 * Private to lib/front.
 *
 * Shape:  a queued request may own a lease, and may be a flight of plain gets
 *         or plain sets. A request that joined a flight is only in the flight's list, and uses
 *         its answer (front_request.owner); a set that joined has no value any more.
 *
 * Thread: core-local; versions and admission are shared.
 */
#ifndef CLOCKOO_FRONT_KEEP_H
#define CLOCKOO_FRONT_KEEP_H

#include "front_core.h"

/* ---- flights (front_flight.c) ---- */

/* Joins a flight of the requested key on this lane. False: the request must be queued. */
bool front_flight_join(struct front *f, struct front_lane *l, const struct backend_ask *ask);
/* Makes a set, which has its value, follow a set of this key in progress, or merges it with the
 * one that follows. False: the request must be queued. */
bool front_flight_wait(struct front *f, struct front_request *request);
/* Marks a queued request as a flight that may be joined; marks it as sent. */
void front_flight_begin(struct front *f, struct front_request *request);
void front_flight_sent(struct front *f, struct front_request *request);
/* Ends a flight: it is not joined any more, and the next one is queued. */
void front_flight_end(struct front *f, struct front_request *request);
/* Takes the answer of a flight. Its joiners are completed by front_flight_complete(), in poll(). */
void front_flight_land(struct front *f, struct front_request *request,
		       const struct backend_answer *answer);
void front_flight_complete(struct front *f);
/* Closes the key's unsent flights: later requests do not join them. */
void front_flights_close(struct front *f, struct copy_key wanted);
/* Fails a flight and all requests that joined it. */
void front_flight_fail(struct front *f, struct front_request *request);

/* ---- copies (front_keep.c) ---- */

/* True if values of this lane's server may be kept, as far as the fence is concerned. */
static inline bool
front_may_keep(const struct front_lane *l)
{
	/* Acquire: a request sent now follows the list. */
	return likely(l->front->fence_until_s == 0) ||
	       (!l->fence.moved && atomic_load_explicit(&l->report->fenced, memory_order_acquire));
}

/* Sets the functions with which copies answer, if the front keeps any. */
void front_keep_attach(struct front *f, struct backend_copies *copies);
/* Counts a retrieval of the key. */
void front_keep_asked(struct front *f, struct front_request *request);
/* Takes the lease of a queued retrieval. */
void front_keep_place(struct front *f, struct front_request *request);
/* Begins a write that is queued. False: it must not be sent. */
bool front_keep_writes(struct front *f, struct front_request *request);
/* Handle the answer to a retrieval, before a client gets it. */
void front_keep_value(struct front_lane *l, struct front_request *request);
void front_keep_missed(struct front *f, struct front_request *request);
/* Handles the answer to a write that was executed, before a client gets it. */
void front_keep_stored(struct front *f, struct front_request *request);
/* Ends a request's part in copies, when the request ends or its outcome is settled; at most once.
 */
void front_keep_end(struct front *f, struct front_request *request);
/* Begins a flush. */
void front_keep_flush(struct front *f, struct front_request *whole);
/* Flushes copies, before any server gets its part. False: call again in the next turn. */
bool front_keep_flushed(struct front *f);
/* Initializes the front's copies; called once. */
void front_keep_begin(struct front *f);
/* Does a turn's work; called in poll(). */
void front_keep_turn(struct front *f);

#endif

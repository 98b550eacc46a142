/*
 * front_keep.h - copies and flights, as the other files of a front call them.
 *
 * Private to lib/front.
 *
 * Shape:  a key that is queued may hold the placeholder of a copy, and may be a flight, of plain
 *         gets or plain sets. A key that joined one is nowhere but with it, and uses its answer
 *         (front_key.owner); a set that did has no value any more.
 *
 * Thread: core-local; cells and slots are shared.
 */
#ifndef CLOCKOO_FRONT_KEEP_H
#define CLOCKOO_FRONT_KEEP_H

#include "front_core.h"

/* ---- flights (front_flight.c) ---- */

/* The key that is asked for is on its way by this lane. False: it is to be queued. */
bool front_flight_join(struct front *f, struct front_lane *l, const struct serve_ask *ask);
/* A set of this key is under way: this one, which has its value, follows it, or is what follows it.
 * False: it is to be queued. */
bool front_flight_wait(struct front *f, struct front_key *key);
/* The key is queued, and may be joined; it is sent. */
void front_flight_begin(struct front *f, struct front_key *key);
void front_flight_sent(struct front *f, struct front_key *key);
/* It is not joined any more, and the next one is queued. */
void front_flight_end(struct front *f, struct front_key *key);
/* Its answer is here: others are told by front_flight_tell(), in poll(). */
void front_flight_land(struct front *f, struct front_key *key, const struct serve_answer *answer);
void front_flight_tell(struct front *f);
/* Who asks for the key from now on joins none that waits to be sent. */
void front_flights_close(struct front *f, struct front_wanted wanted);
/* It has failed, and so have those that joined. */
void front_flight_fail(struct front *f, struct front_key *key);

/* ---- copies (front_keep.c) ---- */

/* Of what this lane's server has, as far as the fence goes. */
static inline bool
front_may_keep(const struct front_lane *l)
{
	/* Acquire: what is asked now is asked after the list was made. */
	return likely(l->front->fence_until_s == 0) ||
	       (!l->fence.moved && atomic_load_explicit(&l->report->fenced, memory_order_acquire));
}

/* What the service is told of copies. */
void front_keep_supply(struct serve_supplier *supplier);
/* The key is a retrieval's. */
void front_keep_asked(struct front *f, struct front_key *key);
/* It is queued. */
void front_keep_place(struct front *f, struct front_key *key);
/* The key of a write is. False: it is not to be sent. */
bool front_keep_writes(struct front *f, struct front_key *key);
/* This is the answer to a retrieval: before it is told. */
void front_keep_value(struct front_lane *l, struct front_key *key);
void front_keep_missed(struct front *f, struct front_key *key);
/* Likewise to a write: it is done. */
void front_keep_stored(struct front *f, struct front_key *key);
/* The key ends, or what was sent for it is over; no more than once. */
void front_keep_end(struct front *f, struct front_key *key);
/* A flush begins. */
void front_keep_flush(struct front *f, struct front_key *whole);
/* Before any server has its part; false: again in the next turn. */
bool front_keep_flushed(struct front *f);
/* Once. */
void front_keep_begin(struct front *f);
/* In poll(). */
void front_keep_turn(struct front *f);

#endif

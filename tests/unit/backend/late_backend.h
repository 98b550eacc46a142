/*
 * late_backend.h - a backend for tests that answers late, in any order, or never.
 *
 * Shape:  the key's first letter decides how the backend answers, the key's number what it has.
 *
 *           s  a value, or a miss for every fifth number; over 1 KiB for some
 *           f  a failure
 *           d  no answer, before the request is forgotten
 *           v  the number of answers so far
 *           l  the value that was written there, in a store of the backend's own
 *
 *         With flash it is a second tier instead. Items that late_evict() has taken from the store
 *         answer gets; they are promoted for gets now and then, and always for commands that
 *         change them. The store evicts some of them again before they are used.
 *
 *         Writes of f fail, those of d are never answered; those of s and v change nothing, and
 *         get a result that follows from the number. A written value is kept as a copy, or not.
 *
 * Owner:  a rig with the backend attached.
 *
 * Thread: one.
 *
 * Errors: a broken promise of backend.h fails the running test: a ticket used twice, an answer
 *         to a request that was not made, an item not released, or released twice, memory of
 *         values that is not returned.
 */
#ifndef CLOCKOO_LATE_BACKEND_H
#define CLOCKOO_LATE_BACKEND_H

#include "unit/serve/fake_stack.h"
#include "backend/backend.h"

#define LATE_TURN_NS    1000000u
#define LATE_TIMEOUT_NS (60u * LATE_TURN_NS)
#define LATE_LANES      4u

struct late;

struct late_config {
	uint32_t delay_max;     /* turns until an answer */
	uint32_t copies_of_ten; /* values of ten that become copies in the store */
	bool misses_on_failure;
	bool writes;   /* the backend writes, and answers gets and binary gets with copies */
	bool in_order; /* it reads keys with an l at the request, as it announces (in_order) */
	bool flash;    /* a second tier instead, which promotes evicted keys with an l */
	bool thrashes; /* the store evicts promoted keys again at once */
	bool plain;    /* no backend: a rig by itself */
	uint64_t seed;
};

#define LATE_NUMBERS (1u << 20) /* numbers of keys with an l */

/* Returns a rig whose misses are requested from the backend. */
struct late *late_create(const struct late_config *cfg);
/* Sets the delay and the share of copies from now on. */
void late_pace(struct late *late, uint32_t delay_max, uint32_t copies_of_ten);
/* Destroys the rig. All its requests must have ended. */
void late_destroy(struct late *late);
struct rig *late_rig(struct late *late);
/* Runs one turn of the rig and moves the clock. */
void late_turn(struct late *late);
/* Holds back all answers while hold is true. */
void late_hold(struct late *late, bool hold);
/* Moves each key to the next lane. The caller has no answer under way. */
void late_move_keys(struct late *late);
uint64_t late_asked(const struct late *late); /* requests so far */
/* Returns how many writes of this key with an l were requested since it was forgotten. */
uint32_t late_written(const struct late *late, uint32_t number);
void late_forget(struct late *late, uint32_t number);
/* Stores a number under this key with an l. */
void late_put(struct late *late, uint32_t number);
/* Moves the store's item of this key with an l to the flash, if there is one. */
void late_evict(struct late *late, uint32_t number);
uint64_t late_promotions(const struct late *late); /* promotions so far */
uint64_t late_read(const struct late *late);       /* gets that were answered by a copy */
uint64_t late_values(const struct late *late);     /* values that it has received and not ended */
uint64_t late_stale(const struct late *late);      /* answers after the end of their request */

#endif

/*
 * late_supplier.h - a supplier for tests that answers late, in any order, or never.
 *
 * Shape:  what a key has is told by the key itself: its first letter says how it is answered, its
 *         number what is there.
 *
 *           s  a value, or a miss for every fifth number; over 1 KiB for some
 *           f  that it has failed
 *           d  nothing, before it is forgotten
 *           v  how many answers there have been
 *           l  what was written there, in a store of the supplier's own
 *
 *         With flash it is a second tier instead: what late_evict() has taken from the store is
 *         there for gets, comes back for them now and then, and always for what changes it; the
 *         store evicts some of that before it is used.
 *
 *         Writes of f fail, those of d are never answered; those of s and v change nothing, and are
 *         told one result or another, by the number. What a write brings is kept as a copy, or not.
 *
 * Owner:  a rig with the supplier attached.
 *
 * Thread: one.
 *
 * Errors: a promise of serve_await.h that is broken fails the running test: a ticket twice, an
 *         answer to who has not asked, an item not released, or released twice, memory of values
 *         that does not come back.
 */
#ifndef CLOCKOO_LATE_SUPPLIER_H
#define CLOCKOO_LATE_SUPPLIER_H

#include "fake_stack.h"
#include "serve/serve_await.h"

#define LATE_TURN_NS    1000000u
#define LATE_TIMEOUT_NS (60u * LATE_TURN_NS)
#define LATE_LANES      4u

struct late;

struct late_config {
	uint32_t delay_max;     /* turns until an answer */
	uint32_t copies_of_ten; /* values that are kept in the store, of ten */
	bool misses_on_failure;
	bool writes;   /* it is asked to write, and for gets and binary gets that have copies */
	bool flash;    /* or brings what was evicted, of keys with an l */
	bool thrashes; /* and the store evicts it at once */
	bool plain;    /* no supplier: a rig by itself */
	uint64_t seed;
};

#define LATE_NUMBERS (1u << 20) /* of keys with an l */

/* A rig whose misses are asked of it. */
struct late *late_create(const struct late_config *cfg);
/* From now on. */
void late_pace(struct late *late, uint32_t delay_max, uint32_t copies_of_ten);
/* All asks have ended. */
void late_destroy(struct late *late);
struct rig *late_rig(struct late *late);
/* One turn of the rig and the clock. */
void late_turn(struct late *late);
/* Nothing is answered until it is false. */
void late_hold(struct late *late, bool hold);
/* Each key takes the next lane from now on. No value is on its way. */
void late_move_keys(struct late *late);
uint64_t late_asked(const struct late *late); /* ever */
/* Writes of this key with an l that were asked for, since it was forgotten. */
uint32_t late_written(const struct late *late, uint32_t number);
void late_forget(struct late *late, uint32_t number);
/* A number is stored under this key with an l. */
void late_put(struct late *late, uint32_t number);
/* The store's item of this key with an l goes to the flash, if it is there. */
void late_evict(struct late *late, uint32_t number);
uint64_t late_brought(const struct late *late); /* copies that came back, ever */
uint64_t late_read(const struct late *late);    /* gets that were answered by a copy */
uint64_t late_values(const struct late *late);  /* that it was given and has not ended */
uint64_t late_stale(const struct late *late);   /* answers that came after the end of their ask */

#endif

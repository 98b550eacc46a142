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
 *
 *
 * Owner:  a rig with the supplier attached.
 *
 * Thread: one.
 *
 * Errors: a promise of serve_await.h that is broken fails the running test: a ticket twice, an
 *         answer to who has not asked, an item not released, or released twice.
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
	uint64_t seed;
};

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
uint64_t late_asked(const struct late *late); /* ever */
uint64_t late_stale(const struct late *late); /* answers that came after the end of their ask */

#endif

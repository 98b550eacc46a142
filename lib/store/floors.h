/*
 * floors.h - cas floors: no removed item of a key has had a higher number than the key's floor.
 *
 * Thread: a floor is raised under the lock of a bucket of its keys (unlink.h); any core reads it.
 *
 * Bounds: FLOORS floors, by tag.
 */
#ifndef CLOCKOO_FLOORS_H
#define CLOCKOO_FLOORS_H

#include "store_state.h"

static inline _Atomic uint64_t *
store_floor(const struct store *st, uint16_t tag)
{
	return &st->floors[tag % FLOORS];
}
static_assert(TAG_DISPLACED % FLOORS == 0, "a key's floor is the same wherever it lies");

/* True if the number that follows cas is above the key's floor. */
static inline bool
floor_follows(uint64_t floor, uint64_t cas)
{
	return cas <= (floor > FLOOR_MAX ? floor : FLOOR_MAX) + FLOOR_STEP;
}

/* Returns the number of the version that follows one with this cas. */
static inline uint64_t
cas_after(const struct store *st, uint16_t tag, uint64_t cas)
{
	const uint64_t floor = atomic_load_explicit(store_floor(st, tag), memory_order_relaxed);

	return (cas > floor && floor_follows(floor, cas) ? cas : floor) + 1;
}

#endif

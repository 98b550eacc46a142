/*
 * path.h - cuckoo paths: chains of moves that empty a slot.
 *
 * Thread: the core named. It holds no bucket's lock, except for path_step.
 */
#ifndef CLOCKOO_PATH_H
#define CLOCKOO_PATH_H

#include "index_core.h"

/* Moves items until one of the two buckets has an empty slot. Moves none into the buckets in avoid.
 * False: no path was found. */
bool path_free_slot(struct index_core *ic, const struct place *p, const uint32_t *avoid,
		    uint32_t avoid_count);

/* Runs the shortest path: moves one item out of one of the place's two buckets, which are full and
 * locked, and returns its slot. If no item could be moved, the slot's bucket is NULL. */
struct spot path_step(struct index_core *ic, const struct place *p);

#endif

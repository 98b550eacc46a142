/*
 * path.h - cuckoo paths.
 *
 * Thread: the core named, which holds no bucket's lock but for path_step.
 */
#ifndef CLOCKOO_PATH_H
#define CLOCKOO_PATH_H

#include "index_core.h"

/* Move items until one of the two buckets has an empty slot; none into one of the buckets in avoid.
 * False: no path was found. */
bool path_free_slot(struct index_core *ic, const struct place *p, const uint32_t *avoid,
		    uint32_t avoid_count);

/* The shortest path: under the locks of the place's two buckets, which are full, move an item out
 * of one of them and return the empty slot. Of no bucket: no item could be moved. */
struct spot path_step(struct index_core *ic, const struct place *p);

#endif

/*
 * relocate.h - moves displaced items back to their primary buckets, as the sweep passes them.
 *
 * Thread: one core at a time, under the sweep's lock.
 */
#ifndef CLOCKOO_RELOCATE_H
#define CLOCKOO_RELOCATE_H

#include "index_core.h"

/* State of the passes through all buckets (relocate.c). */
struct relocation {
	uint32_t seq;         /* seq of the geometry when the pass began */
	bool first_pass_done; /* the previous pass was a complete first one */
	bool second_pass;     /* this pass is a second one */
};

void relocate_begin(struct relocation *r, const struct index *ix);
void relocate_end(struct relocation *r, const struct index *ix);
/* Prefetches the primary buckets of the displaced items of a bucket. */
void relocate_prefetch(const struct relocation *r, const struct index *ix, uint32_t bucket);
/* Moves those displaced items of the bucket whose primary bucket has an empty slot, then renews
 * overflow bits. */
void relocate_bucket(const struct relocation *r, struct index_core *ic, uint32_t bucket);

#endif

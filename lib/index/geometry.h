/*
 * geometry.h - the buckets of a key while the index is resized, and the progress of a resize.
 *
 * Shape:  buckets are migrated from the top when the index grows, from the bottom when it shrinks.
 *         Each of a key's two buckets is its old one until that is migrated, and from then on its
 *         new one.
 *
 * Thread: geometry_now and geometry_place: any core. All else: one core at a time, under the
 *         resize's lock.
 */
#ifndef CLOCKOO_GEOMETRY_H
#define CLOCKOO_GEOMETRY_H

#include "index.h"

struct geometry {
	uint32_t seq, old_count, new_count;
	uint32_t migrated; /* old buckets that are empty already */
};

static inline struct geometry
geometry_now(const struct index *ix)
{
	struct geometry g;
	uint32_t seq;

	/* The loop repeats only if a resize begins or ends meanwhile. */
	do {
		seq = index_seq(ix);
		g.old_count = atomic_load_explicit(&ix->bucket_count, memory_order_relaxed);
		g.new_count = atomic_load_explicit(&ix->new_count, memory_order_relaxed);
		g.migrated = (seq - atomic_load_explicit(&ix->first_seq, memory_order_relaxed)) /
			     GEOMETRY_STEP;
		/* Acquire: pairs with the releases in geometry_begin, which follow the end of the
		 * previous resize. */
		atomic_thread_fence(memory_order_acquire);
		g.seq = atomic_load_explicit(&ix->seq, memory_order_relaxed);
	} while (g.seq != seq);
	return g;
}

static inline bool
geometry_is_migrated(const struct geometry *g, uint32_t bucket)
{
	return g->new_count > g->old_count ? bucket >= g->old_count - g->migrated
					   : bucket < g->migrated;
}

/* Returns a key's place during a resize. */
static inline struct place
geometry_place(const struct geometry *g, uint64_t hash)
{
	const struct place from = place_among(g->old_count, hash);
	const struct place to = place_among(g->new_count, hash);

	return (struct place){
		.primary = geometry_is_migrated(g, from.primary) ? to.primary : from.primary,
		.alternate =
			geometry_is_migrated(g, from.alternate) ? to.alternate : from.alternate,
		.seq = g->seq,
		.tag = from.tag,
	};
}

/* ---- for the core that resizes ---- */

void geometry_begin(struct index *ix, uint32_t new_count);
/* Returns the old bucket to be emptied next; UINT32_MAX: none is left. */
uint32_t geometry_next(const struct index *ix);
/* Returns, as *first to *last, the new primary buckets of the keys whose old primary bucket this
 * is. */
void geometry_new_primaries(const struct index *ix, uint32_t bucket, uint32_t *first,
			    uint32_t *last);
/* Returns the geometry that is valid once the next bucket is empty. */
struct geometry geometry_after(const struct index *ix);
/* Makes that geometry valid. The next bucket's items have been copied to their new buckets. */
void geometry_step(struct index *ix);
void geometry_end(struct index *ix);

#endif

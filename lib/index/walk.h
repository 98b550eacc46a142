/*
 * walk.h - walks over all items, and the moves that they allow (walk.c).
 *
 * Thread: walks_let_move: the core that holds the locks of both buckets of a move. Without these
 *         locks the answer is a hint. walks_expire: any core. A walk: the core that has begun it.
 *
 * Bounds: walk_cursor.h.
 */
#ifndef CLOCKOO_WALK_H
#define CLOCKOO_WALK_H

#include "index_core.h"

bool walks_let_item_move(const struct index_core *ic, uint32_t ref);

/* True if an item may move to its other bucket: each walk has passed both of its positions, or
 * neither. */
static inline bool
walks_let_move(const struct index_core *ic, uint32_t ref)
{
	/* Relaxed: a walk takes its place before it locks a bucket, and this core has locked
	 * both. */
	return likely(atomic_load_explicit(&ic->walks->active, memory_order_relaxed) == 0) ||
	       walks_let_item_move(ic, ref);
}

bool walks_let_buckets_exchange(const struct walks *ws, uint32_t bucket_count, uint32_t a,
				uint32_t b);

/* Decides for all items of two buckets, without reading one; for a search. False also if a walk is
 * near one of the buckets. */
static inline bool
walks_let_exchange(const struct walks *ws, uint32_t bucket_count, uint32_t a, uint32_t b)
{
	return likely(atomic_load_explicit(&ws->active, memory_order_relaxed) == 0) ||
	       walks_let_buckets_exchange(ws, bucket_count, a, b);
}

/* Frees the places of walks that have paused for too long. */
void walks_expire(struct walks *ws, uint32_t now_s);

/* A walk, and the core that makes its steps. */
struct index_walk {
	const struct index *ix;
	struct walks *places;
	struct walk_step *step;
	uint32_t now_s;
	/* Returns the item that a lookup of the found item's key finds now, which is the one to
	 * show; NULL: none. Adds the time that this takes. */
	const struct item *(*current)(const struct index_walk *w, const struct walk_found *found,
				      uint32_t *work_ns);
	void *arg; /* for current(), which gets the walk */
};

/* Returns the next items, at most max. */
uint32_t index_walk_next(const struct index_walk *w, struct walk_cursor *cursor,
			 const struct item **items, uint32_t max);
/* Ends a walk before its end. */
void index_walk_end(const struct index_walk *w, struct walk_cursor *cursor);

#endif

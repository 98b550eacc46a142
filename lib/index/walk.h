/*
 * walk.h - walks over all items, and the moves that they allow (walk.c).
 *
 * Thread: walks_let_move: the core that holds the locks of both buckets of a move. Without them
 *         the answer is a hint. walks_expire: any core. A walk: the core that has begun it.
 *
 * Bounds: walk_cursor.h.
 */
#ifndef CLOCKOO_WALK_H
#define CLOCKOO_WALK_H

#include "index_core.h"

bool walks_let_item_move(const struct index_core *ic, uint32_t ref);

/* True if an item may move to its other bucket: every walk has passed both its positions, or
 * neither of them. */
static inline bool
walks_let_move(const struct index_core *ic, uint32_t ref)
{
	/* Relaxed: a walk takes its place before it locks a bucket that this core has locked. */
	return likely(atomic_load_explicit(&ic->walks->active, memory_order_relaxed) == 0) ||
	       walks_let_item_move(ic, ref);
}

bool walks_let_buckets_exchange(const struct walks *ws, uint32_t bucket_count, uint32_t a,
				uint32_t b);

/* Decides as walks_let_move for any item of two buckets, for a search, without reading the item:
 * false too where a walk is near one of the buckets. */
static inline bool
walks_let_exchange(const struct walks *ws, uint32_t bucket_count, uint32_t a, uint32_t b)
{
	return likely(atomic_load_explicit(&ws->active, memory_order_relaxed) == 0) ||
	       walks_let_buckets_exchange(ws, bucket_count, a, b);
}

/* Frees the places of walks that do not go on. */
void walks_expire(struct walks *ws, uint32_t now_s);

/* A walk as one core takes its steps. */
struct index_walk {
	const struct index *ix;
	struct walks *places;
	struct walk_step *step;
	uint32_t now_s;
	/* Returns the item to show for what was found, the one that a lookup of its key finds now;
	 * NULL: none. Adds the time that it takes. */
	const struct item *(*current)(const struct index_walk *w, const struct walk_found *found,
				      uint32_t *work_ns);
	void *arg; /* of current */
};

/* Returns the next items, at most max. */
uint32_t index_walk_next(const struct index_walk *w, struct walk_cursor *cursor,
			 const struct item **items, uint32_t max);
/* The walk does not go on. */
void index_walk_end(const struct index_walk *w, struct walk_cursor *cursor);

#endif

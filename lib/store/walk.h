/*
 * walk.h - what walks ask of the rest of the store (walk.c).
 *
 * Thread: walks_let_move: the core that holds the locks of both buckets of a move. Without them
 *         the answer is a hint. walks_expire: any core.
 */
#ifndef CLOCKOO_WALK_H
#define CLOCKOO_WALK_H

#include "store_state.h"

bool walks_let_item_move(const struct store *st, uint32_t ref);

/* True if an item may move to its other bucket: every walk has passed both its positions, or
 * neither of them. */
static inline bool
walks_let_move(const struct store *st, uint32_t ref)
{
	/* Relaxed: a walk takes its place before it locks a bucket that this core has locked. */
	return likely(atomic_load_explicit(&st->walks.active, memory_order_relaxed) == 0) ||
	       walks_let_item_move(st, ref);
}

bool walks_let_buckets_exchange(const struct store *st, uint32_t bucket_count, uint32_t a,
				uint32_t b);

/* Decides as walks_let_move for any item of two buckets, for a search, without reading the item:
 * false too where a walk is near one of the buckets. */
static inline bool
walks_let_exchange(const struct store *st, uint32_t bucket_count, uint32_t a, uint32_t b)
{
	return likely(atomic_load_explicit(&st->walks.active, memory_order_relaxed) == 0) ||
	       walks_let_buckets_exchange(st, bucket_count, a, b);
}

/* Frees the places of walks that do not go on. */
void walks_expire(struct store_core *sc);

#endif

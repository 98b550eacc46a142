/*
 * walks.h - the positions of walks over all items, so that no item moves past one of them.
 *
 * A walk in the middle of the index has half of all moves refused. A new key that finds no slot for
 * that reason evicts a neighbour, or is refused in a store that never evicts. With one walk this
 * begins at a fill of 98 %. Up to a fill of 94 % it happens to one key in 10,000 with two walks,
 * and to one in 500 with three; so there are two places.
 *
 * Shape:  WALKS_MAX places. A walk that finds all of them taken continues without one, and so does
 *         a walk that has lost its place because it paused for WALK_PAUSE_MAX_S: it may show an
 *         item twice, or miss one.
 * Owner:  the store's private memory; zeros: no walk.
 * Thread: a place is written by the walk's core. All else: any core.
 * Bounds: WALKS_MAX places; walk.c has the rule that moves obey.
 */
#ifndef CLOCKOO_WALKS_H
#define CLOCKOO_WALKS_H

#include "index.h"
#include "resize_limits.h"
#include "walk_cursor.h"

#define WALKS_MAX           2u
#define WALK_PAUSE_MAX_S    60u
#define WALK_CLOCKS_APART_S 2u /* cores read their clocks at different times */

struct walk_place {
	/* First position in progress << 32 | last position in progress. */
	_Atomic uint64_t span;
	_Atomic uint32_t owner;     /* number of the walk; 0: none yet, or it has ended */
	_Atomic uint32_t stepped_s; /* second of the last step, on the clock of the walk's core */
};

/* Most buckets of a step. They are the bucket at its positions by the smaller number of buckets of
 * a resize, those that it becomes by the larger number, and those in which displaced items with
 * these positions may be. During a resize half of all these have no items. */
#define STEP_BUCKETS_MAX (1 + RESIZE_FACTOR_MAX + 1 + 2 * ALTERNATE_BEHIND)
#define FOUND_MAX        (STEP_BUCKETS_MAX * BUCKET_SLOTS)

struct walk_found {
	uint32_t position, ref;
	uint64_t hash;
};

/* The items that a core has found at some positions. They stay readable until its next turn, so a
 * walk that shows a few at a time searches only once. */
struct walk_step {
	const struct walk_cursor *of; /* the walk; NULL: nothing was found */
	uint32_t first, last;         /* positions */
	uint32_t count;
	struct walk_found found[FOUND_MAX]; /* in the order of positions, then of hashes */
};

struct walks {
	_Atomic uint32_t active; /* a bit for each place that is taken */
	_Atomic uint32_t begun;  /* walks ever begun; the count wraps */
	struct walk_place place[WALKS_MAX];
};

#endif

/*
 * walks.h - the positions of walks over all items, so that no item moves past one of them.
 *
 * Beside a walk that stands in the middle, half of the moves are refused. A new key that finds no
 * slot so evicts a neighbour, or is refused where nothing is evicted. With one walk that begins
 * when 98 % of the slots are taken, with two it is one key in 10,000 up to 94 %, with three one in
 * 500: so there are two places.
 *
 * Shape:  WALKS_MAX places. A walk that finds all of them taken continues without one, and so does
 *         a walk that has lost its place because it paused for WALK_PAUSE_MAX_S: it may show an
 *         item twice, or miss one.
 * Owner:  the store's private memory; zero is empty.
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
	_Atomic uint64_t span;      /* first position in progress << 32 | the last one */
	_Atomic uint32_t owner;     /* number of the walk; 0: it is not there yet, or has ended */
	_Atomic uint32_t stepped_s; /* on the clock of its core */
};

/* Buckets of a step: the one at its positions, by the smaller number of buckets of a resize, those
 * that it becomes by the larger one, and behind both those of displaced items. Of a resize half of
 * them have no items yet, or none any more. */
#define STEP_BUCKETS_MAX (1 + RESIZE_FACTOR_MAX + 1 + 2 * ALTERNATE_BEHIND)
#define FOUND_MAX        (STEP_BUCKETS_MAX * BUCKET_SLOTS)

struct walk_found {
	uint32_t position, ref;
	uint64_t hash;
};

/* The items that a core has found at some positions. They stay readable until its next turn, so a
 * walk that shows few at a time searches once. */
struct walk_step {
	const struct walk_cursor *of; /* NULL: nothing */
	uint32_t first, last;         /* positions */
	uint32_t count;
	struct walk_found found[FOUND_MAX]; /* by position, then by hash */
};

struct walks {
	_Atomic uint32_t active; /* a bit for each place that is taken */
	_Atomic uint32_t begun;  /* walks ever; it wraps */
	struct walk_place place[WALKS_MAX];
};

#endif

/*
 * walk_cursor.h - the state of a walk over all items.
 *
 * Owner:  the walk's caller.
 *
 * Bounds: a call searches WALK_BUCKETS_MAX buckets, or fewer if these take WALK_NS_MAX.
 */
#ifndef CLOCKOO_WALK_CURSOR_H
#define CLOCKOO_WALK_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#define WALK_BUCKETS_MAX 64u
#define WALK_NS_MAX      5000u

/* Begins as zeros. */
struct walk_cursor {
	uint32_t at;      /* the next position in the index, as a fraction of 2^32 */
	uint32_t place;   /* the walk's place (walks.h) */
	uint32_t owner;   /* the walk's number in that place; 0: it has no place */
	uint32_t work_ns; /* estimated time of the last step; no clock is read */
	uint64_t hash;    /* hash of the item shown last */
	/* The item shown last is at the next position, where others may be, too. */
	bool amid;
	bool begun;
	bool done;
};

#endif

/*
 * walk_cursor.h - the state of a walk over all items.
 *
 * Owner:  the walk's caller.
 *
 * Bounds: a call looks at WALK_BUCKETS_MAX buckets, or at fewer that take WALK_NS_MAX.
 */
#ifndef CLOCKOO_WALK_CURSOR_H
#define CLOCKOO_WALK_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#define WALK_BUCKETS_MAX 64u
#define WALK_NS_MAX      5000u

/* Zero is its beginning. */
struct walk_cursor {
	uint32_t at;      /* the next position in the index, in parts of 2^32 */
	uint32_t place;   /* of the walk among others (walks.h) */
	uint32_t owner;   /* its number there; 0: it has no place */
	uint32_t work_ns; /* of the last step, as estimated: no clock is read */
	uint64_t hash;    /* of the item shown last */
	bool amid;        /* that one is at the next position, and others may be */
	bool begun;
	bool done;
};

#endif

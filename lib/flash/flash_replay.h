/*
 * flash_replay.h - reads a segment's records as changes, in their order.
 *
 * Shape:  flash_replay_begin checks that all pages are valid; flash_replay_next adds changes to a
 *         list until it is full, and continues after them in an empty one.
 * Owner:  the caller owns the segment's bytes and the list.
 * Thread: pure functions of bytes: for any segment and thread, if hash is one.
 * Errors: step FLASH_BAD or FLASH_PART: the list is invalid.
 * Bounds: a walk over the records of one segment.
 */
#ifndef CLOCKOO_FLASH_REPLAY_H
#define CLOCKOO_FLASH_REPLAY_H

#include "flash_log.h"

/* The owner of the segments, and the hash of its keys. */
struct flash_replay_of {
	struct flash_segment_id id; /* without its sequence */
	uint32_t segments, segment_pages;
	uint64_t (*hash)(void *arg, struct view key);
	void *arg;
};

struct flash_change {
	uint64_t hash;     /* of a PUT or TOMB; of a DROP its number */
	uint32_t location; /* of a PUT; of a FLUSH its page */
	uint32_t kind;     /* enum flash_kind */
};

struct flash_replay {
	struct flash_pages pages;
	struct flash_walk walk;
	enum flash_step step; /* FLASH_RECORD: there may be more */
	uint32_t count;       /* changes in the list */
};

/* Begins with a segment. bytes: the whole segment; NULL: it could not be read. */
void flash_replay_begin(struct flash_replay *r, const struct flash_replay_of *of,
			const uint8_t *bytes, uint64_t sequence);
/* Reads up to room changes into the list, from its beginning. */
void flash_replay_next(struct flash_replay *r, const struct flash_replay_of *of,
		       struct flash_change *changes, uint32_t room);

#endif

/*
 * flash_replay.h - a segment's records as what they change, in their order.
 *
 * Shape:  flash_replay_begin says whether all pages count; flash_replay_next adds changes to a list
 *         until it is full, and goes on behind them in an empty one.
 * Owner:  the caller: the segment's bytes, and the list.
 * Thread: pure functions of bytes: of any segment by any thread, if hash is.
 * Errors: step FLASH_BAD or FLASH_PART: what the list has does not count.
 * Bounds: a walk over the records of one segment.
 */
#ifndef CLOCKOO_FLASH_REPLAY_H
#define CLOCKOO_FLASH_REPLAY_H

#include "flash_log.h"

/* Whose segments these are, and who hashes their keys. */
struct flash_replay_of {
	struct flash_segment_id id; /* but for its sequence */
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

/* bytes: of a whole segment; NULL: they could not be read. */
void flash_replay_begin(struct flash_replay *r, const struct flash_replay_of *of,
			const uint8_t *bytes, uint64_t sequence);
/* Up to room changes from the list's beginning on. */
void flash_replay_next(struct flash_replay *r, const struct flash_replay_of *of,
		       struct flash_change *changes, uint32_t room);

#endif

/*
 * flash_replay.h - makes a list of changes, in order, from a segment's records.
 *
 * Shape:  flash_replay_begin checks that all pages are valid. flash_replay_next adds changes to a
 *         list until the list is full; the next call continues with an empty list.
 * Owner:  the caller owns the segment's bytes and the list.
 * Thread: pure functions of bytes, for any thread, provided that the hash function is pure, too.
 * Errors: step is FLASH_BAD or FLASH_PART: the list must not be used.
 * Bounds: a walk over the records of one segment.
 */
#ifndef CLOCKOO_FLASH_REPLAY_H
#define CLOCKOO_FLASH_REPLAY_H

#include "flash_log.h"

/* The owner of the segments, and the hash of keys. */
struct flash_replay_of {
	struct flash_segment_id id; /* its sequence is not used */
	uint32_t segments, segment_pages;
	uint64_t (*hash)(void *arg, struct view key);
	void *arg;
};

struct flash_change {
	uint64_t hash;     /* of a PUT or TOMB: the key's hash; of a DROP: its number */
	uint32_t location; /* of a PUT: location of the record; of a FLUSH: its page */
	uint32_t kind;     /* enum flash_kind */
};

struct flash_replay {
	struct flash_pages pages;
	struct flash_walk walk;
	enum flash_step step; /* FLASH_RECORD: there may be more changes */
	uint32_t count;       /* changes in the list */
};

/* Begins with a segment. bytes: the whole segment; NULL: the segment could not be read. */
void flash_replay_begin(struct flash_replay *r, const struct flash_replay_of *of,
			const uint8_t *bytes, uint64_t sequence);
/* Writes the next changes to the list, from its beginning on, at most room of them. */
void flash_replay_next(struct flash_replay *r, const struct flash_replay_of *of,
		       struct flash_change *changes, uint32_t room);

#endif

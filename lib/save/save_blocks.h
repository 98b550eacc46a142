/*
 * save_blocks.h - writes the blocks of a file of saved items.
 *
 * Shape:  the calls are: save_blocks_begin; for each item save_blocks_item, and save_blocks_value
 *         for each piece of its value; save_blocks_end; save_blocks_front. Full slots are written
 *         while the next ones are filled; the front is written last, so an unfinished file has
 *         none.
 *
 * Owner:  the caller opens and closes io, over save_blocks_bytes of memory at a multiple of
 *         SAVE_ALIGN, and sets the first group of fields.
 *
 * Thread: one.
 *
 * Errors: e is the first error, a negative errno. After it no block is written.
 *
 * Bounds: save_io.h.
 */
#ifndef CLOCKOO_SAVE_BLOCKS_H
#define CLOCKOO_SAVE_BLOCKS_H

#include "save_io.h"

struct save_result {
	uint64_t items, value_bytes; /* saved; bytes of their keys and values */
	uint64_t file_bytes;
	/* The time that passed while the items were read; 0: all are of one moment. */
	uint64_t skew_ns;
	const char *how;
	bool finished; /* nothing is missing */
};

struct save_blocks {
	struct save_io io;
	struct save_result *result;
	uint64_t file;  /* a random number */
	uint32_t level; /* of igzip, or SAVE_UNPACKED */
	bool (*go_on)(void *arg,
		      const struct save_result *result); /* after each slot; may be NULL */
	void *arg;

	struct save_packer *packer;
	uint8_t *raw; /* a payload before it is packed */
	uint64_t slot, number;
	uint32_t used; /* bytes of the closed blocks in the slot */
	uint32_t kind; /* of the open block; 0: none is open */
	uint8_t *payload;
	uint32_t len, room;  /* of the open block's payload */
	uint32_t value_left; /* bytes of the item's value that have not been passed yet */
	int e;               /* the first error */
	bool ends;           /* go_on returned false */
};

size_t save_blocks_bytes(void);
void save_blocks_begin(struct save_blocks *w, void *memory);
/* Begins an item, whose value follows. */
void save_blocks_item(struct save_blocks *w, const struct store_saved_item *saved);
/* Appends bytes of the item's value. */
void save_blocks_value(struct save_blocks *w, struct view bytes);
/* Writes what is open, and waits for all slots. */
void save_blocks_end(struct save_blocks *w);
/* Writes the front, and waits until all is on the disk. */
void save_blocks_front(struct save_blocks *w, const struct save_head *head,
		       const uint64_t floors[STORE_SAVED_FLOORS]);

/* True while the caller has reason to continue. */
static inline bool
save_blocks_go_on(const struct save_blocks *w)
{
	return !w->ends && w->e == 0;
}

#endif

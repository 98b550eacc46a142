/*
 * save_load.h - slots of a saved file become items of a store that serves already.
 *
 * Shape:  the caller reads the slots, in order, and gives them one after the other.
 *
 * Units:  seconds on the store's clock of this process; shift_s is by how much that of the process
 *         that saved would be ahead of it now, rounded up, so that no item lives longer.
 *
 * Owner:  the caller, of struct save_loader, and of the slots.
 *
 * Thread: the store's core that loads.
 *
 * Errors: counts. What a file says is checked before it is used; bytes that no process of ours
 *         wrote can cost items, and can bring items whose sums somebody computed: the file's mode
 *         is 0600.
 *
 * Bounds: a slot at a time; SAVE_AHEAD records are prefetched together.
 */
#ifndef CLOCKOO_SAVE_LOAD_H
#define CLOCKOO_SAVE_LOAD_H

#include "save_format.h"

#define SAVE_AHEAD 16u

struct save_loaded {
	uint64_t items;   /* loaded */
	uint64_t newer;   /* clients were there first */
	uint64_t expired; /* meanwhile */
	uint64_t no_room; /* memory or index is full, or the value is too large for it */
	uint64_t value_bytes;
	uint64_t damaged; /* places where a block should be and none could be read */
};

struct save_loader {
	struct store_core *core;
	uint64_t file; /* whose blocks are read */
	int64_t shift_s;
	uint32_t now_s;
	bool over;        /* a flush has ended it */
	bool amid_damage; /* the bytes before were no block either */
	struct save_loaded count;
	uint64_t number;               /* of the block before */
	bool large;                    /* an item is under way through several blocks: */
	struct store_saved_item saved; /* it, and */
	uint8_t key[ITEM_KEY_MAX];     /* its key */
	struct fill fill;
	uint8_t unpacked[SAVE_BLOCK_BYTES];
};

void save_load_begin(struct save_loader *l, struct store_core *core, uint64_t file,
		     int64_t shift_s);
/* The slot, of len bytes; slot 0 begins with the front. The store turns once a block. */
void save_load_slot(struct save_loader *l, uint64_t slot, const uint8_t *bytes, size_t len,
		    uint32_t now_s);
/* An item that is not whole is given up. */
void save_load_end(struct save_loader *l);
/* After that: the core turns, and goes offline for good once nothing that it has retired waits for
 * its grace period; pages that hold such objects could not be evacuated. False: call again. */
bool save_load_leave(struct save_loader *l, uint32_t now_s);

#endif

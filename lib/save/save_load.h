/*
 * save_load.h - loads slots of a saved file as items of a store that already serves.
 *
 * Shape:  the caller reads the slots and passes them in order.
 *
 * Units:  seconds on the store's clock of this process; shift_s is by how much the clock of the
 *         saving process would now be ahead of this one, rounded up so that no item lives longer.
 *
 * Owner:  the caller, of struct save_loader, and of the slots.
 *
 * Thread: the store's core that loads.
 *
 * Errors: counted. A file's content is checked before use. If another program writes to the file,
 *         items may be lost, or added if it computes the checksums; therefore the file's mode is
 *         0600.
 *
 * Bounds: a slot at a time; SAVE_AHEAD records are prefetched together.
 */
#ifndef CLOCKOO_SAVE_LOAD_H
#define CLOCKOO_SAVE_LOAD_H

#include "save_format.h"

#define SAVE_AHEAD 16u

struct save_loaded {
	uint64_t items;   /* loaded */
	uint64_t newer;   /* a client stored the key first */
	uint64_t expired; /* had expired by now */
	uint64_t no_room; /* memory or index is full, or the value is too large */
	uint64_t value_bytes;
	uint64_t damaged; /* places where a block was expected but none was valid */
};

struct save_loader {
	struct store_core *core;
	uint64_t file; /* number that all blocks of the file have */
	int64_t shift_s;
	uint32_t now_s;
	bool over;        /* a flush has ended the load */
	bool amid_damage; /* the bytes before these were no block either */
	struct save_loaded count;
	uint64_t number;               /* of the previous block */
	bool large;                    /* an item spans several blocks */
	struct store_saved_item saved; /* of that item */
	uint8_t key[ITEM_KEY_MAX];     /* of that item */
	struct fill fill;
	uint8_t unpacked[SAVE_BLOCK_BYTES];
};

void save_load_begin(struct save_loader *l, struct store_core *core, uint64_t file,
		     int64_t shift_s);
/* Loads one slot of len bytes; slot 0 begins with the front. The store turns once a block. */
void save_load_slot(struct save_loader *l, uint64_t slot, const uint8_t *bytes, size_t len,
		    uint32_t now_s);
/* Abandons an item that is incomplete. */
void save_load_end(struct save_loader *l);
/* Turns the core after the load, and takes it offline for good once none of its retired objects
 * waits for a grace period, since the pages of such objects could not be evacuated. False: call
 * again. */
bool save_load_leave(struct save_loader *l, uint32_t now_s);

#endif

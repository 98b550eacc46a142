/*
 * flash_convert_pass.h - passes of a conversion over its segments, and over the column that it
 * replaces.
 *
 * Thread: the tier's thread; a pass may also be begun by the shard's owner.
 */
#ifndef CLOCKOO_FLASH_CONVERT_PASS_H
#define CLOCKOO_FLASH_CONVERT_PASS_H

#include "flash_convert.h"

/* Handles one segment; bytes is NULL if the segment could not be read. False: the pass ends before
 * this segment. */
typedef bool flash_pass_fn(struct flash_convert *c, const uint8_t *bytes, uint64_t sequence);

/* Begins a pass over the segments from this one to c->to. */
void flash_pass_begin(struct flash_convert *c, uint64_t from);
/* Handles the next segment, if it has been read. True: the pass has ended, and no transfer is in
 * progress. */
bool flash_pass_work(struct flash_convert *c, flash_pass_fn *fn);

/* Lists the segment's live records as items. If not all fit into the list, c->to becomes the
 * previous segment. */
flash_pass_fn flash_pass_list;

/* Fill the output, which is the column's pages from c->page on: flash_pass_data_begin empties it,
 * flash_pass_place copies a segment's records into it, flash_pass_seal gives its pages their sums,
 * and flash_pass_write writes it to the device. */
void flash_pass_data_begin(struct flash_convert *c);
flash_pass_fn flash_pass_place;
void flash_pass_seal(struct flash_convert *c, uint32_t pages);
bool flash_pass_write(struct flash_convert *c, uint32_t pages);

/* Copies used items of the oldest column to c->again, at most FLASH_CONVERT_AGAIN at a time.
 * flash_old_work returns true when that many are there, or the pass is over. */
void flash_old_begin(struct flash_convert *c);
bool flash_old_work(struct flash_convert *c);

static inline void
flash_convert_count(struct flash_convert *c, enum flash_convert_counter what, uint64_t n)
{
	counter_add(&c->counters[what], n);
}

#endif

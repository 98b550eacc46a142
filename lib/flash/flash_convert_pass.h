/*
 * flash_convert_pass.h - passes of a conversion over its segments, and over the column that it
 * replaces.
 *
 * Thread: the tier's thread; a pass may also be begun by the shard's owner.
 */
#ifndef CLOCKOO_FLASH_CONVERT_PASS_H
#define CLOCKOO_FLASH_CONVERT_PASS_H

#include "flash_convert.h"

/* Handles one segment; bytes is NULL if it could not be read. False: the pass ends before it. */
typedef bool flash_pass_fn(struct flash_convert *c, const uint8_t *bytes, uint64_t sequence);

/* Begins a pass from this segment up to c->to. */
void flash_pass_begin(struct flash_convert *c, uint64_t from);
/* Handles one segment, if it was read. True: the pass is over, and no transfer is in progress. */
bool flash_pass_work(struct flash_convert *c, flash_pass_fn *fn);

/* Makes items of the live records; c->to becomes the last segment that has room. */
flash_pass_fn flash_pass_list;

/* Functions of the output: begins it empty at c->page, places records in it, seals its pages with
 * sums, and writes it to the device. */
void flash_pass_data_begin(struct flash_convert *c);
flash_pass_fn flash_pass_place;
void flash_pass_seal(struct flash_convert *c, uint32_t pages);
bool flash_pass_write(struct flash_convert *c, uint32_t pages);

/* Lists the used items of the oldest column in c->again, some at a time. True: some are listed,
 * or none is left. */
void flash_old_begin(struct flash_convert *c);
bool flash_old_work(struct flash_convert *c);

static inline void
flash_convert_count(struct flash_convert *c, enum flash_convert_counter what, uint64_t n)
{
	counter_add(&c->counters[what], n);
}

#endif

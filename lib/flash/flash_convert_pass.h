/*
 * flash_convert_pass.h - passes of a conversion over its segments, and over the column that goes.
 *
 * Thread: the tier's, but for those that begin one, which may be its owner's.
 */
#ifndef CLOCKOO_FLASH_CONVERT_PASS_H
#define CLOCKOO_FLASH_CONVERT_PASS_H

#include "flash_convert.h"

/* Of one segment that was read, NULL if it was not. False: the pass ends before it. */
typedef bool flash_pass_fn(struct flash_convert *c, const uint8_t *bytes, uint64_t sequence);

/* A pass from this segment up to c->to. */
void flash_pass_begin(struct flash_convert *c, uint64_t from);
/* One segment, if it is there. True: the pass is over, and nothing is under way. */
bool flash_pass_work(struct flash_convert *c, flash_pass_fn *fn);

/* What is live becomes an item; c->to is the last segment that has place. */
flash_pass_fn flash_pass_list;

/* The output from c->page on, empty; records in it; its pages' sums; to the device. */
void flash_pass_data_begin(struct flash_convert *c);
flash_pass_fn flash_pass_place;
void flash_pass_seal(struct flash_convert *c, uint32_t pages);
bool flash_pass_write(struct flash_convert *c, uint32_t pages);

/* What was used of the column that makes place, some at a time, in c->again. True: some are there,
 * or none is left. */
void flash_old_begin(struct flash_convert *c);
bool flash_old_work(struct flash_convert *c);

#endif

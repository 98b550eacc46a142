/*
 * flash_asks.h - gets of random items through the product's supplier, over the shard of a rig.
 *
 * Owner:  one rig at a time; nothing is given back.
 * Thread: one.
 * Errors: none; an answer that is not the item's value ends the bench.
 */
#ifndef CLOCKOO_FLASH_ASKS_H
#define CLOCKOO_FLASH_ASKS_H

#include "flash_rig.h"

/* Of its reads, in the memory of the rig's. */
size_t flash_asks_read_bytes(uint32_t depth);
/* Over a rig that has items 0 .. items - 1 on its device; depth reads at a time. */
void flash_asks_open(struct flash_rig *rig, uint64_t items);
/* Returns when count gets are answered. */
void flash_asks_run(uint64_t count, uint64_t seed);

#endif

/*
 * flash_asks.h - gets of random items through the product's backend, over the shard of a rig.
 *
 * Owner:  one rig at a time; nothing is freed.
 * Thread: one.
 * Errors: none; an answer that is not the item's value ends the bench.
 */
#ifndef CLOCKOO_FLASH_ASKS_H
#define CLOCKOO_FLASH_ASKS_H

#include "flash_rig.h"

/* Returns the bytes of memory for reads, which are part of the rig's memory. */
size_t flash_asks_read_bytes(uint32_t depth);
/* Opens a backend over a rig that has items 0 .. items - 1 on its device. */
void flash_asks_open(struct flash_rig *rig, uint64_t items);
/* Runs count gets. Returns when all are answered. */
void flash_asks_run(uint64_t count, uint64_t seed);

#endif

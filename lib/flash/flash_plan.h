/*
 * flash_plan.h - how a device of this size is divided: shards, their segments, their index.
 *
 * Shape:  segment 0 has the superblock; behind it the segments of shard 0, of shard 1 and so on. A
 *         shard has FLASH_SHARD_BYTES at least, but for the first; a sixteenth of its segments is
 *         being emptied. The index has room for what the others hold of items of a mean size.
 * Units:  bytes.
 * Thread: pure functions.
 * Bounds: FLASH_PLAN_MIN .. FLASH_PLAN_MAX bytes of device.
 */
#ifndef CLOCKOO_FLASH_PLAN_H
#define CLOCKOO_FLASH_PLAN_H

#include "flash_shard.h"
#include "flash_super.h"

#define FLASH_SHARD_BYTES (8ull << 30)
#define FLASH_PLAN_MIN    (256ull << 20)
#define FLASH_PLAN_MAX    ((uint64_t)FLASH_SHARDS_MAX * FLASH_SLOTS_MAX * FLASH_SEGMENT_BYTES)

struct flash_plan {
	uint32_t shards;         /* a power of two */
	uint32_t segments, live; /* of each */
	uint32_t buckets;
	uint64_t items; /* of all: that count at a time, and the index has room for */
};

void flash_plan_make(struct flash_plan *plan, uint64_t device_bytes, uint32_t item_bytes);

/* On the device, of a shard's slot 0. */
uint64_t flash_plan_offset(const struct flash_plan *plan, uint32_t shard);
/* Of all shards, in memory. */
uint64_t flash_plan_index_bytes(const struct flash_plan *plan);
uint64_t flash_plan_buffer_bytes(const struct flash_plan *plan);

#endif

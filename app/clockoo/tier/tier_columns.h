/*
 * tier_columns.h - columns of the second tier (layout hash): the converter that makes them, and
 * their rows at a stop.
 *
 * Owner:  struct second_tier; tier_columns_bytes of its region.
 * Thread: main.
 * Errors: a line names rows that a stop cannot write. Their columns are empty at the next start.
 * Bounds: a stop waits TIER_COLUMNS_LEAVE_S at most for the rows of a shard.
 */
#ifndef CLOCKOO_TIER_COLUMNS_H
#define CLOCKOO_TIER_COLUMNS_H

#include "flash/flash_plan.h"
#include "flash/flash_rows.h"

#include "base/region.h"

#define TIER_COLUMNS_LEAVE_S 10u

/* Returns the bytes of the converter; 0 without columns. */
size_t tier_columns_bytes(const struct flash_plan *plan);

/* Sets the place and the sizes of a shard. `shard` counts through all streams. */
void tier_columns_shard(struct flash_shard_config *c, const struct flash_plan *plan,
			uint32_t shard);

/* Returns the converter of these shards; NULL without columns. hash is the store's. */
struct flash_convert *tier_columns_create(const struct flash_plan *plan, struct region *region,
					  struct flash_shard *shards, struct flash_device *device,
					  uint64_t (*hash)(void *arg, struct view key), void *arg);

/* Writes the rows to the device, without a sync, and records them in the superblock. No thread may
 * use the shards any more. */
void tier_columns_leave(struct flash_shard *shards, uint32_t count, struct flash_device *device,
			struct flash_super *super);

#endif

/*
 * tier_columns.h - columns of the second tier with layout hash: their makers, and their rows at a
 * stop.
 *
 * Owner:  struct second_tier; memory of tier_columns_bytes of its region.
 * Thread: main.
 * Errors: rows that a stop cannot write are named in a line: their columns are empty at the next
 *         start.
 * Bounds: a stop waits TIER_COLUMNS_LEAVE_S for a shard's rows.
 */
#ifndef CLOCKOO_TIER_COLUMNS_H
#define CLOCKOO_TIER_COLUMNS_H

#include "flash/flash_plan.h"
#include "flash/flash_rows.h"

#include "base/region.h"

#define TIER_COLUMNS_LEAVE_S 10u

/* Returns the bytes of memory; 0: there are no columns. */
size_t tier_columns_bytes(const struct flash_plan *plan);

/* Sets where a shard of all streams lies, and its sizes. */
void tier_columns_shard(struct flash_shard_config *c, const struct flash_plan *plan,
			uint32_t shard);

/* Returns the converter of these shards, NULL if they have no columns. hash: the store's. */
struct flash_convert *tier_columns_create(const struct flash_plan *plan, struct region *region,
					  struct flash_shard *shards, struct flash_device *device,
					  uint64_t (*hash)(void *arg, struct view key), void *arg);

/* Writes the rows to the device, without a sync, and records them in the superblock. No thread may
 * use the shards any more. */
void tier_columns_leave(struct flash_shard *shards, uint32_t count, struct flash_device *device,
			struct flash_super *super);

#endif

/*
 * flash_plan.h - divides a device into shards, their segments, columns and indexes.
 *
 * Shape:  segment 0 has the superblock. The segments of shard 0, of shard 1 and so on follow,
 *         then the columns of shard 0 with room for their rows, those of shard 1 and so on. With
 *         layout log a shard has items of all sizes, and there are no columns. With layout hash
 *         the first half of the shards has items that become columns, the second half larger ones
 *         (flash_tier.h). A shard has at least FLASH_SHARD_BYTES, both halves of it together,
 *         except the first; a sixteenth of its segments is being emptied. An index has room for
 *         the items of mean size in the other segments.
 * Units:  bytes.
 * Thread: pure functions.
 * Bounds: FLASH_PLAN_MIN .. FLASH_PLAN_MAX bytes of device.
 */
#ifndef CLOCKOO_FLASH_PLAN_H
#define CLOCKOO_FLASH_PLAN_H

#include "flash_convert.h"
#include "flash_super.h"

#include "config/config_flash.h"

#define FLASH_SHARD_BYTES (8ull << 30)
#define FLASH_PLAN_MIN    (256ull << 20)
#define FLASH_PLAN_MAX    ((uint64_t)FLASH_SHARDS_MAX * FLASH_SLOTS_MAX * FLASH_SEGMENT_BYTES)
#define FLASH_HASH_FROM   (16ull << 30) /* layout auto is hash from this size on */
#define FLASH_REINSERTED  32u           /* one byte in this many of an ended column is reinserted */
#define FLASH_PASSES      8u            /* over the segments that become a column */

/* The segments of a shard: all, those that are live at a time, and the index of their items. */
struct flash_plan_log {
	uint32_t segments, live, buckets;
	uint64_t items; /* in a shard */
};

/* The columns of a shard of the first half; count 0: none. */
struct flash_plan_column {
	uint32_t count, buckets, pages;
	uint32_t rows_pages; /* for all columns */
	uint64_t items;      /* in one column */
};

struct flash_plan {
	uint32_t shards;  /* in all streams; a power of two */
	uint32_t streams; /* 1: all shards are of log[0]; 2: the second half is of log[1], for large
			     items */
	struct flash_plan_log log[FLASH_STREAMS];
	struct flash_plan_column column;
	uint64_t items; /* live at a time, with room in memory; without large items */
};

void flash_plan_make(struct flash_plan *plan, uint64_t device_bytes,
		     const struct config_flash *config);

static inline bool
flash_plan_has_columns(const struct flash_plan *p)
{
	return p->column.count != 0;
}

/* Returns the stream, or the log, of a shard; shards of all streams are counted. */
uint32_t flash_plan_stream(const struct flash_plan *plan, uint32_t shard);
const struct flash_plan_log *flash_plan_log(const struct flash_plan *plan, uint32_t shard);
/* Returns the offset on the device of a shard's slot 0, or of its first column. */
uint64_t flash_plan_offset(const struct flash_plan *plan, uint32_t shard);
uint64_t flash_plan_column_offset(const struct flash_plan *plan, uint32_t shard);

/* Return the memory for all shards. */
uint64_t flash_plan_index_bytes(const struct flash_plan *plan);
uint64_t flash_plan_buffer_bytes(const struct flash_plan *plan);
uint64_t flash_plan_rows_bytes(const struct flash_plan *plan);
/* Return the memory of the one conversion at a time: that of struct flash_convert, and that of
 * its transfers. */
uint64_t flash_plan_convert_bytes(const struct flash_plan *plan);
uint64_t flash_plan_transfer_bytes(const struct flash_plan *plan);
uint32_t flash_plan_output_pages(const struct flash_plan *plan);

/* Returns how often a byte of a record is written, in thousandths. */
uint32_t flash_plan_writes(const struct flash_plan *plan);

#endif

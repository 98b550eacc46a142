/*
 * flash_plan.h - how a device of this size is divided: shards, their segments, columns, indexes.
 *
 * Shape:  segment 0 has the superblock; behind it the segments of shard 0, of shard 1 and so on;
 *         behind these the columns of shard 0 and room for their rows, then those of shard 1. With
 *         layout log a shard is of all sizes, and there are no columns. With layout hash the first
 *         half of the shards has what becomes columns, the second half what is larger
 *         (flash_tier.h). A shard has FLASH_SHARD_BYTES at least, both halves of it together, but
 *         for the first; a sixteenth of its segments is being emptied. An index has room for what
 *         the others hold of items of a mean size.
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
#define FLASH_HASH_FROM   (16ull << 30) /* layout auto is hash */
#define FLASH_REINSERTED  32u           /* of a column that goes, one byte in so many */
#define FLASH_PASSES      8u            /* over the segments that become a column */

/* Of a shard's segments: those that count at a time, and the index of what they hold. */
struct flash_plan_log {
	uint32_t segments, live, buckets;
	uint64_t items; /* of a shard */
};

/* Of a shard of the first half; count 0: there are none. */
struct flash_plan_column {
	uint32_t count, buckets, pages;
	uint32_t rows_pages; /* of all columns */
	uint64_t items;      /* of one */
};

struct flash_plan {
	uint32_t shards;  /* of all streams; a power of two */
	uint32_t streams; /* 1: all are of log[0]; 2: the second half is of log[1], large items */
	struct flash_plan_log log[FLASH_STREAMS];
	struct flash_plan_column column;
	uint64_t items; /* that count at a time, and have room in memory; but for large ones */
};

void flash_plan_make(struct flash_plan *plan, uint64_t device_bytes,
		     const struct config_flash *config);

static inline bool
flash_plan_has_columns(const struct flash_plan *p)
{
	return p->column.count != 0;
}

/* Of a shard of all streams. */
uint32_t flash_plan_stream(const struct flash_plan *plan, uint32_t shard);
const struct flash_plan_log *flash_plan_log(const struct flash_plan *plan, uint32_t shard);
/* On the device, of a shard's slot 0; of its first column. */
uint64_t flash_plan_offset(const struct flash_plan *plan, uint32_t shard);
uint64_t flash_plan_column_offset(const struct flash_plan *plan, uint32_t shard);

/* Of all shards, in memory. */
uint64_t flash_plan_index_bytes(const struct flash_plan *plan);
uint64_t flash_plan_buffer_bytes(const struct flash_plan *plan);
uint64_t flash_plan_rows_bytes(const struct flash_plan *plan);
/* Of the one conversion at a time: struct flash_convert's memory, and its transfers'. */
uint64_t flash_plan_convert_bytes(const struct flash_plan *plan);
uint64_t flash_plan_transfer_bytes(const struct flash_plan *plan);
uint32_t flash_plan_output_pages(const struct flash_plan *plan);

/* How often a byte of a record is written, in thousandths. */
uint32_t flash_plan_writes(const struct flash_plan *plan);

#endif

/*
 * flash_plan.h - divides a device into shards, their segments, columns and indexes.
 *
 * Shape:  segment 0 has the superblock. The log segments follow, shard by shard, then the columns
 *         with room for their rows, shard by shard. In layout log a shard has items of all sizes,
 *         and there are no columns. In layout hash the first half of the shards has the items that
 *         move to columns, the second half larger ones (flash_tier.h). A shard, together with its
 *         counterpart in the other half, has at least FLASH_SHARD_BYTES, except on a device with
 *         one shard. At any time a sixteenth of a shard's segments do not count, since their
 *         entries are being removed. An index has room for as many items of mean size as the other
 *         segments have.
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
/* Layout auto means hash for devices of at least this size, log for smaller ones. */
#define FLASH_HASH_FROM  (16ull << 30)
#define FLASH_REINSERTED 32u /* 1/FLASH_REINSERTED of an ended column's bytes is reinserted */
#define FLASH_PASSES     8u  /* passes over the segments that become a column */

/* The log of a shard: all its segments, how many of them count at a time, and the buckets of their
 * index. */
struct flash_plan_log {
	uint32_t segments, live, buckets;
	uint64_t items; /* items of mean size in a shard */
};

/* The columns of a shard of the first half. count 0: there are none. */
struct flash_plan_column {
	uint32_t count, buckets, pages;
	uint32_t rows_pages; /* pages on the device for the rows of all columns */
	uint64_t items;      /* in one column */
};

struct flash_plan {
	uint32_t shards;  /* in all streams; a power of two */
	uint32_t streams; /* 1: all shards are of log[0]. 2: the second half is of log[1] */
	struct flash_plan_log log[FLASH_STREAMS];
	struct flash_plan_column column;
	/* Items that count at a time and for which the indexes have room, without large ones. */
	uint64_t items;
};

void flash_plan_make(struct flash_plan *plan, uint64_t device_bytes,
		     const struct config_flash *config);

static inline bool
flash_plan_has_columns(const struct flash_plan *p)
{
	return p->column.count != 0;
}

/* Return the stream, and the log, of a shard; shards are numbered over all streams. */
uint32_t flash_plan_stream(const struct flash_plan *plan, uint32_t shard);
const struct flash_plan_log *flash_plan_log(const struct flash_plan *plan, uint32_t shard);
/* Return the offset on the device of a shard's slot 0, and of its first column. */
uint64_t flash_plan_offset(const struct flash_plan *plan, uint32_t shard);
uint64_t flash_plan_column_offset(const struct flash_plan *plan, uint32_t shard);

/* Return the bytes of memory for all shards together. */
uint64_t flash_plan_index_bytes(const struct flash_plan *plan);
uint64_t flash_plan_buffer_bytes(const struct flash_plan *plan);
uint64_t flash_plan_rows_bytes(const struct flash_plan *plan);
/* Return the bytes of memory of a conversion, of which there is one at a time: struct
 * flash_convert, and the memory of its transfers. */
uint64_t flash_plan_convert_bytes(const struct flash_plan *plan);
uint64_t flash_plan_transfer_bytes(const struct flash_plan *plan);
uint32_t flash_plan_output_pages(const struct flash_plan *plan);

/* Returns how many bytes are written for one byte of a record, in thousandths. */
uint32_t flash_plan_writes(const struct flash_plan *plan);

#endif

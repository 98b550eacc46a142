/*
 * flash_rows.h - the rows of a shard's columns over a restart: on flash, where a graceful stop has
 * written them, or in memory that a killed process has left.
 *
 * Shape:  they lie behind the last column. A stop writes them before the superblock says CLEAN,
 *         with a sum of each shard's; whoever serves says DIRTY first, so what lies there later
 *         is nobody's. Rows that do not count are empty columns: their items are forgotten.
 * Units:  bytes.
 * Owner:  the caller: memory of flash_rows_bytes, whole pages.
 * Thread: one, while nothing else uses the shard or the device.
 * Errors: a transfer that fails, or is waited for too long: false, or empty columns.
 * Bounds: FLASH_ROWS_DEPTH transfers at once.
 */
#ifndef CLOCKOO_FLASH_ROWS_H
#define CLOCKOO_FLASH_ROWS_H

#include "flash_device.h"
#include "flash_shard.h"
#include "flash_super.h"

#define FLASH_ROWS_DEPTH 4u
#define FLASH_ROWS_TAG   (1ull << 41) /* of their transfers */
#define FLASH_ROWS_WAITS 10000u       /* for what is under way when no more is wanted */

/* Of all columns of a shard, in memory and on flash: whole pages. */
size_t flash_rows_bytes(uint32_t buckets);

struct flash_rows_io {
	struct flash_device *device; /* ends with other tags are nobody's any more */
	bool (*wait)(void *arg);     /* nothing has ended; false: no longer */
	void *arg;
};

/* Returns their sum, for the superblock; 0: not all could be written. */
uint64_t flash_rows_write(const struct flash_column_config *column, const struct flash_rows_io *io);

/* What this start has of them: column->is_kept, and its memory. super: of the process before.
 * False: the device has not ended what it was asked. */
bool flash_rows_start(struct flash_column_config *column, enum flash_start start,
		      const struct flash_super *super, uint32_t shard,
		      const struct flash_rows_io *io);

#endif

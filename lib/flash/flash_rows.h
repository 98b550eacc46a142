/*
 * flash_rows.h - keeps the rows of a shard's columns over a restart: on flash after a graceful
 * stop, or in memory after a kill.
 *
 * Shape:  on the device the rows follow the last column. A stop writes them before the superblock
 *         becomes CLEAN, with a sum for each shard. A process that serves makes the superblock
 *         DIRTY first, which invalidates them. Where rows are invalid the columns become empty, and
 *         their items are forgotten.
 * Units:  bytes.
 * Owner:  the caller provides memory of flash_rows_bytes, in whole pages.
 * Thread: one thread, while no other uses the shard or the device.
 * Errors: if a transfer fails or takes too long, the result is false, or the columns are empty.
 * Bounds: FLASH_ROWS_DEPTH transfers at once.
 */
#ifndef CLOCKOO_FLASH_ROWS_H
#define CLOCKOO_FLASH_ROWS_H

#include "flash_device.h"
#include "flash_shard.h"
#include "flash_super.h"

#define FLASH_ROWS_DEPTH 4u
#define FLASH_ROWS_TAG   (1ull << 41) /* tag of the transfers of rows */
#define FLASH_ROWS_WAITS 10000u       /* most calls of wait() for transfers in progress */

/* Returns the bytes of all columns' rows of a shard, in memory and on flash: a multiple of
 * pages. */
size_t flash_rows_bytes(uint32_t buckets);

struct flash_rows_io {
	struct flash_device *device; /* results with other tags are ignored */
	/* Called when no transfer has ended; returns false to stop waiting. */
	bool (*wait)(void *arg);
	void *arg;
};

/* Writes the rows. Returns their sum, for the superblock; 0: not all of them could be written. */
uint64_t flash_rows_write(const struct flash_column_config *column, const struct flash_rows_io *io);

/* Loads the rows for this start into column->memory, and sets column->is_kept if they are valid.
 * super: the previous process's. False: the device has not ended all transfers. */
bool flash_rows_start(struct flash_column_config *column, enum flash_start start,
		      const struct flash_super *super, uint32_t shard,
		      const struct flash_rows_io *io);

#endif

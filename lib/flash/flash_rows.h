/*
 * flash_rows.h - keeps the rows of a shard's columns over a restart: on flash after a graceful
 * stop, or in memory after a kill.
 *
 * Shape:  they lie after the last column. A stop writes them before the superblock becomes CLEAN,
 *         with a sum for each shard; a process that serves first makes it DIRTY, which
 *         invalidates them. Invalid rows become empty columns: their items are forgotten.
 * Units:  bytes.
 * Owner:  the caller provides memory of flash_rows_bytes, in whole pages.
 * Thread: one thread, while no other uses the shard or the device.
 * Errors: a transfer that fails or takes too long: false, or empty columns.
 * Bounds: FLASH_ROWS_DEPTH transfers at once.
 */
#ifndef CLOCKOO_FLASH_ROWS_H
#define CLOCKOO_FLASH_ROWS_H

#include "flash_device.h"
#include "flash_shard.h"
#include "flash_super.h"

#define FLASH_ROWS_DEPTH 4u
#define FLASH_ROWS_TAG   (1ull << 41) /* tag of their transfers */
#define FLASH_ROWS_WAITS 10000u       /* limit of waits for transfers in progress */

/* Returns the bytes of all columns' rows of a shard, in memory and on flash: whole pages. */
size_t flash_rows_bytes(uint32_t buckets);

struct flash_rows_io {
	struct flash_device *device; /* ends with other tags are ignored */
	bool (*wait)(void *arg);     /* called when nothing has ended; false: wait no longer */
	void *arg;
};

/* Writes the rows. Returns their sum, for the superblock; 0: not all could be written. */
uint64_t flash_rows_write(const struct flash_column_config *column, const struct flash_rows_io *io);

/* Loads the rows for this start: sets column->is_kept, and its memory. super: the previous
 * process's. False: the device has not ended all transfers. */
bool flash_rows_start(struct flash_column_config *column, enum flash_start start,
		      const struct flash_super *super, uint32_t shard,
		      const struct flash_rows_io *io);

#endif

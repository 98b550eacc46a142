/*
 * flash_pad.h - advances the logs of flash shards without entries, so that evicted items are read
 * from flash, and later evictions find room.
 *
 * Thread: one.
 * Bounds: one record for each shard and call, where a buffer is free.
 */
#ifndef CLOCKOO_FLASH_PAD_H
#define CLOCKOO_FLASH_PAD_H

#include "flash/flash_shard.h"

#define FLASH_PAD_BYTES 8000u

static inline bool
flash_pad_has_room(const struct flash_log *log)
{
	for (uint32_t i = 0; i < FLASH_BUFFERS; i++)
		if (log->buffer[i].state == FLASH_FREE)
			return true;
	return false;
}

static inline void
flash_pad(struct flash_shard *shards, uint32_t count)
{
	const struct flash_record record = {.kind = FLASH_PUT,
					    .key = {(const uint8_t *)"pad", 3},
					    .value_len = FLASH_PAD_BYTES};
	struct flash_reserved r;

	for (uint32_t i = 0; i < count; i++)
		if (flash_pad_has_room(&shards[i].log) &&
		    flash_shard_reserve(&shards[i], &record, &r))
			flash_log_release(&shards[i].log, &r);
}

#endif

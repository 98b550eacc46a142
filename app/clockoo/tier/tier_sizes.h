/*
 * tier_sizes.h - the memory of the second tier, from the configuration and the device's size.
 *
 * Units:  bytes.
 * Thread: pure functions.
 */
#ifndef CLOCKOO_TIER_SIZES_H
#define CLOCKOO_TIER_SIZES_H

#include "config/config.h"
#include "flash/flash_backend.h"
#include "flash/flash_plan.h"

#define TIER_READS_SMALL 256u /* for each core, in flight at a time */
#define TIER_READS_LARGE 8u

/* Bytes of memory of each part, for all cores. */
struct tier_sizes {
	uint64_t device; /* size of the device; 0: there is no tier, and all others are 0 */
	struct flash_plan plan;
	size_t index, buffers, asks, reads, tables;
	size_t rows, convert; /* of columns, beside the buffers, and of their conversion */
	size_t packers;       /* of the data cores */
	size_t ghosts;        /* of items that were not admitted; 0: all are admitted */
};

void tier_sizes_make(struct tier_sizes *z, const struct config *cfg, uint64_t device_bytes);
/* Returns their sum, with the bytes lost to alignment. */
size_t tier_sizes_bytes(const struct tier_sizes *z);

/* Returns what one core's backend is made with, without its parts. */
struct flash_backend_config tier_sizes_backend(const struct config *cfg);
/* Returns the bytes that one core reads into. */
size_t tier_sizes_reads(const struct config *cfg);

#endif

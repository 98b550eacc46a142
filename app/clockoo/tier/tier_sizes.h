/*
 * tier_sizes.h - the memory of the second tier, by configuration and size of the device.
 *
 * Units:  bytes.
 * Thread: pure functions.
 */
#ifndef CLOCKOO_TIER_SIZES_H
#define CLOCKOO_TIER_SIZES_H

#include "config/config.h"
#include "flash/flash_backend.h"
#include "flash/flash_plan.h"

#define TIER_READS_SMALL 256u /* reads in flight per core */
#define TIER_READS_LARGE 8u

/* Bytes of memory of each part, for all cores together. */
struct tier_sizes {
	uint64_t device; /* size of the device; 0: no tier, and all other members are 0 */
	struct flash_plan plan;
	size_t index, buffers, asks, reads, tables;
	size_t rows, convert; /* of columns, beside the buffers; of their conversion */
	size_t packers;       /* of the data cores */
	size_t ghosts;        /* for items that were not admitted; 0: all items are admitted */
};

void tier_sizes_make(struct tier_sizes *z, const struct config *cfg, uint64_t device_bytes);
/* Returns the sum of all parts, aligned. */
size_t tier_sizes_bytes(const struct tier_sizes *z);

/* Returns the settings of one core's backend, without pointers to its parts. */
struct flash_backend_config tier_sizes_backend(const struct config *cfg);
/* Returns the bytes of one core's buffers for reads. */
size_t tier_sizes_reads(const struct config *cfg);

#endif

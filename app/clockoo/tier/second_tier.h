/*
 * second_tier.h - the tier on --flash-device, from the start that opens it to the stop that
 * leaves it: its memory, a device and a backend for each core, and its thread.
 *
 * Shape:  opened and locked before DPDK starts; made when the store exists; its thread writes
 *         from the first request on, until no core and no loader evicts any more.
 * Owner:  struct appliance; without --flash-device nothing here does anything.
 * Thread: main. The tier's thread has the writer and its device; a core has its backend and its
 *         device.
 * Errors: struct error. A stop that cannot write everything prints a line, and leaves the
 *         superblock DIRTY.
 * Bounds: a stop writes for SECOND_TIER_LEAVE_S at most.
 */
#ifndef CLOCKOO_SECOND_TIER_H
#define CLOCKOO_SECOND_TIER_H

#include "flash/flash_plan.h"
#include "flash/flash_backend.h"
#include "flash/flash_under.h"
#include "tier_columns.h"
#include "tier_io.h"
#include "tier_start.h"

#include <pthread.h>

#define SECOND_TIER_LEAVE_S 10u

struct appliance;
struct config;
struct error;

/* Bytes of memory of each part, for all cores. */
struct second_tier_sizes {
	uint64_t device; /* size of the device; 0: there is no tier, and all others are 0 */
	struct flash_plan plan;
	size_t index, buffers, asks, reads, tables;
	size_t rows, convert; /* of columns, beside the buffers, and of their conversion */
	size_t packers;       /* of the data cores */
	size_t ghosts;        /* of items that were not admitted; 0: all are admitted */
};

void second_tier_sizes(struct second_tier_sizes *z, const struct config *cfg,
		       uint64_t device_bytes);
/* Returns their sum, with the bytes lost to alignment. */
size_t second_tier_bytes(const struct second_tier_sizes *z);

struct second_tier {
	bool used;
	struct flash_file file;
	struct flash_under under; /* the devices below it */
	struct flash_super super; /* as it was last written */
	struct tier_start from;
	struct flash_tier *tier;
	struct flash_shard *shards;
	struct flash_convert *convert; /* NULL: there are no columns */
	struct tier_io *io;            /* the writer's device, then those of the cores */
	uint8_t *reads;                /* buffers of the cores, from core 0 on */
	struct flash_writer writer;
	atomic_bool stop;
	bool runs; /* the thread must be joined */
	pthread_t thread;
};

/* Opens and locks the device, before sizes are computed. Makes it if it does not exist. */
bool second_tier_open(struct second_tier *t, const struct config *cfg, struct error *err);
/* Reads what a killed process left, once sizes are computed. Sets the store's seed if the tier may
 * be kept. */
bool second_tier_open_state(struct second_tier *t, struct appliance *a, struct error *err);
/* Makes the tier once the store exists and before any core turns. Prints a line that says what it
 * starts with. */
bool second_tier_create(struct second_tier *t, struct region *region, const struct appliance *a,
			struct error *err);
/* Attaches the backend to a core that does not turn yet. */
void second_tier_attach(struct second_tier *t, struct region *region, const struct appliance *a,
			uint32_t core, struct serve *serve);
/* Marks the superblock DIRTY and starts the thread, before the first request. */
bool second_tier_start(struct second_tier *t, struct appliance *a, struct error *err);
/* Applies flash.admit and flash.budget from now. Called by the control thread. */
void second_tier_change(struct second_tier *t, const struct config_flash *now);
/* Writes the buffers and marks the superblock CLEAN, when no thread uses the store any more. */
void second_tier_stop(struct second_tier *t, struct appliance *a);
/* Called at each tick of the control thread. */
void second_tier_tick(struct second_tier *t, struct appliance *a);
void second_tier_close(struct second_tier *t);

#endif

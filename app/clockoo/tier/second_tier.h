/*
 * second_tier.h - the tier on --flash-device, from the start that opens it to the stop that
 * leaves it: its memory, a device and a backend for each core, and its thread.
 *
 * Shape:  opened and locked before DPDK starts; made when the store exists; its thread writes
 *         from the first request on, until no core and no loader evicts any more.
 * Owner:  the caller; without --flash-device nothing here does anything.
 * Thread: main. The tier's thread has the writer and its device; a core has its backend and its
 *         device.
 * Errors: struct error. A stop that cannot write everything prints a line, and leaves the
 *         superblock DIRTY.
 * Bounds: a stop writes for SECOND_TIER_LEAVE_S at most.
 */
#ifndef CLOCKOO_SECOND_TIER_H
#define CLOCKOO_SECOND_TIER_H

#include "flash/flash_under.h"
#include "tier_columns.h"
#include "tier_io.h"
#include "tier_sizes.h"
#include "tier_start.h"

#include <pthread.h>

#define SECOND_TIER_LEAVE_S 10u

struct second_tier {
	struct tier_needs of;
	struct store *store;
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
bool second_tier_open(struct second_tier *t, const struct tier_needs *of, struct error *err);
/* Reads what a killed process left, once sizes are computed. */
bool second_tier_open_state(struct second_tier *t, struct error *err);
/* True if the tier may be kept: *seed must become the store's. */
bool second_tier_seed(const struct second_tier *t, uint64_t *seed);
/* Makes the tier once the store exists and before any core turns. Prints a line that says what it
 * starts with. */
bool second_tier_create(struct second_tier *t, struct region *region, struct store *store,
			struct error *err);
/* Attaches the backend to a core that does not turn yet. */
void second_tier_attach(struct second_tier *t, struct region *region, uint32_t core,
			struct serve *serve);
/* Marks the superblock DIRTY and starts the thread, before the first request. */
bool second_tier_start(struct second_tier *t, struct error *err);
/* Applies flash.admit and flash.budget from now. Called by the control thread. */
void second_tier_change(struct second_tier *t, const struct config_flash *now);
/* Writes the buffers and marks the superblock CLEAN, when no thread uses the store any more. */
void second_tier_stop(struct second_tier *t);
/* Called at each tick of the control thread. */
void second_tier_tick(struct second_tier *t);
void second_tier_close(struct second_tier *t);

#endif

/*
 * second_tier.h - the tier on --flash-device, from the start to the stop: its memory, a device and
 * a backend per core, and its thread.
 *
 * Shape:  opened and locked before DPDK starts; made when the store exists. The thread writes from
 *         the first request until no core and no loader evicts items.
 * Owner:  the caller. Without --flash-device the functions do nothing.
 * Thread: main. The tier's thread has the writer and the writer's device. Each core has its backend
 *         and its device.
 * Errors: struct error. A stop that cannot write all buffers prints a line and leaves the
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
	struct flash_under under; /* the devices below a block device */
	struct flash_super super; /* as written last */
	struct tier_start from;
	struct flash_tier *tier;
	struct flash_shard *shards;
	struct flash_convert *convert; /* NULL without columns */
	struct tier_io *io;            /* the writer's device, then one per core */
	uint8_t *reads;                /* the cores' buffers for reads, from core 0 on */
	struct flash_writer writer;
	atomic_bool stop;
	bool runs; /* the thread must be joined */
	pthread_t thread;
};

/* Opens and locks the device; makes a file that does not exist. Called before sizes are
 * computed. */
bool second_tier_open(struct second_tier *t, const struct tier_needs *of, struct error *err);
/* Reads the state that a killed process has left. Called when sizes are computed. */
bool second_tier_open_state(struct second_tier *t, struct error *err);
/* True if the tier's items may be kept. The store must then get *seed. */
bool second_tier_seed(const struct second_tier *t, uint64_t *seed);
/* Makes the tier, and prints a line that says whether its items are kept. Called when the store
 * exists and before any core turns. */
bool second_tier_create(struct second_tier *t, struct region *region, struct store *store,
			struct error *err);
/* Attaches a backend to a core, before the core turns. */
void second_tier_attach(struct second_tier *t, struct region *region, uint32_t core,
			struct serve *serve);
/* Marks the superblock DIRTY and starts the thread. Called before the first request. */
bool second_tier_start(struct second_tier *t, struct error *err);
/* Applies flash.admit and flash.budget of now. Called by the control thread. */
void second_tier_change(struct second_tier *t, const struct config_flash *now);
/* Writes the buffers and marks the superblock CLEAN. Called when no thread uses the store any
 * more. */
void second_tier_stop(struct second_tier *t);
/* Called at each tick of the control thread. */
void second_tier_tick(struct second_tier *t);
void second_tier_close(struct second_tier *t);

#endif

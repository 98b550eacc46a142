/*
 * second_tier.h - the tier on --flash-device, from the start that opens it to the stop that leaves
 * it: its memory, a device and a supplier a core, and its thread.
 *
 * Shape:  opened and locked before DPDK starts; made when the store is there; its thread writes
 *         from the first request on, until no core and no loader evicts any more.
 * Owner:  struct appliance; without --flash-device nothing here does anything.
 * Thread: main. The tier's thread has the writer and its device; a core has its supplier and its
 *         device.
 * Errors: struct error. A stop that cannot write all says so in a line, and leaves the superblock
 *         DIRTY.
 * Bounds: SECOND_TIER_LEAVE_S for what is to be written at a stop.
 */
#ifndef CLOCKOO_SECOND_TIER_H
#define CLOCKOO_SECOND_TIER_H

#include "flash/flash_plan.h"
#include "flash/flash_supplier.h"
#include "flash/flash_under.h"
#include "tier_columns.h"
#include "tier_io.h"
#include "tier_start.h"

#include <pthread.h>

#define SECOND_TIER_LEAVE_S 10u

struct appliance;
struct config;
struct error;

/* Bytes of memory; of all cores. */
struct second_tier_sizes {
	uint64_t device; /* its bytes; 0: there is no tier, and all else is 0 */
	struct flash_plan plan;
	size_t index, buffers, asks, reads, tables;
	size_t rows, convert; /* of columns, beside the buffers; of what makes them */
	size_t packers;       /* of the data cores */
	size_t ghosts;        /* of what was not admitted; 0: all is */
};

void second_tier_sizes(struct second_tier_sizes *z, const struct config *cfg,
		       uint64_t device_bytes);
/* All of them, with what is lost to alignment. */
size_t second_tier_bytes(const struct second_tier_sizes *z);

struct second_tier {
	bool used;
	struct flash_file file;
	struct flash_under under; /* what it lies on */
	struct flash_super super; /* as it was last written */
	struct tier_start from;
	struct flash_tier *tier;
	struct flash_shard *shards;
	struct flash_convert *convert; /* NULL: there are no columns */
	struct tier_io *io;            /* the writer's device, and of core 0 on */
	uint8_t *reads;                /* of core 0 on */
	struct flash_writer writer;
	atomic_bool stop;
	bool runs; /* the thread is to be joined */
	pthread_t thread;
};

/* Before sizes are computed. The device is made, if it is to be, and locked. */
bool second_tier_open(struct second_tier *t, const struct config *cfg, struct error *err);
/* Once they are: what a killed process left. Sets the store's seed, if it may be kept. */
bool second_tier_open_state(struct second_tier *t, struct appliance *a, struct error *err);
/* Once the store is there, and no core turns. Says in a line what it starts with. */
bool second_tier_create(struct second_tier *t, struct region *region, const struct appliance *a,
			struct error *err);
/* The supplier of this core, which is not turned yet. */
void second_tier_attach(struct second_tier *t, struct region *region, const struct appliance *a,
			uint32_t core, struct serve *serve);
/* Before the first request: the superblock says DIRTY; the thread starts. */
bool second_tier_start(struct second_tier *t, struct appliance *a, struct error *err);
/* flash.admit and flash.budget, as now says: the control thread. */
void second_tier_change(struct second_tier *t, const struct config_flash *now);
/* Nobody uses the store any more: what is in buffers is written, and the superblock says CLEAN. */
void second_tier_stop(struct second_tier *t, struct appliance *a);
/* Each tick of the control thread. */
void second_tier_tick(struct second_tier *t, struct appliance *a);
void second_tier_close(struct second_tier *t);

#endif

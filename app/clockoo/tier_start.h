/*
 * tier_start.h - what the process before left of the second tier, whether it is kept, and what this
 * process leaves to the next one.
 *
 * Shape:  opened with the device; decided when the store is there, since a store that was served
 *         without the tier is not kept with it; begun when the superblock is on the device.
 * Owner:  struct second_tier; its file (flash.state, or beside memory.file) has the buffers.
 * Thread: main; tier_start_tick: the control thread.
 * Errors: struct error: the file is another process's, or may not be believed.
 */
#ifndef CLOCKOO_TIER_START_H
#define CLOCKOO_TIER_START_H

#include "flash/flash_recover.h"
#include "flash/flash_rows.h"
#include "flash/flash_state.h"

struct appliance;
struct flash_plan;

/* Of that file, in hugepages; 0: it has none. live: of this machine; of another one whatever is
 * named counts. needed: only what it has not got already. */
struct tier_start_bytes {
	uint64_t all, needed;
};
struct tier_start_bytes tier_start_huge_bytes(const struct config *cfg,
					      const struct flash_plan *plan, bool live);

struct tier_start {
	struct flash_state state;
	struct flash_super super; /* of the process before, if there was one */
	bool had_super;
	struct gap gap;
	uint64_t judged_ns; /* on boot time: when gap was taken */
	enum flash_start start;
	char words[FLASH_START_WORDS]; /* why it is cold */
	uint64_t ahead_ns; /* of the store's clock, when gap was taken; 0: the store knows */
	struct flash_recovered found;
	uint64_t in_columns;        /* items found there */
	uint64_t begun_ns, said_ns; /* on boot time: its recovery, and what it said of that */
	enum tier_start_end { TIER_START_GOES_ON, TIER_START_STOPPED, TIER_START_TOO_LATE } end;
	bool said_off;
};

/* With the superblock that was read. */
bool tier_start_open(struct tier_start *s, const struct appliance *a, struct error *err);
/* The store is there; layout is this process's. */
void tier_start_decide(struct tier_start *s, const struct appliance *a,
		       const struct flash_layout *layout);
/* The shards, in their order; c is of this one, but for kept, intents, pages and the columns'
 * memory. False: a stop was requested, and the next start does it again; or it took longer than
 * the rest of the gap allows (TIER_START_TOO_LATE), and all shards are to be made again, cold; or
 * the device hangs. */
bool tier_start_shard(struct tier_start *s, const struct appliance *a, struct flash_shard *shard,
		      struct flash_shard_config *c, const struct flash_recover_config *recover,
		      uint64_t random);
/* Called when all shards are recovered. A flush that is due becomes the store's. */
void tier_start_end(struct tier_start *s, const struct appliance *a);
/* Returns how far the store's clock is ahead of that of a new process, by the tier's record. */
uint64_t tier_start_ahead_ns(const struct tier_start *s);

/* ---- in service ---- */

/* This process's superblock is on the device. */
void tier_start_serve(struct tier_start *s, struct appliance *a, const struct flash_super *super);
/* For a store that is served without a tier. */
void tier_start_none(struct appliance *a);
void tier_start_tick(struct tier_start *s, struct appliance *a);
/* Fills the superblock of a graceful stop. */
void tier_start_leave(struct tier_start *s, struct appliance *a, struct flash_super *super);

#endif

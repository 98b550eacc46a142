/*
 * tier_start.h - judges what the previous process left of the second tier, and writes what the
 * next one will judge.
 *
 * Shape:  opened with the device; decided when the store exists, since a store that was served
 *         without the tier is not kept with it; begun when the superblock is on the device.
 * Owner:  struct second_tier; its file (flash.state, or beside memory.file) has the buffers.
 * Thread: main; tier_start_tick: the control thread.
 * Errors: struct error: the file belongs to another process, or is not trusted.
 */
#ifndef CLOCKOO_TIER_START_H
#define CLOCKOO_TIER_START_H

#include "flash/flash_recover.h"
#include "flash/flash_rows.h"
#include "flash/flash_state.h"

#include "flash/flash_fault.h"
#include "keep/memory_save.h"
#include "process/process.h"
#include "tier_sizes.h"

struct tier_needs {
	const struct config *config;
	const struct process *process;
	const struct tier_sizes *sizes; /* filled once the device is open */
	struct arena_file *arena;
	const struct memory_save *save;
};

/* Hugepage bytes of the tier's state file; 0: it has none. live: for this machine; for another one
 * any named file counts. needed: only the bytes that it does not have yet. */
struct tier_start_bytes {
	uint64_t all, needed;
};
struct tier_start_bytes tier_start_huge_bytes(const struct config *cfg,
					      const struct flash_plan *plan, bool live);

struct tier_start {
	const struct tier_needs *of;
	struct store *store;
	struct flash_state state;
	struct flash_super super; /* of the previous process, if there was one */
	bool had_super;
	struct gap gap;
	uint64_t judged_ns; /* when gap was taken, on boot time */
	enum flash_start start;
	char words[FLASH_START_WORDS]; /* the reason why it is cold */
	uint64_t ahead_ns; /* how far the store's clock is ahead, when gap was taken; 0: the store
			      knows */
	struct flash_recovered found;
	uint64_t in_columns; /* items found in columns */
	uint64_t begun_ns,
		said_ns; /* on boot time: when recovery began, and when it was last reported */
	enum tier_start_end { TIER_START_GOES_ON, TIER_START_STOPPED, TIER_START_TOO_LATE } end;
	bool said_off;
};

/* Judges the superblock that was read. */
bool tier_start_open(struct tier_start *s, const struct tier_needs *of, struct error *err);
/* Decides whether the tier is kept, when the store exists. layout is this process's. */
void tier_start_decide(struct tier_start *s, struct store *store,
		       const struct flash_layout *layout);
/* Recovers or makes a shard; called in their order. c is for this shard, except kept, intents,
 * pages and the columns' memory. False if a stop was requested, and the next start repeats the
 * recovery; if it took longer than the rest of the gap allows (TIER_START_TOO_LATE), and all shards
 * must be made again, cold; or if the device hangs. */
bool tier_start_shard(struct tier_start *s, struct flash_shard *shard, struct flash_shard_config *c,
		      const struct flash_recover_config *recover, uint64_t random);
/* Called when all shards are recovered. Gives the store a flush that came due. */
void tier_start_end(struct tier_start *s);
/* Returns how far the store's clock is ahead of that of a new process, by the tier's record. */
uint64_t tier_start_ahead_ns(const struct tier_start *s);

/* ---- in service ---- */

/* Begins service: this process's superblock is on the device. */
void tier_start_serve(struct tier_start *s, const struct flash_super *super,
		      const struct flash_health *health);
/* Records that the store is served without a tier. */
void tier_start_none(const struct tier_needs *of);
/* Called at each tick: writes a heartbeat, and reports a device that was given up. */
void tier_start_tick(struct tier_start *s, const struct flash_health *health);
/* Fills the superblock of a graceful stop. */
void tier_start_leave(struct tier_start *s, struct flash_super *super);

#endif

/*
 * tier_start.h - judges what the previous process has left of the second tier, and writes the facts
 * by which the next process judges.
 *
 * Shape:  opened with the device. Decided when the store exists, since the tier is not kept if the
 *         store was served without it. Service begins when the superblock is on the device.
 * Owner:  struct second_tier. The state file (flash.state, or beside memory.file) has the buffers.
 * Thread: main; but the control thread calls tier_start_tick.
 * Errors: struct error: another process has the file, or the file is not trusted.
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
	const struct tier_sizes *sizes; /* known when the device is open */
	struct arena_file *arena;
	const struct memory_save *save;
};

/* Hugepage bytes of the tier's state file; 0 without one. needed: those that the file does not
 * have yet. live: the files are of this machine; otherwise a file counts if the configuration
 * names it. */
struct tier_start_bytes {
	uint64_t all, needed;
};
struct tier_start_bytes tier_start_huge_bytes(const struct config *cfg,
					      const struct flash_plan *plan, bool live);

struct tier_start {
	const struct tier_needs *of;
	struct store *store;
	struct flash_state state;
	struct flash_super super; /* of the previous process, if had_super */
	bool had_super;
	struct gap gap;
	uint64_t judged_ns; /* CLOCK_BOOTTIME at which gap was judged */
	enum flash_start start;
	char words[FLASH_START_WORDS]; /* why the tier starts cold */
	uint64_t ahead_ns; /* of the store's clock when gap was judged; 0: the store knows it */
	struct flash_recovered found;
	uint64_t in_columns; /* number of items found in columns */
	uint64_t begun_ns;   /* CLOCK_BOOTTIME at which the recovery began */
	uint64_t said_ns;    /* CLOCK_BOOTTIME at which it was last reported */
	enum tier_start_end { TIER_START_GOES_ON, TIER_START_STOPPED, TIER_START_TOO_LATE } end;
	bool said_off; /* the device was reported as given up */
};

/* Reads the state file and judges the superblock. */
bool tier_start_open(struct tier_start *s, const struct tier_needs *of, struct error *err);
/* Decides whether the tier's items are kept. Called when the store exists. layout is this
 * process's. */
void tier_start_decide(struct tier_start *s, struct store *store,
		       const struct flash_layout *layout);
/* Recovers or makes a shard. Called for the shards in order. c has this shard's settings, without
 * kept, intents, pages and the columns' memory. False in three cases: a stop was requested, and the
 * next start repeats the recovery; the recovery took longer than the gap may last
 * (TIER_START_TOO_LATE), and the caller must make all shards again, cold; or the device hangs. */
bool tier_start_shard(struct tier_start *s, struct flash_shard *shard, struct flash_shard_config *c,
		      const struct flash_recover_config *recover, uint64_t random);
/* Gives the store a flush that came due. Called when all shards are recovered. */
void tier_start_end(struct tier_start *s);
/* Returns the time that the store's clock is ahead of a new process's, by the tier's record. */
uint64_t tier_start_ahead_ns(const struct tier_start *s);

/* ---- in service ---- */

/* Begins service. This process's superblock is on the device. */
void tier_start_serve(struct tier_start *s, const struct flash_super *super,
		      const struct flash_health *health);
/* Records that the store is served without a tier. */
void tier_start_none(const struct tier_needs *of);
/* Writes a heartbeat, and reports a device that was given up. Called at each tick. */
void tier_start_tick(struct tier_start *s, const struct flash_health *health);
/* Fills in the superblock of a graceful stop. */
void tier_start_leave(struct tier_start *s, struct flash_super *super);

#endif

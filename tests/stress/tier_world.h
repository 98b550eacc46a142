/*
 * tier_world.h - a model store over one shard of the product's tier, for stress_tier.
 *
 * Shape:  a few judged keys, which may be in the store (D) or the tier; fillers, which are not
 *         judged and fill the log; a device of memory. All of it runs in fibres.
 * Thread: one.
 */
#ifndef CLOCKOO_TIER_WORLD_H
#define CLOCKOO_TIER_WORLD_H

#include "fibres.h"
#include "history.h"

#include "flash/flash_convert.h"
#include "flash/flash_rows.h"
#include "flash/flash_recover.h"
#include "../sim/mem_flash.h"

#define TIER_KEYS          2u
#define TIER_SEGMENT_PAGES 3u
#define TIER_SEGMENTS      8u
#define TIER_LIVE          5u
#define TIER_MORE          6u /* additional segments of a world with columns */
#define TIER_COLUMNS       3u
#define TIER_COLUMN_PAGES  4u
#define TIER_ROWS_PAGES    1u /* pages of all columns of a shard */
#define TIER_OUTPUT_PAGES  3u /* pages of a conversion's output */
#define TIER_BUCKETS       32u
#define TIER_CORES         2u
#define TIER_NAME_LEN      2u
#define TIER_TRIES         3u /* tries of a lookup whose segment was reused */
#define TIER_VALUE_MAX     2600u

#define TIER_DEVICE_BYTES                                                                          \
	((uint64_t)((TIER_SEGMENTS + TIER_MORE) * TIER_SEGMENT_PAGES +                             \
		    TIER_COLUMNS * TIER_COLUMN_PAGES + TIER_ROWS_PAGES) *                          \
	 FLASH_PAGE_BYTES)

/* The state of a key in D. A slot may be dead: flushed. */
struct tier_slot {
	bool there;
	uint32_t version; /* identifies the slot's bytes, as a reference does */
	uint32_t generation;
	uint32_t len, flags;
	char text[HISTORY_VALUE_MAX];
};

struct tier_world {
	struct sim_rng rng;
	struct mem_flash device;
	struct flash_shard shard;
	struct flash_kept kept;
	struct flash_intents intents;
	uint32_t columns; /* 0: none */
	struct flash_convert convert;
	struct tier_slot d[TIER_KEYS];
	bool locked[TIER_KEYS], flushing, small_fillers, crowded, rots;
	uint64_t hash[TIER_KEYS];
	char name[TIER_KEYS][8];
	uint32_t generation, versions, fillers;
	uint64_t now_ns;
	bool done[FIBRES_MAX]; /* each fibre's read has ended */
	int32_t error[FIBRES_MAX];
	bool writing;
	uint64_t unreadable;
};
extern struct tier_world w;

static_assert(TIER_BUCKETS * sizeof(struct bucket) <= FLASH_PAGE_BYTES, "their memory is a page");

void tier_create(void);
void tier_begin(uint64_t seed);
struct flash_shard_config tier_config(void);
/* Starts without a conversion under way. */
void tier_convert_init(void);
uint64_t tier_hash(void *arg, struct view key);
uint8_t *tier_column_memory(void); /* flash_columns_bytes(FILTER_BUCKETS_MIN) */
/* Adds the shard's counts to the sums, before the shard begins anew. */
void tier_count(void);
uint64_t tier_columns_made(void);
/* Prints the sums of all runs, one line each. */
void tier_print(void);
/* True if no copy was unreadable, except by a fault. */
bool tier_read_all(void);
/* Takes the transfers that the device has done by now. */
void tier_poll(void);

/* tier_call() makes one call on this core, and writes the answer into it. tier_evict() and
 * tier_fill() do what the store does by itself. */
void tier_call(uint32_t core, struct call *call);
void tier_evict(uint32_t core, uint32_t key);
void tier_fill(uint32_t core);
/* tier_work() is a step of the tier's thread, tier_turn() a turn of the shard's owner. */
void tier_work(void);
void tier_turn(uint32_t core);

/* ---- tier_kill.c ---- */

void tier_kill_create(void);
void tier_kill_print(void);
/* Kills the process and begins the next one, which keeps the store's items or not. False if items
 * were lost that were whole on the device. */
bool tier_kill(bool keeps_store);
/* Restarts the shard. is_kept: its state in memory is kept. */
bool tier_restart(struct flash_recovered *recovered, bool is_kept);
struct flash_recover_config tier_recover_config(struct mem_flash *device);
/* True if a process killed now would find only reachable items, and none that the store has. */
bool tier_copy_has_no_more(void);

/* ---- tier_cut.c ---- */

void tier_cut_begin(uint64_t seed);
void tier_cut_print(void);
/* Cuts the power, which also loses the store: at once, or at a step of a stop, during which no call
 * is made. False if the next start is not allowed, or lost items that were whole on the device. */
bool tier_cut(bool stops);

#endif

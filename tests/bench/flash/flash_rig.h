/*
 * flash_rig.h - one shard of the tier over a device in memory, or over io_uring on a file, with
 * items by number; shared by the parts of flash_trial.
 *
 * Shape:  item n has a key of BENCH_KEY_BYTES and a value of value_bytes made from n. A put
 *         follows the path of an eviction: reserved, copied, entered, and written by the tier's
 *         thread, which is this one.
 * Units:  bytes of flash; CPU times are the calling thread's.
 * Owner:  the caller, until flash_rig_close; the file stays.
 * Thread: one.
 * Errors: none; a device that fails, or a value that is not the item's, ends the bench.
 */
#ifndef CLOCKOO_FLASH_RIG_H
#define CLOCKOO_FLASH_RIG_H

#include "../store/bench_load.h"

#include "flash/flash_recover.h"
#include "flash/flash_tier.h"
#include "flash/flash_uring.h"

#define RIG_SEED            4711u
#define RIG_SMALL_PAGES     2u /* pages of a small read */
#define RIG_ABSENT_FROM     (1ull << 40)
#define RIG_CAS_LONG        (1ull << 25)
#define RIG_WORKERS_MAX     8u
#define FLASH_RIG_VALUE_MAX 3072u

/* A device without latency: it completes submissions at once. */
struct ram_device {
	struct flash_device device;
	uint8_t *bytes;
	struct flash_result ended[FLASH_DEPTH_MAX];
	uint32_t count;
	uint64_t reads, read_bytes, write_bytes;
};

void ram_device_open(struct ram_device *ram, uint64_t bytes, uint32_t depth);
void ram_device_close(struct ram_device *ram);

struct flash_rig_config {
	uint64_t bytes;       /* bytes of flash, in whole segments */
	uint64_t items;       /* room of the index; 0: for as many as the segments hold */
	uint32_t value_bytes; /* a multiple of 8 */
	uint32_t depth;       /* reads at a time */
	const char *path;     /* NULL: memory */
	bool long_cas;        /* cas numbers above 2^24 */
	uint32_t workers;     /* helper threads of a recovery, at most RIG_WORKERS_MAX */
};

struct flash_rig {
	struct flash_rig_config c;
	struct flash_tier tier;
	struct flash_shard shard;
	struct flash_shard_config shard_config;
	struct flash_kept kept;
	struct flash_intents intents;
	struct flash_writer writer;
	struct ram_device ram;
	struct flash_file file;
	struct flash_uring uring;
	struct flash_device *device;
	uint8_t *memory; /* memory for transfers: buffers, reads, a recovery's segments */
	size_t memory_bytes;
	uint8_t *reads, *segments;
	struct flash_workers workers;
	struct flash_change *changes;
	uint64_t workers_cpu_ns; /* CPU time of helper threads in the last recovery */
};

void flash_rig_open(struct flash_rig *rig, const struct flash_rig_config *config);
void flash_rig_close(struct flash_rig *rig);

uint64_t flash_rig_hash(void *rig, struct view key);
/* Returns the shard's bytes of DRAM beside its index. */
size_t flash_rig_fixed_bytes(const struct flash_rig *rig);

/* Puts item n. False: the index has no room. */
bool flash_rig_put(struct flash_rig *rig, uint64_t n);
/* Writes all that was put to flash. */
void flash_rig_leave(struct flash_rig *rig);
/* Recovers the shard as the next process would. Returns what was found. */
struct flash_recovered flash_rig_recover(struct flash_rig *rig);
/* Waits for a completion. */
struct flash_result flash_rig_poll(struct flash_rig *rig);

/* Sleeps until `ends` reads have ended. flash_rig_at_once returns how many end, and begin again,
 * together. */
void flash_rig_sleep(struct flash_rig *rig, uint32_t ends);
uint32_t flash_rig_at_once(const struct flash_rig *rig);
bool flash_rig_is_value(const struct flash_rig *rig, uint64_t n, const void *value);

struct flash_gets {
	uint64_t asked, found, buffered, reads, pages;
	uint64_t flash_found; /* items found by a read */
	uint64_t flash_reads; /* reads made for them */
};

/* Makes count gets of random items from first on, below first + of, with depth at once. */
struct flash_gets flash_rig_get(struct flash_rig *rig, uint64_t first, uint64_t of, uint64_t count,
				uint64_t seed);
/* Reads from the same device with the same depth and lengths, without using the bytes. */
void flash_rig_read_raw(struct flash_rig *rig, uint64_t count, double two_pages, uint64_t seed);

#endif

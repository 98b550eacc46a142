/*
 * flash_recover.h - recovers a shard as the previous process left it, or empty.
 *
 * A killed process leaves its segments on flash, buffers that may not be on flash yet, and struct
 * flash_kept. Recovery writes the buffers first, then reads the live segments in order and applies
 * their records again.
 *
 * Shape:  nothing becomes reachable that was not reachable before. A record that recovery cannot
 *         keep is first invalidated in the log, so that the next restart does not find it either.
 * Owner:  memory: depth x a segment's pages, from and to which the device transfers.
 * Thread: one thread, before any other uses the shard; workers read records, and change nothing.
 *         It calls wait while it has to wait for the device or a worker.
 * Errors: if a segment cannot be read or has an invalid page, and no DROP record names it, it and
 *         all earlier segments are forgotten. The same holds for a buffer that cannot be written.
 * Bounds: `live` segments are read, depth at once. A stopped recovery waits FLASH_RECOVER_WAITS
 *         times for transfers to end.
 */
#ifndef CLOCKOO_FLASH_RECOVER_H
#define CLOCKOO_FLASH_RECOVER_H

#include "flash_shard.h"
#include "flash_workers.h"

#define FLASH_RECOVER_DEPTH_MAX FLASH_JOBS
#define FLASH_RECOVER_WAITS     10000u

struct flash_recover_config {
	struct flash_device *device;
	uint8_t *memory;
	uint32_t depth;  /* reads at once, 1 .. FLASH_RECOVER_DEPTH_MAX */
	uint32_t shards; /* a hash belongs to shard hash % shards */
	uint64_t (*hash)(void *arg, struct view key); /* the store's hash */
	void (*wait)(void *arg);
	void *arg;
	/* Threads that read records meanwhile, besides this one; NULL: none. */
	struct flash_workers *workers;
	/* Called at each segment and while recovery waits. done: segments read, of `all`. If it
	 * returns false, the recovery ends at once. NULL: the recovery always continues. */
	bool (*go_on)(void *arg, uint32_t done, uint32_t all);
	void *go_on_arg;
};

struct flash_recovered {
	uint32_t segments, bad;   /* segments read; segments that were invalid */
	uint64_t puts, unindexed; /* records applied; records for which the index had no room */
	bool stopped; /* by go_on: the shard is unusable, and what is kept stays as after a kill */
	bool hangs;   /* stopped, and the device has not ended all transfers */
};

/* Recovers a shard. The caller passes kept and pages as the last process left them, and zeroed
 * buckets. */
struct flash_recovered flash_shard_recover(struct flash_shard *s,
					   const struct flash_shard_config *config,
					   const struct flash_recover_config *recover);

/* Invalidates everything written so far, for this process and after any restart. */
void flash_kept_forget(struct flash_kept *kept);

/* Writes all buffers to flash for a stop, while no other thread uses the shard. False: a write
 * failed, and the content must not be used. */
bool flash_shard_leave(struct flash_shard *s, const struct flash_recover_config *recover);

#endif

/*
 * flash_recover.h - recovers a shard that the previous process left, or makes it empty.
 *
 * A killed process leaves its segments on flash, buffers that may not be on flash yet, and struct
 * flash_kept. Recovery writes the buffers to flash first. Then it reads the live segments in order
 * and applies their records again.
 *
 * Shape:  no record becomes reachable that was not reachable before. A record that recovery cannot
 *         keep is first invalidated in the log, so that the next restart does not find it either.
 * Owner:  memory: depth times the bytes of a segment, which the device was opened with.
 * Thread: one thread, before any other uses the shard. Workers read records, and change nothing.
 *         The thread calls wait() when it must wait for the device or for a worker.
 * Errors: if a segment is unreadable or has an invalid page, it and all earlier segments are
 *         forgotten, unless a DROP record names it. The same holds for a buffer that cannot be
 *         written.
 * Bounds: `live` segments are read, depth at a time. A recovery that is stopped calls wait at most
 *         FLASH_RECOVER_WAITS times for its transfers to end.
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
	/* Threads that read records besides this one; NULL: none. */
	struct flash_workers *workers;
	/* Called for each segment and at each wait. done: segments read so far, of `all`. If it
	 * returns false the recovery stops. NULL: nothing stops it. */
	bool (*go_on)(void *arg, uint32_t done, uint32_t all);
	void *go_on_arg;
};

struct flash_recovered {
	uint32_t segments, bad; /* segments read; of those, invalid ones */
	/* PUT records that were applied, and those of them for which the index had no room. */
	uint64_t puts, unindexed;
	/* Stopped by go_on: the shard is unusable, and what the kill left is unchanged. */
	bool stopped;
	bool hangs; /* stopped, with transfers that the device has not ended */
};

/* Recovers a shard. The caller passes kept and pages as the last process left them, and zeroed
 * buckets. */
struct flash_recovered flash_shard_recover(struct flash_shard *s,
					   const struct flash_shard_config *config,
					   const struct flash_recover_config *recover);

/* Invalidates everything that was written so far, for this process and for any later one. */
void flash_kept_forget(struct flash_kept *kept);

/* Writes all buffers to flash for a stop, while no other thread uses the shard. False: a write
 * failed; the caller must not mark the device CLEAN. */
bool flash_shard_leave(struct flash_shard *s, const struct flash_recover_config *recover);

#endif

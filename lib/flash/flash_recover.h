/*
 * flash_recover.h - a shard as the process before left it, or empty.
 *
 * What a killed process leaves is its segments on flash, the buffers that it had not written for
 * certain, and struct flash_kept. The buffers are written first; then the segments that count are
 * read in their order, and their records done again.
 *
 * Shape:  a shard that finds nothing that was not reachable before: what it cannot keep it says in
 *         its log first, so that the next restart does not find it either.
 * Owner:  memory: depth x a segment's pages, the device's to read into and write from.
 * Thread: one, before the shard is anybody else's; workers read records, and change nothing. It
 *         waits for the device, or for a worker: wait is called when nothing has ended.
 * Errors: a segment that cannot be read, or has a page that does not count, and that no DROP names:
 *         it and all before it are forgotten. A buffer that cannot be written: the same.
 * Bounds: `live` segments are read, depth at once. What is stopped waits FLASH_RECOVER_WAITS times
 *         for transfers to end.
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
	uint32_t shards; /* a hash is of shard hash % shards */
	uint64_t (*hash)(void *arg, struct view key); /* the store's */
	void (*wait)(void *arg);
	void *arg;
	/* Threads that read records meanwhile, of whom this one is none; NULL: none. */
	struct flash_workers *workers;
	/* Asked at each segment, and while it waits; done of all segments are read. False: it ends
	 * at once. NULL: it goes on. */
	bool (*go_on)(void *arg, uint32_t done, uint32_t all);
	void *go_on_arg;
};

struct flash_recovered {
	uint32_t segments, bad;   /* read; that did not count */
	uint64_t puts, unindexed; /* records done again; for which the index had no room */
	bool stopped;             /* by go_on: the shard is of no use, what is kept is, as a kill
				     would leave it */
	bool hangs;               /* and the device has not ended what it was asked */
};

/* kept and pages as they were left, buckets zeroed. */
struct flash_recovered flash_shard_recover(struct flash_shard *s,
					   const struct flash_shard_config *config,
					   const struct flash_recover_config *recover);

/* Nothing that was written before counts, now and after any restart. */
void flash_kept_forget(struct flash_kept *kept);

/* All that is in buffers is on flash then; for a stop. False: it is not, and must not be counted
 * on. Nothing else uses the shard. */
bool flash_shard_leave(struct flash_shard *s, const struct flash_recover_config *recover);

#endif

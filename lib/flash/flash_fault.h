/*
 * flash_fault.h - decides when a device must no longer be used, and turns its shards off.
 *
 * Shape:  threads report the ends of their transfers. The first report that exceeds a limit turns
 *         the tier off until the process ends. Each shard's owner then turns the shard off: lookups
 *         find nothing, no item is admitted, and the next start is cold.
 * Units:  error: 0 or a negative errno. ns.
 * Thread: struct flash_ends: one thread. struct flash_health: any. A shard: as in flash_shard.h.
 * Errors: none.
 */
#ifndef CLOCKOO_FLASH_FAULT_H
#define CLOCKOO_FLASH_FAULT_H

#include "flash_shard.h"

/* After this many consecutive errors the device counts as removed. */
#define FLASH_ERRORS_ROW  16u
#define FLASH_ERRORS_PART 16u            /* failed writes are tolerated up to 1/FLASH_ERRORS_PART */
#define FLASH_ENDS_WINDOW 512u           /* of about this many recent ends */
#define FLASH_LOOK_NS     1000000000ull  /* interval between checks of the oldest transfer */
#define FLASH_HANG_NS     10000000000ull /* a transfer that takes longer counts as hanging */

/* Reasons for turning off, each with a line for the log. */
#define FLASH_OFFS(X)                                                                              \
	X(FLASH_ON, "on")                                                                          \
	X(FLASH_OFF_GONE, "the device is gone")                                                    \
	X(FLASH_OFF_READS, "16 reads failed one after the other")                                  \
	X(FLASH_OFF_WRITES, "too many writes failed")                                              \
	X(FLASH_OFF_HANGS, "a transfer has not ended for 10 s")

enum flash_off { FLASH_OFFS(COUNTER_SYMBOL) FLASH_OFFS_COUNT };
extern const struct counter_name flash_off_names[FLASH_OFFS_COUNT];

struct flash_health {
	_Atomic uint32_t off; /* enum flash_off; the first reason is kept */
};

static inline enum flash_off
flash_health_off(const struct flash_health *h)
{
	return atomic_load_explicit(&h->off, memory_order_relaxed);
}

/* The ends of one thread's transfers, counted. */
struct flash_ends {
	uint32_t row; /* consecutive failures */
	/* Counts of recent ends; both are halved when `ended` reaches FLASH_ENDS_WINDOW. */
	uint32_t ended, failed;
};

void flash_health_ended(struct flash_health *h, struct flash_ends *e, bool was_write,
			int32_t error);
/* Reports for how long the oldest transfer has been in progress. */
void flash_health_waited(struct flash_health *h, uint64_t ns);

/* ---- shards ---- */

/* Handles a candidate that should be readable but is not. The third error in a segment ends the
 * segment's entries. */
void flash_shard_unreadable(struct flash_shard *s, const struct flash_candidate *at);

void flash_shard_turn_off(struct flash_shard *s);

#endif

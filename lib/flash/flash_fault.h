/*
 * flash_fault.h - when a device is not used any more, and what its shards do then.
 *
 * Shape:  threads tell how their transfers end; the first that has had enough turns the tier off,
 *         for as long as the process lives. Owners then turn their shards off: looks find nothing,
 *         nothing is admitted, and the next start is cold.
 * Units:  error: 0 or a negative errno. ns.
 * Thread: struct flash_ends: one. struct flash_health: any. A shard: as flash_shard.h says.
 * Errors: none.
 */
#ifndef CLOCKOO_FLASH_FAULT_H
#define CLOCKOO_FLASH_FAULT_H

#include "flash_shard.h"

#define FLASH_ERRORS_ROW  16u            /* one after the other: it is gone */
#define FLASH_ERRORS_PART 16u            /* of the writes one in so many fails, */
#define FLASH_ENDS_WINDOW 512u           /* of about the last so many */
#define FLASH_LOOK_NS     1000000000ull  /* from one look at the oldest transfer to the next */
#define FLASH_HANG_NS     10000000000ull /* the oldest transfer has not ended for so long */

/* Why it is off, for a line. */
#define FLASH_OFFS(X)                                                                              \
	X(FLASH_ON, "on")                                                                          \
	X(FLASH_OFF_GONE, "the device is gone")                                                    \
	X(FLASH_OFF_READS, "16 reads failed one after the other")                                  \
	X(FLASH_OFF_WRITES, "too many writes failed")                                              \
	X(FLASH_OFF_HANGS, "a transfer has not ended for 10 s")

enum flash_off { FLASH_OFFS(COUNTER_SYMBOL) FLASH_OFFS_COUNT };
extern const struct counter_name flash_off_names[FLASH_OFFS_COUNT];

struct flash_health {
	_Atomic uint32_t off; /* enum flash_off; the first one stays */
};

static inline enum flash_off
flash_health_off(const struct flash_health *h)
{
	return atomic_load_explicit(&h->off, memory_order_relaxed);
}

/* Of one thread's transfers. */
struct flash_ends {
	uint32_t row;           /* that failed, one after the other */
	uint32_t ended, failed; /* of late */
};

void flash_health_ended(struct flash_health *h, struct flash_ends *e, bool was_write,
			int32_t error);
/* The oldest transfer is so old. */
void flash_health_waited(struct flash_health *h, uint64_t ns);

/* ---- shards ---- */

/* A candidate that is there could not be read. The third one of a segment takes the segment's
 * entries along. */
void flash_shard_unreadable(struct flash_shard *s, const struct flash_candidate *at);

void flash_shard_turn_off(struct flash_shard *s);

#endif

/*
 * heartbeat.h - readings of the clocks while the cache served, written ten times a second into
 * the memory that outlives the process.
 *
 * A successor continues the store's clock from the last heartbeat and derives from it how long the
 * cache was away (keep_gap.h). Both would be wrong if the clocks were read far apart; in that case
 * they are read again.
 *
 * Shape:  two slots, written alternately with the counter last, so that one slot is complete at
 *         any time.
 * Units:  ns. boot_ns: CLOCK_BOOTTIME; wall_ns: since 1970; store_ns: on the store's clock.
 * Thread: one thread writes. A reader that reads before that thread has ended may get a beat of any
 *         age.
 * Errors: if the clocks cannot be read at one moment there is no beat.
 * Bounds: BEAT_TRIES_MAX readings of the clocks.
 */
#ifndef CLOCKOO_HEARTBEAT_H
#define CLOCKOO_HEARTBEAT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define BEAT_TRIES_MAX 8u
#define BEAT_APART_NS  1000000u /* a reading that took longer is torn */

struct beat {
	uint64_t boot_ns, wall_ns, store_ns;
	uint64_t served_boot_ns; /* when all cores were last known to serve */
};

struct heartbeat {
	struct beat_slot {
		struct beat beat;
		_Atomic uint64_t count; /* 0: the slot was never written */
	} slots[2];
};

struct clocks {
	uint64_t (*boot_ns)(void *arg);
	uint64_t (*wall_ns)(void *arg);
	uint64_t (*store_ns)(void *arg);
	void *arg;
};

/* Reads the three clocks at one moment; served_boot_ns of *beat stays. False: that was not
 * possible. */
bool beat_read_clocks(struct beat *beat, const struct clocks *clocks);

void heartbeat_write(struct heartbeat *h, const struct beat *beat);
/* Returns the last complete beat in *beat. False if there is none. */
bool heartbeat_last(const struct heartbeat *h, struct beat *beat);

#endif

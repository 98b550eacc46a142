/*
 * heartbeat.h - how the clocks stood while the cache served: written ten times a second into the
 * memory that outlives the process.
 *
 * A successor's store clock goes on from here, and here it learns how long the cache was away
 * (keep_gap.h). A pair of clocks read far apart would make either wrong, so it is read again.
 *
 * Shape:  two slots, written in turn, the counter last: one slot is whole at any time.
 * Units:  ns. boot_ns: CLOCK_BOOTTIME; wall_ns: since 1970; store_ns: on the store's clock.
 * Thread: one writes; whoever reads does so when that one has ended, or sees a beat of any age.
 * Errors: a pair that stays torn is no beat.
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
		_Atomic uint64_t count; /* 0: never written */
	} slots[2];
};

struct clocks {
	uint64_t (*boot_ns)(void *arg);
	uint64_t (*wall_ns)(void *arg);
	uint64_t (*store_ns)(void *arg);
	void *arg;
};

/* Reads the three clocks at one moment; *beat keeps served_boot_ns. False: they stayed torn. */
bool beat_read_clocks(struct beat *beat, const struct clocks *clocks);

void heartbeat_write(struct heartbeat *h, const struct beat *beat);
/* The last whole beat. False: there is none. */
bool heartbeat_last(const struct heartbeat *h, struct beat *beat);

#endif

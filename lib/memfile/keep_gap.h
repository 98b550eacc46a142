/*
 * keep_gap.h - decides whether a cache that was away for a while may continue, and computes its
 * clock.
 *
 * Clients' invalidations during the gap are lost, so items are kept only over a short gap. Two
 * clocks measure the time since the cache last served: the one that counts from the machine's
 * start, and the wall clock. If they disagree, the wall clock was set, and items whose expiry is a
 * date would live too long or too short.
 *
 * Shape:  a pure function of the last heartbeat and of now.
 * Units:  ns; keep_for_s in seconds.
 * Thread: any.
 * Errors: if the cache is not kept, the verdict is the reason, with one line for the operator.
 */
#ifndef CLOCKOO_KEEP_GAP_H
#define CLOCKOO_KEEP_GAP_H

#include "config/config.h"
#include "heartbeat.h"

#define GAP_STEP_NS 2000000000ll /* if the clocks differ by more, the wall clock was set */
/* No store's clock gets as high (30 years): it has 32 bits of seconds. */
#define GAP_CLOCK_END_NS (1000000000ull * 1000000000u)
#define GAP_WORDS        128u
#define BOOT_ID_BYTES    40u /* /proc/sys/kernel/random/boot_id and its zero */

enum gap_verdict {
	GAP_KEEP,
	GAP_NEVER,    /* memory.keep_for forbids it */
	GAP_UNSERVED, /* no process has ever served with this memory */
	GAP_REBOOTED,
	GAP_BACKWARD, /* the last heartbeat is in the future, by the clock that is never set */
	GAP_STEPPED,  /* the wall clock was set */
	GAP_TOO_LONG,
	GAP_DAMAGED, /* values that no process wrote */
};

struct gap_now {
	uint64_t boot_ns, wall_ns;
	char boot_id[BOOT_ID_BYTES];
};

struct gap {
	enum gap_verdict verdict;
	uint64_t away_ns;      /* since the cache last served */
	uint64_t store_ns;     /* the store's clock now; for GAP_KEEP only */
	char words[GAP_WORDS]; /* why the cache is not kept; else empty */
};

/* Judges the gap. keep_for_s: KEEP_FOR_NEVER, KEEP_FOR_ALWAYS or seconds. boot_id: that of the
 * machine when the cache last served. */
void gap_judge(struct gap *gap, const struct heartbeat *last, const char *boot_id,
	       const struct gap_now *now, uint32_t keep_for_s);
/* Judges as gap_judge does, for items saved to a disk with the clocks of their last service. They
 * may be from before a reboot, or from another machine; then only the wall clock shows the gap. */
void gap_judge_saved(struct gap *gap, const struct beat *last, const char *boot_id,
		     const struct gap_now *now, uint32_t keep_for_s);
/* Adds later_ns, a further time without service, to a gap of GAP_KEEP: updates away_ns and the
 * verdict. */
void gap_judge_later(struct gap *gap, uint64_t later_ns, uint32_t keep_for_s);

#endif

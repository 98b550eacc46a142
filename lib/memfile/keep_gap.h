/*
 * keep_gap.h - may a cache go on that was away for a while, and how does its clock stand?
 *
 * Clients' invalidations of that time are lost, so only a short gap is kept. The time since it last
 * served is taken by the clock that counts from the machine's start, and by the wall clock: where
 * they do not agree, the wall clock was set, and items that expire by it would live too long or not
 * long enough.
 *
 * Shape:  a pure function of the last heartbeat and of now.
 * Units:  ns; keep_for_s in seconds.
 * Thread: any.
 * Errors: what is not kept is a reason, and one line for the operator.
 */
#ifndef CLOCKOO_KEEP_GAP_H
#define CLOCKOO_KEEP_GAP_H

#include "config/config.h"
#include "heartbeat.h"

#define GAP_STEP_NS 2000000000ll /* clocks that differ by more: the wall clock was set */
/* No store runs so long: 30 years of a clock of 32 bits of seconds. */
#define GAP_CLOCK_END_NS (1000000000ull * 1000000000u)
#define GAP_WORDS        128u
#define BOOT_ID_BYTES    40u /* /proc/sys/kernel/random/boot_id and its zero */

enum gap_verdict {
	GAP_KEEP,
	GAP_NEVER,    /* memory.keep_for says so */
	GAP_UNSERVED, /* no process has ever served from it */
	GAP_REBOOTED,
	GAP_BACKWARD, /* the last heartbeat is not past, by the clock that is never set */
	GAP_STEPPED,  /* the wall clock moved */
	GAP_TOO_LONG,
	GAP_DAMAGED, /* figures that no process wrote */
};

struct gap_now {
	uint64_t boot_ns, wall_ns;
	char boot_id[BOOT_ID_BYTES];
};

struct gap {
	enum gap_verdict verdict;
	uint64_t away_ns;      /* since it last served */
	uint64_t store_ns;     /* on the store's clock, now; of GAP_KEEP */
	char words[GAP_WORDS]; /* why it is not kept; else empty */
};

/* keep_for_s: KEEP_FOR_NEVER, KEEP_FOR_ALWAYS or a number. boot_id: of the machine then. */
void gap_judge(struct gap *gap, const struct heartbeat *last, const char *boot_id,
	       const struct gap_now *now, uint32_t keep_for_s);
/* The same for items that were saved to a disk, with the clocks of their last service: they may
 * come from before a reboot, or from another machine, where only the wall clock tells the gap. */
void gap_judge_saved(struct gap *gap, const struct beat *last, const char *boot_id,
		     const struct gap_now *now, uint32_t keep_for_s);
/* A gap of GAP_KEEP, when so much more time has passed without service: away_ns, and the verdict.
 */
void gap_judge_later(struct gap *gap, uint64_t later_ns, uint32_t keep_for_s);

#endif

/*
 * mutant.h - the protocol, broken on purpose, one rule at a time; and gaps between its steps.
 *
 * A concurrency test counts only if it fails when the protocol is broken. tests/stress
 * compiles the store again with STORE_MUTANT set to one of these and passes only if it sees the
 * harm. With STORE_GAPS the steps of the unbroken protocol are parted by calls to the test, which
 * lets another thread run in between. Without them all of it is constant and costs nothing.
 */
#ifndef CLOCKOO_MUTANT_H
#define CLOCKOO_MUTANT_H

#include <stdbool.h>
#include <stdint.h>

enum mutant {
	MUTANT_NONE,
	/* A miss is believed although a writer may have moved the key meanwhile. */
	MUTANT_NO_VERSION,
	/* Retired memory is reused at once, under the eyes of those who still read it. */
	MUTANT_NO_QUIESCENCE,
	/* A move clears the old slot before it fills the new one: the key is nowhere between. */
	MUTANT_CLEAR_FIRST,
	/* A path is run from its full end: what was lifted out waits in hand for the next place. */
	MUTANT_FORWARDS,
	/* The primary bucket is locked first, whichever address it has. */
	MUTANT_LOCK_ORDER,
	/* A version made from an old one replaces whatever is there by now. */
	MUTANT_LOST_UPDATE,
	/* An item that goes leaves its cas to whoever comes next under its key. */
	MUTANT_LOW_FLOOR,
	/* The flush generation is read once to judge the old version, and again for the new one. */
	MUTANT_GENERATION_REREAD,
	/* What was seen early in a batch is taken for what is there at its end. */
	MUTANT_STALE_PROBE,
	/* An item that moves to another page takes the place of whatever its key has by now. */
	MUTANT_STALE_RESCUE,
	/* A page that was emptied is used again at once, while others still read there. */
	MUTANT_EARLY_PAGE,
	/* A mark is read, and then written: two readers may both find it unset. */
	MUTANT_TORN_TOKEN,
	/* A version made from an old one copies its token, and the old one's can still be won. */
	MUTANT_OPEN_TOKEN,
	/* A number that was not there is stored over whatever is by now. */
	MUTANT_BLIND_CREATE,
	/* An item goes to its alternate bucket, and its primary bucket does not say so. */
	MUTANT_NO_OVERFLOW,
	/* A resize clears a bucket before it says that the bucket's keys have others now. */
	MUTANT_CLEAR_BEFORE_STEP,
	/* A miss is believed although the index was resized while the lookup was under way. */
	MUTANT_STALE_MISS,
	/* A writer that waited for its buckets does not ask whether they are still the key's. */
	MUTANT_STALE_BUCKETS,
	/* A new version of an item spoils its bucket's plan, and a spoiled plan forgets it. */
	MUTANT_SPOILED_PLAN,
	/* A primary bucket forgets even those that were marked lately. */
	MUTANT_CLEAR_FRESH,
	/* A search works out where a slot leads, and then reads anew what lies there. */
	MUTANT_TAG_REREAD,
	/* A key that may be in its alternate bucket is put into its primary bucket, with nobody
	   looking there. */
	MUTANT_PRIMARY_ONLY,
	/* All cores have turned, so a retired value is used again, though somebody is still sent
	   it. */
	MUTANT_NO_PINS,
	/* A page something on which is pinned goes back to its class as if all of it were free. */
	MUTANT_PAGE_FREE,
	/* A flush takes the next number, though there may be items that have it. */
	MUTANT_EARLY_GENERATION,
	/* The walk frees numbers of flushes that came while it was under way. */
	MUTANT_SWEEP_OVERRUN,
	/* A new version does not take over that its key is in use. */
	MUTANT_LOST_CLOCK_BIT,
};

#ifndef STORE_MUTANT
#define STORE_MUTANT MUTANT_NONE
#endif

#define MUTANT(name, MUTANT_NAME)                                                                  \
	static inline bool mutant_##name(void)                                                     \
	{                                                                                          \
		return STORE_MUTANT == MUTANT_NAME;                                                \
	}
MUTANT(no_version, MUTANT_NO_VERSION)
MUTANT(no_quiescence, MUTANT_NO_QUIESCENCE)
MUTANT(clear_first, MUTANT_CLEAR_FIRST)
MUTANT(forwards, MUTANT_FORWARDS)
MUTANT(lock_order, MUTANT_LOCK_ORDER)
MUTANT(lost_update, MUTANT_LOST_UPDATE)
MUTANT(low_floor, MUTANT_LOW_FLOOR)
MUTANT(generation_reread, MUTANT_GENERATION_REREAD)
MUTANT(stale_probe, MUTANT_STALE_PROBE)
MUTANT(stale_rescue, MUTANT_STALE_RESCUE)
MUTANT(early_page, MUTANT_EARLY_PAGE)
MUTANT(torn_token, MUTANT_TORN_TOKEN)
MUTANT(open_token, MUTANT_OPEN_TOKEN)
MUTANT(blind_create, MUTANT_BLIND_CREATE)
MUTANT(no_overflow, MUTANT_NO_OVERFLOW)
MUTANT(clear_before_step, MUTANT_CLEAR_BEFORE_STEP)
MUTANT(stale_miss, MUTANT_STALE_MISS)
MUTANT(stale_buckets, MUTANT_STALE_BUCKETS)
MUTANT(spoiled_plan, MUTANT_SPOILED_PLAN)
MUTANT(clear_fresh, MUTANT_CLEAR_FRESH)
MUTANT(tag_reread, MUTANT_TAG_REREAD)
MUTANT(primary_only, MUTANT_PRIMARY_ONLY)
MUTANT(no_pins, MUTANT_NO_PINS)
MUTANT(page_free, MUTANT_PAGE_FREE)
MUTANT(early_generation, MUTANT_EARLY_GENERATION)
MUTANT(sweep_overrun, MUTANT_SWEEP_OVERRUN)
MUTANT(lost_clock_bit, MUTANT_LOST_CLOCK_BIT)
#undef MUTANT

#ifdef STORE_GAPS
/* The test's own. */
void stress_gap(void);
#endif

/* Others may come in here: a test makes sure that they do. */
static inline void
protocol_gap(void)
{
#ifdef STORE_GAPS
	stress_gap();
#endif
}

/* That moment is a few instructions long; stretched, a short run meets it for certain. */
static inline void
mutant_linger(void)
{
	for (uint32_t i = 0; i < 64; i++) {
		__builtin_ia32_pause();
		protocol_gap();
	}
}

#endif

/*
 * mutant.h - the protocol, broken on purpose, one rule at a time; and gaps between its steps.
 *
 * A concurrency test counts only if it fails when the protocol is broken. tests/stress
 * compiles the store again with one of these switches and passes only if it sees the harm.
 * With STORE_GAPS the steps of the unbroken protocol are parted by calls to the test, which
 * lets another thread run in between. Without a switch all of it is constant and costs nothing.
 */
#ifndef CLOCKOO_MUTANT_H
#define CLOCKOO_MUTANT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef STORE_MUTANT_NO_VERSION
#define MUTANT_NO_VERSION true
#else
#define MUTANT_NO_VERSION false
#endif

#ifdef STORE_MUTANT_NO_QUIESCENCE
#define MUTANT_NO_QUIESCENCE true
#else
#define MUTANT_NO_QUIESCENCE false
#endif

#ifdef STORE_MUTANT_CLEAR_FIRST
#define MUTANT_CLEAR_FIRST true
#else
#define MUTANT_CLEAR_FIRST false
#endif

#ifdef STORE_MUTANT_FORWARDS
#define MUTANT_FORWARDS true
#else
#define MUTANT_FORWARDS false
#endif

#ifdef STORE_MUTANT_LOCK_ORDER
#define MUTANT_LOCK_ORDER true
#else
#define MUTANT_LOCK_ORDER false
#endif

#ifdef STORE_MUTANT_LOST_UPDATE
#define MUTANT_LOST_UPDATE true
#else
#define MUTANT_LOST_UPDATE false
#endif

#ifdef STORE_MUTANT_LOW_FLOOR
#define MUTANT_LOW_FLOOR true
#else
#define MUTANT_LOW_FLOOR false
#endif

#ifdef STORE_MUTANT_TWO_LOOKS
#define MUTANT_TWO_LOOKS true
#else
#define MUTANT_TWO_LOOKS false
#endif

#ifdef STORE_MUTANT_STALE_PROBE
#define MUTANT_STALE_PROBE true
#else
#define MUTANT_STALE_PROBE false
#endif

#ifdef STORE_MUTANT_STALE_RESCUE
#define MUTANT_STALE_RESCUE true
#else
#define MUTANT_STALE_RESCUE false
#endif

#ifdef STORE_MUTANT_EARLY_PAGE
#define MUTANT_EARLY_PAGE true
#else
#define MUTANT_EARLY_PAGE false
#endif

#ifdef STORE_MUTANT_TORN_TOKEN
#define MUTANT_TORN_TOKEN true
#else
#define MUTANT_TORN_TOKEN false
#endif

#ifdef STORE_MUTANT_OPEN_TOKEN
#define MUTANT_OPEN_TOKEN true
#else
#define MUTANT_OPEN_TOKEN false
#endif

#ifdef STORE_MUTANT_BLIND_CREATE
#define MUTANT_BLIND_CREATE true
#else
#define MUTANT_BLIND_CREATE false
#endif

#ifdef STORE_MUTANT_NO_OVERFLOW
#define MUTANT_NO_OVERFLOW true
#else
#define MUTANT_NO_OVERFLOW false
#endif

#ifdef STORE_MUTANT_LEAVE_FIRST
#define MUTANT_LEAVE_FIRST true
#else
#define MUTANT_LEAVE_FIRST false
#endif

#ifdef STORE_MUTANT_OLD_MISS
#define MUTANT_OLD_MISS true
#else
#define MUTANT_OLD_MISS false
#endif

#ifdef STORE_MUTANT_OLD_PAIR
#define MUTANT_OLD_PAIR true
#else
#define MUTANT_OLD_PAIR false
#endif

#ifdef STORE_MUTANT_SPOILED_PLAN
#define MUTANT_SPOILED_PLAN true
#else
#define MUTANT_SPOILED_PLAN false
#endif

#ifdef STORE_MUTANT_HOME_ALONE
#define MUTANT_HOME_ALONE true
#else
#define MUTANT_HOME_ALONE false
#endif

#ifdef STORE_MUTANT_RENEW_ALL
#define MUTANT_RENEW_ALL true
#else
#define MUTANT_RENEW_ALL false
#endif

#ifdef STORE_MUTANT_TWO_TAGS
#define MUTANT_TWO_TAGS true
#else
#define MUTANT_TWO_TAGS false
#endif

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

/* A miss is believed although a writer may have moved the key meanwhile. */
static inline bool
mutant_no_version(void)
{
	return MUTANT_NO_VERSION;
}

/* Retired memory is reused at once, under the eyes of those who still read it. */
static inline bool
mutant_no_quiescence(void)
{
	return MUTANT_NO_QUIESCENCE;
}

/* A move clears the old slot before it fills the new one: for a moment the key is nowhere. */
static inline bool
mutant_clear_first(void)
{
	return MUTANT_CLEAR_FIRST;
}

/* A path is run from its full end: what was lifted out waits in hand for the next place. */
static inline bool
mutant_forwards(void)
{
	return MUTANT_FORWARDS;
}

/* The home bucket is locked first, whichever address it has. */
static inline bool
mutant_lock_order(void)
{
	return MUTANT_LOCK_ORDER;
}

/* A version made from an old one replaces whatever is there by now. */
static inline bool
mutant_lost_update(void)
{
	return MUTANT_LOST_UPDATE;
}

/* An item that goes leaves its cas to whoever comes next under its key. */
static inline bool
mutant_low_floor(void)
{
	return MUTANT_LOW_FLOOR;
}

/* The flush generation is read once to judge the old version, and again for the new one. */
static inline bool
mutant_two_looks(void)
{
	return MUTANT_TWO_LOOKS;
}

/* What was seen early in a batch is taken for what is there at its end. */
static inline bool
mutant_stale_probe(void)
{
	return MUTANT_STALE_PROBE;
}

/* An item that moves to another page takes the place of whatever its key has by now. */
static inline bool
mutant_stale_rescue(void)
{
	return MUTANT_STALE_RESCUE;
}

/* A page that was emptied is used again at once, under the eyes of those who still read there. */
static inline bool
mutant_early_page(void)
{
	return MUTANT_EARLY_PAGE;
}

/* A mark is read, and then written: two readers may both find it unset. */
static inline bool
mutant_torn_token(void)
{
	return MUTANT_TORN_TOKEN;
}

/* A version made from an old one copies its token, and the old one's can still be won. */
static inline bool
mutant_open_token(void)
{
	return MUTANT_OPEN_TOKEN;
}

/* A number that was not there is stored over whatever is by now. */
static inline bool
mutant_blind_create(void)
{
	return MUTANT_BLIND_CREATE;
}

/* An item goes to its away bucket, and its home does not say so. */
static inline bool
mutant_no_overflow(void)
{
	return MUTANT_NO_OVERFLOW;
}

/* A resize clears a bucket before it says that the bucket's keys have others now. */
static inline bool
mutant_leave_first(void)
{
	return MUTANT_LEAVE_FIRST;
}

/* A miss is believed although the index was resized while the lookup was under way. */
static inline bool
mutant_old_miss(void)
{
	return MUTANT_OLD_MISS;
}

/* A writer that had to wait for its buckets does not ask whether they are still the key's. */
static inline bool
mutant_old_pair(void)
{
	return MUTANT_OLD_PAIR;
}

/* A new version of an item spoils the plan for its bucket, and a spoiled plan forgets it. */
static inline bool
mutant_spoiled_plan(void)
{
	return MUTANT_SPOILED_PLAN;
}

/* A home forgets even those that were marked lately. */
static inline bool
mutant_renew_all(void)
{
	return MUTANT_RENEW_ALL;
}

/* A search works out where a slot leads, and then reads anew what lies there. */
static inline bool
mutant_two_tags(void)
{
	return MUTANT_TWO_TAGS;
}

/* A key that may be in its other bucket is put at home, with nobody looking there. */
static inline bool
mutant_home_alone(void)
{
	return MUTANT_HOME_ALONE;
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

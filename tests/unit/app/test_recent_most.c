/*
 * The figure of a front's copies. Goal: a line a second shows the same figure while the load is
 * the same, for any lifetime of copies, and a smaller one soon after the load is smaller.
 * Method: copies that grow to a number and end together, read once a second.
 */
#include "monitor/recent_most.h"
#include "support/test.h"

#define MS     1000u
#define LINES  200u
#define COPIES 100000u
#define LATE   120u /* line from which on half is asked for */

/* Copies of a life of ttl_ms that are there at a moment: all keys are asked for within a fifth of a
 * life. */
static uint64_t
copies_at(uint64_t at_ms, uint64_t ttl_ms, uint64_t keys)
{
	const uint64_t period_us = ttl_ms * MS * 15 / 16, into_us = at_ms * MS % period_us;
	const uint64_t grown = keys * into_us * 5 / period_us;

	return grown < keys ? grown : keys;
}

TEST(what_ends_together_is_shown_by_its_most)
{
	static const uint64_t lives_ms[] = {100, 500, 1000, 2000, 5000};

	for (uint32_t k = 0; k < sizeof lives_ms / sizeof lives_ms[0]; k++) {
		struct recent_most r = {0};
		uint64_t least_seen = UINT64_MAX;

		for (uint32_t line = 0; line < LINES; line++) {
			const uint64_t keys = line < LATE ? COPIES : COPIES / 2;
			const uint64_t seen = copies_at(line * MS + 7, lives_ms[k], keys);
			const uint64_t shown = recent_most_of(&r, seen);

			if (line >= RECENT_FIGURES && line < LATE) {
				check(shown * 20 >= COPIES * 19);
				least_seen = seen < least_seen ? seen : least_seen;
			}
			if (line >= LATE + RECENT_FIGURES)
				check(shown <= COPIES / 2 && shown * 20 >= COPIES / 2 * 19);
		}
		/* The figure as it is falls below that. */
		check(least_seen * 2 < COPIES);
	}
}

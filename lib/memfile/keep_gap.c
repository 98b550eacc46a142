/*
 * keep_gap.c - the rules for gaps, in the order in which they apply.
 */
#include "keep_gap.h"

#include "base/time_units.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Returns now - then of two clocks that count to less than 2^63. */
static int64_t
difference(uint64_t now_ns, uint64_t then_ns)
{
	return (int64_t)(now_ns - then_ns);
}

static void __attribute__((format(printf, 3, 4)))
gap_refuse(struct gap *gap, enum gap_verdict verdict, const char *words, ...)
{
	va_list args;

	gap->verdict = verdict;
	va_start(args, words);
	vsnprintf(gap->words, sizeof gap->words, words, args);
	va_end(args);
}

/* True if the clocks of a beat are possible. Damage may leave impossible ones. */
static bool
is_sound(const struct beat *b)
{
	return b->store_ns < GAP_CLOCK_END_NS && b->served_boot_ns <= b->boot_ns &&
	       b->boot_ns <= INT64_MAX && b->wall_ns <= INT64_MAX;
}

static void
judge_length(struct gap *gap, uint32_t keep_for_s)
{
	if (keep_for_s != KEEP_FOR_ALWAYS && gap->away_ns > keep_for_s * 1000000000ull)
		gap_refuse(gap, GAP_TOO_LONG, "it has not served for %.1f s, memory.keep_for is %u",
			   (double)gap->away_ns / NS_PER_S, keep_for_s);
}

static void
judge_clocks(struct gap *gap, const struct beat *b, const struct gap_now *now, uint32_t keep_for_s)
{
	const int64_t by_boot = difference(now->boot_ns, b->boot_ns);
	const int64_t by_wall = difference(now->wall_ns, b->wall_ns);
	const int64_t stepped = by_wall - by_boot;

	if (by_boot < 0) {
		gap_refuse(gap, GAP_BACKWARD, "its last heartbeat is %.0f s in the future",
			   -(double)by_boot / NS_PER_S);
		return;
	}
	if (stepped > GAP_STEP_NS || stepped < -GAP_STEP_NS) {
		gap_refuse(gap, GAP_STEPPED, "the wall clock moved by %+.0f s while it was down",
			   (double)stepped / NS_PER_S);
		return;
	}
	gap->away_ns = (uint64_t)(by_boot > by_wall ? by_boot : by_wall) +
		       (b->boot_ns - b->served_boot_ns);
	gap->store_ns = b->store_ns + (uint64_t)by_boot;
	judge_length(gap, keep_for_s);
}

void
gap_judge_later(struct gap *gap, uint64_t later_ns, uint32_t keep_for_s)
{
	gap->away_ns += later_ns;
	judge_length(gap, keep_for_s);
}

static void
judge_wall_clock(struct gap *gap, const struct beat *b, const struct gap_now *now,
		 uint32_t keep_for_s)
{
	const int64_t by_wall = difference(now->wall_ns, b->wall_ns);

	if (by_wall < 0) {
		gap_refuse(
			gap, GAP_BACKWARD,
			"it last served %.0f s in the future; is the clock set before the start?",
			-(double)by_wall / NS_PER_S);
		return;
	}
	gap->away_ns = (uint64_t)by_wall + (b->boot_ns - b->served_boot_ns);
	gap->store_ns = b->store_ns + (uint64_t)by_wall;
	judge_length(gap, keep_for_s);
}

void
gap_judge_saved(struct gap *gap, const struct beat *last, const char *boot_id,
		const struct gap_now *now, uint32_t keep_for_s)
{
	memset(gap, 0, sizeof *gap);
	if (keep_for_s == KEEP_FOR_NEVER)
		gap_refuse(gap, GAP_NEVER, "memory.keep_for is never");
	else if (!is_sound(last))
		gap_refuse(gap, GAP_DAMAGED, "its clocks are damaged");
	else if (strncmp(boot_id, now->boot_id, BOOT_ID_BYTES) == 0)
		judge_clocks(gap, last, now, keep_for_s);
	else
		judge_wall_clock(gap, last, now, keep_for_s);
}

void
gap_judge(struct gap *gap, const struct heartbeat *last, const char *boot_id,
	  const struct gap_now *now, uint32_t keep_for_s)
{
	struct beat b;

	memset(gap, 0, sizeof *gap);
	if (keep_for_s == KEEP_FOR_NEVER)
		gap_refuse(gap, GAP_NEVER, "memory.keep_for is never");
	else if (!heartbeat_last(last, &b))
		gap_refuse(gap, GAP_UNSERVED, "it has never served");
	else if (strncmp(boot_id, now->boot_id, BOOT_ID_BYTES) != 0)
		gap_refuse(gap, GAP_REBOOTED, "the machine has been started since");
	else if (!is_sound(&b))
		gap_refuse(gap, GAP_DAMAGED, "its heartbeat is damaged");
	else
		judge_clocks(gap, &b, now, keep_for_s);
}

/*
 * The SYN history. Goal: a SYN that is retransmitted in its time is known, and only then; a line
 * drops its oldest entry first. Method: tables, and a flood of as many as the header promises.
 */
#include "base/hash.h"
#include "tcp/syn_history.h"

#include "support/test.h"

#include <stdlib.h>

#define STEP_NS (1ull << SYN_STEP_SHIFT)
#define START   (1000 * STEP_NS + 5)

static struct syn_history
fresh(struct region *region, uint32_t lines)
{
	struct syn_history m;

	region->size = syn_history_bytes(lines);
	region->base = calloc(1, region->size);
	region->used = 0;
	syn_history_create(&m, region, lines);
	return m;
}

/* Returns a hash of line 0; they differ in the tag. */
static uint64_t
in_line_0(uint64_t n)
{
	return (n + 1) << 41;
}

TEST(only_what_comes_again_in_its_time_is_known)
{
	static const struct {
		uint64_t steps;
		bool known;
	} rows[] = {
		{0, false},   {SYN_RETRY_MIN - 1, false}, {SYN_RETRY_MIN, true},
		{8, true},    {SYN_RETRY_MAX, true},      {SYN_RETRY_MAX + 1, false},
		{255, false},
	};

	for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct region region = {0};
		struct syn_history m = fresh(&region, 1);

		check(!syn_seen_before(&m, in_line_0(7), START));
		check(!syn_seen_before(&m, in_line_0(8), START + 4 * STEP_NS));
		check_eq(syn_seen_before(&m, in_line_0(7), START + rows[i].steps * STEP_NS),
			 rows[i].known);
		free(region.base);
	}
}

TEST(one_that_comes_too_late_is_noted_anew)
{
	const uint64_t late = START + (SYN_RETRY_MAX + 1) * STEP_NS;
	struct region region = {0};
	struct syn_history m = fresh(&region, 1);

	check(!syn_seen_before(&m, in_line_0(7), START));
	check(!syn_seen_before(&m, in_line_0(7), late));
	check(syn_seen_before(&m, in_line_0(7), late + SYN_RETRY_MIN * STEP_NS));
	free(region.base);
}

TEST(what_comes_again_too_soon_is_known_later)
{
	struct region region = {0};
	struct syn_history m = fresh(&region, 1);

	check(!syn_seen_before(&m, in_line_0(7), START));
	for (uint32_t i = 0; i < SYN_LINE_ENTRIES + 1; i++)
		check(!syn_seen_before(&m, in_line_0(7), START + STEP_NS));
	check(syn_seen_before(&m, in_line_0(7), START + SYN_RETRY_MIN * STEP_NS));
	free(region.base);
}

TEST(a_line_forgets_its_oldest_first)
{
	const uint64_t again = START + 8 * STEP_NS;
	struct region region = {0};
	struct syn_history m = fresh(&region, 1);

	for (uint64_t n = 0; n <= SYN_LINE_ENTRIES; n++)
		check(!syn_seen_before(&m, in_line_0(n), START));
	for (uint64_t n = 1; n <= SYN_LINE_ENTRIES; n++)
		check(syn_seen_before(&m, in_line_0(n), again));
	check(!syn_seen_before(&m, in_line_0(0), again));
	free(region.base);
}

/* As many SYNs as may be recorded arrive in a second; every thousandth is
 * sent again a second later. */
TEST(its_share_leaves_room_for_a_second)
{
	const uint32_t every = 1000;
	const uint32_t rate = syn_history_budget(SYN_HISTORY_LINES, 1000000000);
	struct region region = {0};
	struct syn_history m = fresh(&region, SYN_HISTORY_LINES);
	uint32_t known = 0, false_known = 0;

	for (uint64_t n = 0; n < 2 * rate; n++) {
		const uint64_t now_ns = START + n * 1000000000 / rate;

		false_known += syn_seen_before(&m, hash_bytes(&n, sizeof n, 1), now_ns);
		if (n >= rate && n % every == 0) {
			const uint64_t before = n - rate;

			known += syn_seen_before(&m, hash_bytes(&before, sizeof before, 1), now_ns);
		}
	}
	check(rate > 300000);
	check_eq(false_known, 0);
	check(known * 100 >= rate / every * 90);
	free(region.base);
}

/*
 * Tests of the bad link of tools/bench loss. Goal: the configured share of frames is lost,
 * doubled, late and spoiled, by seed; nothing else happens to a frame, and none leaves before its
 * time. Method: numbered frames through a line on a simulated clock.
 */
#include "support/test.h"

#include "base/bytes.h"
#include "impair_line.h"
#include "talk_value.h"

#define FRAMES   20000u
#define STEP_NS  1000u
#define FRAME_AT 20u /* offset of a frame's number */
#define LEN      64u

struct seen {
	uint32_t times[FRAMES], order_broken, spoiled, early, last;
	uint64_t hash; /* of the numbers in the order in which they left */
};

static uint32_t
number_of(const struct line_frame *f)
{
	return load_u32(f->bytes + FRAME_AT);
}

static void
put(struct line *line, uint32_t number, uint16_t type, uint64_t now_ns)
{
	struct line_frame *f = line_slot(line, 0);

	memset(f->bytes, 0, LEN);
	f->bytes[12] = (uint8_t)(type >> 8);
	f->bytes[13] = (uint8_t)type;
	memcpy(f->bytes + FRAME_AT, &number, sizeof number);
	f->len = LEN;
	line_take(line, 1, now_ns);
}

static void
look(struct line *line, struct seen *seen, uint64_t now_ns, uint64_t delay_ns)
{
	const struct line_frame *f;

	while ((f = line_due(line, now_ns)) != NULL) {
		const uint32_t n = number_of(f);
		uint32_t bits = 0;

		check_eq(f->len, LEN);
		for (uint32_t i = 14; i < LEN; i++)
			if (i - FRAME_AT >= sizeof n)
				bits += (uint32_t)__builtin_popcount(f->bytes[i]);
		seen->spoiled += bits != 0;
		if (n < FRAMES) {
			seen->times[n]++;
			seen->early += now_ns < n * STEP_NS + delay_ns;
			seen->order_broken += n < seen->last;
			seen->last = n;
			seen->hash = seen->hash * 31 + n;
		}
		line_sent(line);
	}
}

static struct seen
pass(const struct impairment *how, uint64_t seed, uint16_t type, struct line_counts *counts)
{
	static struct line line;
	struct seen seen = {0};
	uint64_t now_ns = 0;

	line_create(&line, how, seed);
	for (uint32_t i = 0; i < FRAMES; i++, now_ns += STEP_NS) {
		put(&line, i, type, now_ns);
		look(&line, &seen, now_ns, how->delay_ns);
	}
	while (line_next_ns(&line) != UINT64_MAX) {
		now_ns = line_next_ns(&line);
		look(&line, &seen, now_ns, how->delay_ns);
	}
	*counts = line.counts;
	line_destroy(&line);
	return seen;
}

static uint32_t
how_many(const struct seen *seen, uint32_t times)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < FRAMES; i++)
		n += seen->times[i] == times;
	return n;
}

/* Checks that got is within a tenth of want, which is some four deviations at these counts. */
static void
check_near(uint64_t got, uint64_t want)
{
	check(got * 10 >= want * 9);
	check(got * 10 <= want * 11);
}

TEST(a_good_link_changes_nothing)
{
	const struct impairment how = {.delay_ns = 7 * STEP_NS};
	struct line_counts counts;
	const struct seen seen = pass(&how, 1, 0x0800, &counts);

	check_eq(how_many(&seen, 1), FRAMES);
	check_eq(seen.order_broken + seen.spoiled + seen.early, 0);
	check_eq(counts.out, FRAMES);
}

TEST(each_fault_comes_as_often_as_asked)
{
	const struct impairment lose = {.lose = CHANCE_ONE / 10},
				twice = {.twice = CHANCE_ONE / 10};
	const struct impairment late = {.late = CHANCE_ONE / 10, .late_ns = 50 * STEP_NS};
	const struct impairment spoil = {.spoil = CHANCE_ONE / 10};
	struct line_counts counts;
	struct seen seen;

	seen = pass(&lose, 1, 0x0800, &counts);
	check_near(how_many(&seen, 0), FRAMES / 10);
	check_eq(how_many(&seen, 0), counts.lost);
	check_eq(seen.order_broken, 0);
	seen = pass(&twice, 1, 0x0800, &counts);
	check_near(how_many(&seen, 2), FRAMES / 10);
	check_eq(how_many(&seen, 2), counts.twice);
	seen = pass(&late, 1, 0x0800, &counts);
	check_eq(how_many(&seen, 1), FRAMES);
	check_near(counts.late, FRAMES / 10);
	check_near(seen.order_broken, FRAMES / 10);
	seen = pass(&spoil, 1, 0x0800, &counts);
	check_near(counts.spoiled, FRAMES / 10);
	/* Some faults hit the number itself, 4 of 50 bytes, and do not show as other bits. */
	check_near(seen.spoiled, counts.spoiled * 46 / 50);
}

TEST(a_seed_has_one_fate_and_another_another)
{
	const struct impairment how = {
		.lose = CHANCE_ONE / 10, .late = CHANCE_ONE / 100, .late_ns = 5 * STEP_NS};
	struct line_counts counts;
	const uint64_t first = pass(&how, 1, 0x0800, &counts).hash;

	check_eq(pass(&how, 1, 0x0800, &counts).hash, first);
	check_ne(pass(&how, 2, 0x0800, &counts).hash, first);
}

TEST(what_is_not_ip_is_left_alone)
{
	const struct impairment how = {.lose = CHANCE_ONE, .spoil = CHANCE_ONE};
	struct line_counts counts;
	struct seen seen = pass(&how, 1, 0x0806, &counts);

	check_eq(how_many(&seen, 1), FRAMES);
	seen = pass(&how, 1, 0x86dd, &counts);
	check_eq(how_many(&seen, 0), FRAMES);
}

TEST(a_full_line_takes_no_more_and_too_many_late_are_counted)
{
	const struct impairment slow = {.delay_ns = UINT32_MAX};
	const struct impairment late = {.late = CHANCE_ONE, .late_ns = UINT32_MAX};
	static struct line line;

	line_create(&line, &slow, 1);
	for (uint32_t i = 0; i < LINE_SLOTS; i++) {
		check(line_room(&line) > 0);
		put(&line, i, 0x0800, 0);
	}
	check_eq(line_room(&line), 0);
	line_destroy(&line);
	line_create(&line, &late, 1);
	for (uint32_t i = 0; i < LATE_SLOTS + 3; i++)
		put(&line, i, 0x0800, 0);
	check_eq(line.counts.no_slot, 3);
	check_eq(line.counts.late, LATE_SLOTS);
	line_destroy(&line);
}

TEST(a_value_checks_in_any_pieces_and_shows_every_wrong_byte)
{
	static const uint32_t cuts[] = {1, 3, 7, 8, 9, 64, 4095, 4096, 4097};
	static uint8_t value[10000];
	const uint64_t seed = value_seed(7, 3);

	value_write(seed, 0, value, sizeof value);
	for (uint32_t c = 0; c < sizeof cuts / sizeof cuts[0]; c++)
		for (uint32_t at = 0; at < sizeof value; at += cuts[c]) {
			const uint32_t left = (uint32_t)sizeof value - at;

			check_eq(value_wrong(seed, at, value + at, left < cuts[c] ? left : cuts[c]),
				 0);
		}
	for (uint32_t at = 0; at < sizeof value; at += 997) {
		value[at] ^= 0x10;
		check_eq(value_wrong(seed, 0, value, sizeof value), 1);
		value[at] ^= 0x10;
	}
	/* Nearly every byte differs for another version, key or offset. */
	check(value_wrong(value_seed(7, 4), 0, value, sizeof value) > sizeof value * 98 / 100);
	check(value_wrong(value_seed(8, 3), 0, value, sizeof value) > sizeof value * 98 / 100);
	check(value_wrong(seed, 8, value, sizeof value) > sizeof value * 98 / 100);
}

/*
 * Times of turns. Goal: every length has its cell, cells follow each other without a gap, a
 * percentile is never below the exact one and at most a cell above it, and a long turn counts as
 * the host's if it would not have been long without the wait. Method: every border of a cell;
 * drawn lengths beside the sorted list; a table of waits.
 */
#include "support/test.h"
#include "base/turn_times.h"
#include "support/sorted.h"

#include <stdlib.h>

#define TURNS 20000u

static struct turn_times t;

static uint64_t
counted(enum turn_counter which)
{
	return counter_read(&t.counters[which]);
}

static void
read_cells(uint64_t cells[TURN_CELLS])
{
	for (uint32_t i = 0; i < TURN_CELLS; i++)
		cells[i] = counter_read(&t.cells[i]);
}

static void
cell_is(uint64_t ns, uint32_t cell)
{
	t = (struct turn_times){0};
	turn_times_add(&t, ns);
	for (uint32_t i = 0; i < TURN_CELLS; i++)
		check_eq(counter_read(&t.cells[i]), i == cell);
}

TEST(every_length_has_its_cell)
{
	uint64_t begin_ns = 0;

	for (uint32_t i = 0; i < TURN_CELLS; i++) {
		const uint64_t end_ns = turn_cell_end_ns(i);

		cell_is(begin_ns, i);
		cell_is(end_ns - 1, i);
		check(end_ns > begin_ns);
		check(end_ns - begin_ns <= 1024 || i == TURN_CELLS - 1 ||
		      end_ns - begin_ns <= begin_ns / 4);
		begin_ns = end_ns;
	}
	check(begin_ns == UINT64_MAX);
	check(turn_cell_end_ns(TURN_CELLS - 2) > 10000000);
}

TEST(a_percentile_is_the_exact_one_or_less_than_a_cell_above)
{
	static const uint32_t of_10000[] = {1, 5000, 9900, 9999, 10000};
	static uint64_t sorted[TURNS];
	uint64_t cells[TURN_CELLS], random = 1;

	t = (struct turn_times){0};
	for (uint32_t i = 0; i < TURNS; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		sorted[i] = (random >> 40) >> (random >> 33 & 15); /* up to 16.8 ms */
		turn_times_add(&t, sorted[i]);
	}
	sort_u64(sorted, TURNS);
	read_cells(cells);
	for (size_t i = 0; i < sizeof of_10000 / sizeof *of_10000; i++) {
		const uint64_t ns = sorted[(uint64_t)TURNS * of_10000[i] / 10000 - 1];
		const uint64_t us = turn_percentile_us(cells, counted(TURNS_MAX_NS), of_10000[i]);

		check(us >= ns / 1000);
		check(us <= (ns + (ns / 4 > 1024 ? ns / 4 : 1024) + 500) / 1000);
	}
	check_eq(turn_times_count(&t), TURNS);
	check_eq(counted(TURNS_MAX_NS), sorted[TURNS - 1]);
	check_eq(turn_percentile_us(cells, counted(TURNS_MAX_NS), 10000),
		 (sorted[TURNS - 1] + 500) / 1000);
}

/* In 10,000 turns one may be above the percentile, two may not. */
TEST(the_last_percentile_leaves_out_one_turn_in_ten_thousand)
{
	uint64_t cells[TURN_CELLS] = {[0] = 9999, [TURN_LINEAR_CELLS] = 1};

	check_eq(turn_percentile_us(cells, 0, 9999), 1);
	cells[0]--, cells[TURN_LINEAR_CELLS]++;
	check_eq(turn_percentile_us(cells, 70000, 9999), 70);
	check_eq(turn_percentile_us(cells, 0, 9999), 82);
	cells[0] = 1ull << 60; /* no product may overflow */
	check_eq(turn_percentile_us(cells, 70000, 9999), 1);
}

TEST(without_turns_all_is_zero)
{
	static const uint64_t cells[TURN_CELLS];

	check_eq(turn_percentile_us(cells, 0, 5000), 0);
	check_eq(turn_percentile_us(cells, 70000, 10000), 0);
}

TEST(a_wait_is_the_host_s_where_it_made_the_turn_too_long)
{
	static const struct {
		uint64_t ns, host_ns, over_50, over_100, host, counted_host_ns;
	} rows[] = {
		{0, 0, 0, 0, 0, 0},
		{50000, 50000, 0, 0, 0, 0},
		{50001, 7, 1, 0, 0, 7},
		{100000, 90000, 1, 0, 0, 90000},
		{100001, 0, 1, 1, 0, 0},
		{100001, 1, 1, 1, 1, 1},
		{300000, 199999, 1, 1, 0, 199999},
		{300000, 200000, 1, 1, 1, 200000},
		{300000, 900000, 1, 1, 1, 300000}, /* a part of the wait was before the turn */
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		t = (struct turn_times){.host_ns = rows[i].host_ns};
		turn_times_add(&t, rows[i].ns);
		check_eq(counted(TURNS_OVER_50US), rows[i].over_50);
		check_eq(counted(TURNS_OVER_100US), rows[i].over_100);
		check_eq(counted(TURNS_OVER_100US_HOST), rows[i].host);
		check_eq(counted(TURNS_HOST_NS), rows[i].counted_host_ns);
	}
}

/*
 * Cells of times. Goal: cells are adjacent, a time is reported with an error of 1/32 at most (16
 * ns below 512 ns), and a percentile is that of the sorted times, as its cell reports it. Method:
 * every edge of every cell; random times against a sorted list.
 */
#include "support/test.h"
#include "base/log_cells.h"
#include "support/sorted.h"

#include <stdlib.h>

TEST(cells_stand_edge_to_edge)
{
	for (uint32_t i = 0; i < LOG_CELLS; i++) {
		const uint64_t begin = log_cell_begin_ns(i), end = log_cell_begin_ns(i + 1);

		check(begin < end);
		check_eq(log_cell_of(begin), i);
		check_eq(log_cell_of(end - 1), i);
	}
	check_eq(log_cell_of(log_cell_begin_ns(LOG_CELLS)), LOG_CELLS - 1);
	check_eq(log_cell_of(UINT64_MAX), LOG_CELLS - 1);
	check(log_cell_begin_ns(LOG_CELLS) > 17000000000ull);
}

static uint64_t
rounded(uint64_t ns)
{
	uint64_t cells[LOG_CELLS] = {0};

	cells[log_cell_of(ns)] = 1;
	return log_cells_percentile_ns(cells, UINT64_MAX, 500000);
}

TEST(a_time_is_kept_within_a_thirty_second_part)
{
	for (uint32_t i = 0; i < LOG_CELLS - 1; i++) {
		const uint64_t edges[] = {log_cell_begin_ns(i), log_cell_begin_ns(i + 1) - 1};

		for (uint32_t k = 0; k < 2; k++) {
			const uint64_t t = rounded(edges[k]);
			const uint64_t error = t > edges[k] ? t - edges[k] : edges[k] - t;

			check(error <= (edges[k] < 512 ? 16 : edges[k] / 32 + 1));
		}
	}
}

TEST(percentiles_are_those_of_the_sorted_times)
{
	static const uint32_t parts[] = {500000, 900000, 990000, 999000, 999900, 1000000};
	static uint64_t times[20001];
	uint64_t seed = 1;

	for (uint32_t n = 1; n <= 20001; n += 2000) {
		uint64_t cells[LOG_CELLS] = {0};

		for (uint32_t i = 0; i < n; i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			times[i] = (seed >> 33) >> (seed >> 20) % 30;
			cells[log_cell_of(times[i])]++;
		}
		sort_u64(times, n);
		for (uint32_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
			const uint64_t rank = ((uint64_t)n * parts[k] + 999999) / 1000000;

			check_eq(log_cells_percentile_ns(cells, UINT64_MAX, parts[k]),
				 rounded(times[rank - 1]));
		}
	}
}

TEST(nothing_is_above_the_longest_and_of_nothing_is_nothing)
{
	uint64_t cells[LOG_CELLS] = {0};

	check_eq(log_cells_percentile_ns(cells, UINT64_MAX, 500000), 0);
	cells[log_cell_of(1050)] = 7;
	check_eq(log_cells_percentile_ns(cells, 1050, 999900), 1050);
	cells[log_cell_of(1050)] = UINT64_MAX / 4; /* no product overflows */
	cells[log_cell_of(5000)] = UINT64_MAX / 4;
	check_eq(log_cells_percentile_ns(cells, UINT64_MAX, 500000), rounded(1050));
	check_eq(log_cells_percentile_ns(cells, UINT64_MAX, 500010), rounded(5000));
}

/*
 * log_cells.c - the bounds of cells, and percentiles.
 */
#include "log_cells.h"

#include <assert.h>

#define MILLION 1000000ull

static_assert(LOG_LINEAR_CELLS == 2u << LOG_CELL_PARTS, "no gap, and no wider than a sixteenth");

uint64_t
log_cell_begin_ns(uint32_t cell)
{
	const uint32_t above = cell - LOG_LINEAR_CELLS;
	const uint32_t octave = above >> LOG_CELL_PARTS;
	const uint64_t part = above & ((1u << LOG_CELL_PARTS) - 1);

	if (cell < LOG_LINEAR_CELLS)
		return (uint64_t)cell << LOG_CELL_SHIFT;
	return ((1ull << LOG_CELL_PARTS) + part) << (octave + 1 + LOG_CELL_SHIFT);
}

uint64_t
log_cells_percentile_ns(const uint64_t cells[LOG_CELLS], uint64_t longest_ns, uint32_t of_million)
{
	uint64_t all = 0, so_far = 0, beyond;

	for (uint32_t i = 0; i < LOG_CELLS; i++)
		all += cells[i];
	/* The product is split in two, so that it does not overflow. */
	beyond = all / MILLION * (MILLION - of_million) +
		 all % MILLION * (MILLION - of_million) / MILLION;
	for (uint32_t i = 0; i < LOG_CELLS && all != 0; i++) {
		so_far += cells[i];
		if (so_far >= all - beyond && so_far != 0) {
			const uint64_t middle_ns =
				(log_cell_begin_ns(i) + log_cell_begin_ns(i + 1)) / 2;

			return middle_ns < longest_ns ? middle_ns : longest_ns;
		}
	}
	return 0;
}

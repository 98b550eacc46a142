/*
 * log_cells.h - times in cells whose width grows with the time: a log-linear histogram.
 *
 * Cells are 32 ns wide up to 1,024 ns, and sixteenths of powers of two above that; the last cell
 * has no end. A time is reported as the middle of its cell. The error is at most 1/32 of a time
 * from 512 ns on, and 16 ns below that.
 *
 * Shape:  cells are counters, or their sums.
 * Units:  ns; parts of a million.
 * Owner:  the caller.
 * Thread: pure functions.
 * Bounds: LOG_CELLS cells, up to 17 s.
 */
#ifndef CLOCKOO_LOG_CELLS_H
#define CLOCKOO_LOG_CELLS_H

#include <stdint.h>

#define LOG_CELL_SHIFT   5u /* 32 ns */
#define LOG_CELL_PARTS   4u /* a power of two has 2^4 cells */
#define LOG_LINEAR_CELLS 32u
#define LOG_OCTAVES      24u
#define LOG_CELLS        (LOG_LINEAR_CELLS + (LOG_OCTAVES << LOG_CELL_PARTS))

static inline uint32_t
log_cell_of(uint64_t ns)
{
	const uint64_t n = ns >> LOG_CELL_SHIFT;
	uint32_t power, cell;

	if (n < LOG_LINEAR_CELLS)
		return (uint32_t)n;
	power = 63u - (uint32_t)__builtin_clzll(n);
	cell = LOG_LINEAR_CELLS + ((power - LOG_CELL_PARTS - 1) << LOG_CELL_PARTS) +
	       (uint32_t)(n >> (power - LOG_CELL_PARTS) & ((1u << LOG_CELL_PARTS) - 1));
	return cell < LOG_CELLS ? cell : LOG_CELLS - 1;
}

/* Returns the time at which a cell begins; for LOG_CELLS, at which the last cell would end. */
uint64_t log_cell_begin_ns(uint32_t cell);

/* Returns a time, to the precision of a cell, that is not exceeded by at least of_million / 10^6 of
 * the times in these cells; 0: there are none. longest_ns: the longest time; UINT64_MAX: it is not
 * known. */
uint64_t log_cells_percentile_ns(const uint64_t cells[LOG_CELLS], uint64_t longest_ns,
				 uint32_t of_million);

#endif

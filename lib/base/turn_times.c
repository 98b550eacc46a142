/*
 * turn_times.c - records long turns, and computes percentiles.
 */
#include "turn_times.h"

#define QUARTERS_FROM 16u /* power of two of the first quarter, in ns */

static_assert(TURN_LINEAR_CELLS << TURN_CELL_SHIFT == 1u << QUARTERS_FROM, "no gap");
static_assert((uint64_t)TURN_SHORT_CELLS << TURN_CELL_SHIFT < TURN_LONG_NS, "long turns are seen");

const struct counter_name turn_counter_names[TURN_COUNTER_COUNT] = {TURN_COUNTERS(COUNTER_NAME)};

static uint32_t
cell_of(uint64_t ns)
{
	uint32_t power, cell;

	if (ns >> QUARTERS_FROM == 0)
		return (uint32_t)(ns >> TURN_CELL_SHIFT);
	power = 63u - (uint32_t)__builtin_clzll(ns);
	cell = TURN_LINEAR_CELLS + 4 * (power - QUARTERS_FROM) + (uint32_t)(ns >> (power - 2) & 3);
	return cell < TURN_CELLS ? cell : TURN_CELLS - 1;
}

uint64_t
turn_times_count(const struct turn_times *t)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < TURN_CELLS; i++)
		all += counter_read(&t->cells[i]);
	return all;
}

uint64_t
turn_cell_end_ns(uint32_t cell)
{
	const uint64_t quarter = cell - TURN_LINEAR_CELLS;

	if (cell < TURN_LINEAR_CELLS)
		return (cell + 1ull) << TURN_CELL_SHIFT;
	if (cell >= TURN_CELLS - 1)
		return UINT64_MAX;
	return (5 + quarter % 4) << (QUARTERS_FROM - 2 + quarter / 4);
}

void
turn_times_add_long(struct turn_times *t, uint64_t ns)
{
	struct counter *c = t->counters;
	const uint64_t host_ns = t->host_ns;

	counter_add(&t->cells[cell_of(ns)], 1);
	if (ns > counter_read(&c[TURNS_MAX_NS]))
		counter_add(&c[TURNS_MAX_NS], ns - counter_read(&c[TURNS_MAX_NS]));
	if (ns <= TURN_LONG_NS)
		return;
	counter_add(&c[TURNS_OVER_50US], 1);
	counter_add(&c[TURNS_HOST_NS], host_ns < ns ? host_ns : ns);
	if (ns <= TURN_TOO_LONG_NS)
		return;
	counter_add(&c[TURNS_OVER_100US], 1);
	counter_add(&c[TURNS_OVER_100US_HOST], host_ns >= ns - TURN_TOO_LONG_NS);
}

uint64_t
turn_percentile_us(const uint64_t cells[TURN_CELLS], uint64_t longest_ns, uint32_t of_10000)
{
	uint64_t all = 0, so_far = 0;

	for (uint32_t i = 0; i < TURN_CELLS; i++)
		all += cells[i];
	for (uint32_t i = 0; i < TURN_CELLS && all != 0; i++) {
		const uint64_t end_ns = turn_cell_end_ns(i);

		so_far += cells[i];
		/* The product is split in two, so that it does not overflow. */
		if (so_far >= all - all / 10000 * (10000 - of_10000) -
				      all % 10000 * (10000 - of_10000) / 10000)
			return ((longest_ns != 0 && longest_ns < end_ns ? longest_ns : end_ns) +
				500) /
			       1000;
	}
	return 0;
}

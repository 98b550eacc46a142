/*
 * turn_times.h - how long the busy turns of a core took: a histogram, and the long ones counted.
 *
 * Cells are 1.024 us wide up to 65.5 us, quarters of powers of two above that; the last cell has no
 * end. A turn below TURN_SHORT_CELLS costs its caller a shift, a compare and an add.
 *
 * A long turn is attributed to the host if its thread waited for its CPU for at least the time by
 * which the turn exceeded the limit. Time of the hypervisor and of interrupts, which a thread
 * cannot see, counts as our own.
 *
 * Shape:  plain data, all zero at start.
 * Units:  ns in, us of a percentile rounded.
 * Owner:  the core; counts never decrease, and a reader that resets keeps a base of its own.
 * Thread: added to by the core; read by any thread, relaxed.
 * Bounds: TURN_CELLS cells; a percentile is at most one cell too high, and never above the longest
 *         turn.
 */
#ifndef CLOCKOO_TURN_TIMES_H
#define CLOCKOO_TURN_TIMES_H

#include "check.h"
#include "counter.h"
#include "turn_stages.h"

#define TURN_CELL_SHIFT   10u
#define TURN_LINEAR_CELLS 64u /* cover 65,536 ns */
#define TURN_SHORT_CELLS  48u /* 49,152 ns: shorter turns are counted by the caller */
#define TURN_QUARTERS     32u /* 65,536 ns to 16.8 ms */
#define TURN_CELLS        (TURN_LINEAR_CELLS + TURN_QUARTERS)

#define TURN_LONG_NS     50000ull
#define TURN_TOO_LONG_NS 100000ull

#define TURN_COUNTERS(X)                                                                           \
	X(TURNS_OVER_50US, "busy turns of more than 50 us")                                        \
	X(TURNS_OVER_100US, "busy turns of more than 100 us")                                      \
	X(TURNS_OVER_100US_HOST, "of these, turns that waited for the CPU for what is above 100")  \
	X(TURNS_HOST_NS, "time that turns of more than 50 us waited for the CPU")                  \
	X(TURNS_MAX_NS, "longest busy turn")

enum turn_counter { TURN_COUNTERS(COUNTER_SYMBOL) TURN_COUNTER_COUNT };

struct turn_times {
	/* Set by the caller: how long the thread waited for its CPU in the turn to be added. */
	uint64_t host_ns;
	uint8_t longest_stage; /* of the last turn, if it was timed; else STAGE_COUNT */
	struct counter counters[TURN_COUNTER_COUNT];
	_Alignas(CACHE_LINE_BYTES) struct counter cells[TURN_CELLS];
};

extern const struct counter_name turn_counter_names[TURN_COUNTER_COUNT];

/* Adds a turn at or above TURN_SHORT_CELLS. */
void turn_times_add_long(struct turn_times *t, uint64_t ns);

static inline void
turn_times_add(struct turn_times *t, uint64_t ns)
{
	const uint64_t cell = ns >> TURN_CELL_SHIFT;

	if (unlikely(cell >= TURN_SHORT_CELLS))
		turn_times_add_long(t, ns);
	else
		counter_add(&t->cells[cell], 1);
}

/* Returns the number of turns so far. */
uint64_t turn_times_count(const struct turn_times *t);

/* Returns where a cell ends, ns; UINT64_MAX: it has no end. */
uint64_t turn_cell_end_ns(uint32_t cell);

/* Returns a time that at least of_10000 / 10000 of the turns in these cells did not exceed; 0:
 * there are none. longest_ns: the longest turn; 0: unknown, all were short. */
uint64_t turn_percentile_us(const uint64_t cells[TURN_CELLS], uint64_t longest_ns,
			    uint32_t of_10000);

#endif

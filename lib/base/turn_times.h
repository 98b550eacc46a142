/*
 * turn_times.h - how long the busy turns of a core took: a histogram, and the long ones counted.
 *
 * Cells are 1.024 us wide up to 65.5 us, quarters of powers of two above that; the last one has no
 * end. A turn below TURN_SHORT_CELLS costs its caller a shift, a compare and an add.
 *
 * A long turn is the host's where its thread waited for its CPU for at least the time by which the
 * turn exceeded the limit. What a thread cannot see, the hypervisor and interrupts, counts as ours.
 *
 * Shape:  plain data, all zero at start.
 * Units:  ns in, us of a percentile rounded.
 * Owner:  the core; it never goes back, a reader that resets keeps a base of its own.
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
#define TURN_LINEAR_CELLS 64u /* 65,536 ns of them */
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
	uint64_t host_ns;      /* the caller's: in the turn to be added the thread waited so long */
	uint8_t longest_stage; /* of the last turn, if it was timed; else STAGE_COUNT */
	struct counter counters[TURN_COUNTER_COUNT];
	_Alignas(CACHE_LINE_BYTES) struct counter cells[TURN_CELLS];
};

extern const struct counter_name turn_counter_names[TURN_COUNTER_COUNT];

/* A turn at or above TURN_SHORT_CELLS. */
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

/* Turns so far. */
uint64_t turn_times_count(const struct turn_times *t);

/* Where a cell ends, ns; UINT64_MAX: nowhere. */
uint64_t turn_cell_end_ns(uint32_t cell);

/* At least of_10000 of the turns in these cells took no longer; 0: there are none. longest_ns: no
 * turn took longer; 0: unknown, all were short. */
uint64_t turn_percentile_us(const uint64_t cells[TURN_CELLS], uint64_t longest_ns,
			    uint32_t of_10000);

#endif

/*
 * wall_watch.h - detects that the wall clock was set while the program runs, and by how much.
 *
 * Cores count time on a clock that never goes back. A client's expiry date is by the wall clock,
 * so it is compared with that clock as it is now. If NTP's first answer, for example, sets it
 * after the program began, the difference taken at start would be wrong from then on.
 *
 * Shape:  plain data. Both clocks are read by the caller.
 * Units:  ns; the wall clock's since 1970.
 * Thread: one.
 * Bounds: readings WALL_READ_NS or more apart and steps below WALL_STEP_NS are ignored.
 */
#ifndef CLOCKOO_WALL_WATCH_H
#define CLOCKOO_WALL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#define WALL_READ_NS 100000u
#define WALL_STEP_NS 500000

struct wall_watch {
	uint64_t start_ns; /* on the caller's clock */
	int64_t unix_ns;   /* the wall clock at start_ns, as last corrected */
};

/* A reading of the wall clock between two of the caller's clock. */
struct wall_reading {
	uint64_t before_ns, after_ns;
	int64_t unix_ns;
};

/* True if the clock was set by *step_ns since the last call; w->unix_ns follows. */
bool wall_watch_check(struct wall_watch *w, const struct wall_reading *r, int64_t *step_ns);

#endif

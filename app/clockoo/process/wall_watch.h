/*
 * wall_watch.h - notices that the wall clock was set while the program runs, and by how much.
 *
 * A client's expiry date is of the wall clock, while cores count on a clock that never goes back.
 * The difference between both must follow the wall clock: NTP's first answer, for example, may set
 * it after the program has begun.
 *
 * Shape:  plain data. The caller reads both clocks.
 * Units:  ns; of the wall clock, ns since 1970.
 * Thread: one.
 * Bounds: ignores a reading that took WALL_READ_NS or more, and a step below WALL_STEP_NS.
 */
#ifndef CLOCKOO_WALL_WATCH_H
#define CLOCKOO_WALL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#define WALL_READ_NS 100000u
#define WALL_STEP_NS 500000

struct wall_watch {
	uint64_t start_ns; /* a time on the caller's clock */
	int64_t unix_ns;   /* the wall clock at start_ns, as corrected last */
};

/* The wall clock, read between two readings of the caller's clock. */
struct wall_reading {
	uint64_t before_ns, after_ns;
	int64_t unix_ns;
};

/* True if the wall clock was set by *step_ns since the last call. Corrects w->unix_ns. */
bool wall_watch_check(struct wall_watch *w, const struct wall_reading *r, int64_t *step_ns);

#endif

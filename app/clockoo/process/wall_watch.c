/*
 * wall_watch.c - compares the wall clock with the time that it should show.
 */
#include "wall_watch.h"

#include <stdlib.h>

bool
wall_watch_check(struct wall_watch *w, const struct wall_reading *r, int64_t *step_ns)
{
	const uint64_t apart_ns = r->after_ns - r->before_ns;

	if (apart_ns >= WALL_READ_NS)
		return false;
	*step_ns = r->unix_ns - (int64_t)(r->before_ns + apart_ns / 2 - w->start_ns) - w->unix_ns;
	if (llabs(*step_ns) < WALL_STEP_NS)
		return false;
	w->unix_ns += *step_ns;
	return true;
}

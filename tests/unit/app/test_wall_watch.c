/*
 * The wall clock is set while the program runs. Goal: a step is reported once and by its length,
 * in both directions; NTP's slewing and an interrupted reading are no step; a date that a client
 * gives is compared with the clock as it is. Method: readings made by hand.
 */
#include "support/test.h"
#include "process/wall_watch.h"

#define S_NS    1000000000ll
#define DATE_NS (1700000000 * S_NS)

/* Readings of both clocks: time since the start, time between the two readings, how far the wall
 * clock had been set, and the step that is reported. */
static const struct {
	int64_t after_ns, apart_ns, set_ns, step_ns;
} readings[] = {
	{S_NS, 40, 0, 0},
	{2 * S_NS, 40, 400000, 0}, /* slewed */
	{3 * S_NS, 40, 3600 * S_NS, 3600 * S_NS},
	{4 * S_NS, 40, 3600 * S_NS, 0},         /* reported once */
	{5 * S_NS, WALL_READ_NS, -7 * S_NS, 0}, /* the reader was interrupted */
	{6 * S_NS, WALL_READ_NS - 2, -7 * S_NS, -3607 * S_NS},
	{7 * S_NS, 40, -DATE_NS, -DATE_NS + 7 * S_NS}, /* to 1970 */
	{8 * S_NS, 40, 0, DATE_NS},
};

TEST(a_step_is_reported_once_with_its_length)
{
	struct wall_watch w = {.start_ns = 5 * S_NS, .unix_ns = DATE_NS};

	for (uint32_t i = 0; i < sizeof readings / sizeof readings[0]; i++) {
		const int64_t from_ns = 5 * S_NS + readings[i].after_ns - readings[i].apart_ns / 2;
		const struct wall_reading r = {
			.before_ns = (uint64_t)from_ns,
			.after_ns = (uint64_t)(from_ns + readings[i].apart_ns),
			.unix_ns = DATE_NS + readings[i].after_ns + readings[i].set_ns,
		};
		int64_t step_ns = 0;

		check_eq(wall_watch_check(&w, &r, &step_ns), readings[i].step_ns != 0);
		if (readings[i].step_ns != 0) {
			check_eq(step_ns, readings[i].step_ns);
			check_eq(w.unix_ns, DATE_NS + readings[i].set_ns);
		}
	}
}

/*
 * Frames dropped for their checksums. Goal: the operator hears of them while it happens, of one
 * that a bad cable may have spoiled not, and a flood of them cannot fill a log. Method: two cores'
 * counters, moved by hand.
 */
#include "support/test.h"
#include "checksum_watch.h"

#define CORES       2u
#define LINES_BOUND 19u /* as many as a count of 64 bits has digits */

static const struct counter_name names[] = {
	{"OTHER", "not it"}, {"DROP_TCP_CKSUM", "of TCP"}, {"DROP_UDP_CKSUM", "of UDP"}};

struct fixture {
	struct counter counters[CORES][3];
	struct telemetry telemetry;
	struct checksum_watch watch;
};

static void
make(struct fixture *b)
{
	*b = (struct fixture){0};
	for (uint32_t i = 0; i < CORES; i++)
		telemetry_add(&b->telemetry, &(struct telemetry_set){i, 3, names, b->counters[i]});
}

/* What is dropped in a second, by core and counter; what is said then. */
static const struct {
	uint32_t core, counter, frames;
	uint64_t said;
} seconds[] = {
	{0, 0, 9, 0},  {0, 1, 1, 0},  {1, 2, 1, 2},   {0, 0, 0, 0},   {0, 1, 5, 0},
	{1, 1, 12, 0}, {0, 2, 1, 20}, {0, 1, 179, 0}, {1, 1, 1, 200}, {0, 1, 0, 0},
};

static void
it_is_reported_at_two_and_at_ten_times_as_many(void **state)
{
	struct fixture b;

	make(&b);
	for (uint32_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
		counter_add(&b.counters[seconds[i].core][seconds[i].counter], seconds[i].frames);
		check_eq(checksum_watch_check(&b.watch, &b.telemetry), seconds[i].said);
	}
}

static void
a_flood_of_them_is_a_score_of_lines(void **state)
{
	uint32_t lines = 0;
	struct fixture b;

	make(&b);
	for (uint64_t frames = 1; frames < UINT64_MAX / 4; frames += frames / 2 + 1) {
		counter_add(&b.counters[0][1], frames / 2 + 1);
		lines += checksum_watch_check(&b.watch, &b.telemetry) != 0;
	}
	check(lines > 1 && lines <= LINES_BOUND);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_reported_at_two_and_at_ten_times_as_many),
		cmocka_unit_test(a_flood_of_them_is_a_score_of_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

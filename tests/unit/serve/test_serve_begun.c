/*
 * Begun values whose peers send nothing more, while others wait. Goal: where no place is left, the
 * slowest is reset, and never one whose peer cannot send. Method: a fake stack; values that fill
 * the quota, the place beside it, and the queue; time that passes in steps.
 */
#include "support/test.h"
#include "one_rig.h"
#include "store/introspect.h"

#include <stdio.h>

#define STEP_NS      1000000u
#define BURST        8192u /* proven */
#define MEMORY_BYTES (8u << 20)
#define LEN          1048000u

static uint32_t number;

/* A set of so many bytes, of which some come at once. */
static struct conn *
begin(uint32_t len, uint32_t here)
{
	static char body[16384];
	struct conn *c = rig_open(rig);
	char line[64];

	memset(body, 'v', sizeof body);
	snprintf(line, sizeof line, "set k%u 0 0 %u\r\n", number++, len);
	rig_receive_text(rig, c, line);
	for (uint32_t at = 0; at < here; at += 1024)
		rig_receive(rig, c, body, 1024);
	rig_turns(rig, 3);
	return c;
}

static void
pass(uint32_t ms)
{
	for (uint32_t i = 0; i < ms; i++) {
		rig->clock.now_ns += STEP_NS;
		rig_turn(rig);
	}
}

enum excuse { EXCUSE_NONE, EXCUSE_DROPPED, EXCUSE_DROPPED_ONCE, EXCUSE_WINDOW };

/* Two take all of the quota, and four more want to. There is room beside it for one. */
static void
who_is_reset(enum excuse excuse, bool others_wait, bool second_is_reset)
{
	struct conn *first, *second;

	check(store_limit_mt(rig->store, MEMORY_BYTES));
	rig_turns(rig, 100);
	check(store_begun_max(rig->core) / 2 - LEN < 1000);
	first = begin(LEN, BURST);
	second = begin(LEN, BURST);
	rig_starve(second, excuse == EXCUSE_DROPPED || excuse == EXCUSE_DROPPED_ONCE,
		   excuse == EXCUSE_WINDOW);
	for (uint32_t i = 0; i < 4 && others_wait; i++)
		begin(LEN, BURST);
	pass(5);
	if (excuse == EXCUSE_DROPPED_ONCE)
		rig_starve(second, false, false);
	pass(900);
	check(rig_aborted(first) == others_wait);
	check(rig_aborted(second) == second_is_reset);
}

static void
who_sends_nothing_is_reset_while_others_wait(void **state)
{
	who_is_reset(EXCUSE_NONE, true, true);
}

static void
nobody_is_reset_while_nobody_waits(void **state)
{
	who_is_reset(EXCUSE_NONE, false, false);
}

static void
whose_bytes_are_dropped_is_not_reset(void **state)
{
	who_is_reset(EXCUSE_DROPPED, true, false);
}

static void
whose_bytes_were_dropped_is_not_reset_before_more_have_come(void **state)
{
	who_is_reset(EXCUSE_DROPPED_ONCE, true, false);
}

static void
whose_window_is_closed_is_not_reset(void **state)
{
	who_is_reset(EXCUSE_WINDOW, true, false);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(who_sends_nothing_is_reset_while_others_wait, start,
						stop),
		cmocka_unit_test_setup_teardown(nobody_is_reset_while_nobody_waits, start, stop),
		cmocka_unit_test_setup_teardown(whose_bytes_are_dropped_is_not_reset, start, stop),
		cmocka_unit_test_setup_teardown(
			whose_bytes_were_dropped_is_not_reset_before_more_have_come, start, stop),
		cmocka_unit_test_setup_teardown(whose_window_is_closed_is_not_reset, start, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The wait of an idle core. Goal: a core does not wait while frames arrive, nor past the stack's
 * next timer, nor longer than its share of the silence or the bound of all waits; a core that is
 * silent for long does wait. Method: a table of silences and timers, and every silence up to 10
 * ms.
 */
#include "support/test.h"
#include "core/idle.h"

#define NOW   7000000000ull
#define NEVER UINT64_MAX
#define US    1000ull
#define MS    1000000ull

static const struct {
	uint64_t quiet_ns, timer_ns, wait_ns; /* timer_ns: from now on */
} rows[] = {
	{0, NEVER - NOW, 0},
	{IDLE_SPIN_NS - 1, NEVER - NOW, 0},
	{IDLE_SPIN_NS, NEVER - NOW, IDLE_SPIN_NS / IDLE_SHARE},
	{800 * US, NEVER - NOW, 100 * US},
	{4 * MS, NEVER - NOW, 500 * US},
	{1000 * MS, NEVER - NOW, IDLE_WAIT_MAX_NS},
	/* A timer comes first. */
	{800 * US, 60 * US, 60 * US},
	{1000 * MS, 60 * US, 60 * US},
	{1000 * MS, IDLE_WAIT_MIN_NS, IDLE_WAIT_MIN_NS},
	/* The timer is so close that turning costs less than waiting, or it is due. */
	{1000 * MS, IDLE_WAIT_MIN_NS - 1, 0},
	{1000 * MS, 0, 0},
};

TEST(a_core_waits_for_its_share_of_the_quiet_time_and_no_timer_waits)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct idle idle = {.since_ns = NOW - rows[i].quiet_ns};

		check_eq(idle_wait_ns(&idle, NOW, NOW + rows[i].timer_ns), rows[i].wait_ns);
	}
}

/* A time of 0 means at once: the stack has never ticked. */
TEST(a_timer_of_the_past_is_not_slept_over)
{
	const struct idle idle = {.since_ns = 0};

	check_eq(idle_wait_ns(&idle, NOW, 0), 0);
	check_eq(idle_wait_ns(&idle, NOW, NOW - MS), 0);
}

TEST(a_frame_ends_the_quiet_time)
{
	struct idle idle = {.since_ns = 0};

	check(idle_wait_ns(&idle, NOW, NEVER) != 0);
	idle_busy(&idle, NOW);
	check_eq(idle_wait_ns(&idle, NOW, NEVER), 0);
	check_eq(idle_wait_ns(&idle, NOW + IDLE_SPIN_NS - 1, NEVER), 0);
	check(idle_wait_ns(&idle, NOW + IDLE_SPIN_NS, NEVER) != 0);
}

TEST(no_core_waits_longer_than_a_share_of_the_quiet_time)
{
	const struct idle idle = {.since_ns = NOW};
	uint64_t last = 0;

	for (uint64_t silence = 0; silence < 10 * MS; silence += 777) {
		const uint64_t wait = idle_wait_ns(&idle, NOW + silence, NEVER);

		check(wait >= last);
		check(wait <= silence / IDLE_SHARE);
		check(wait <= IDLE_WAIT_MAX_NS);
		last = wait;
	}
	check_eq(last, IDLE_WAIT_MAX_NS);
}

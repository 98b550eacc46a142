/*
 * The watchdog. Goal: the service manager gets a sign of life only while every core turns, and
 * again once a stuck core resumes; a core that turned between two beats is not taken for stuck.
 * Method: two cores' counters, moved by hand, and a clock of our own.
 */
#include "support/test.h"
#include "process/watchdog.h"

#define WAITS_NS     20000000000ull
#define HEARTBEAT_NS (WAITS_NS / 2)
#define CORES        2u

static const struct counter_name names[] = {{"OTHER", "not it"}, {"CORE_TURNS", "turns"}};

struct fixture {
	struct counter counters[CORES][2];
	struct telemetry telemetry;
	struct watchdog watchdog;
};

static void
make(struct fixture *b, uint64_t waits_ns)
{
	*b = (struct fixture){0};
	for (uint32_t i = 0; i < CORES; i++)
		telemetry_add(&b->telemetry, &(struct telemetry_set){i, 2, names, b->counters[i]});
	watchdog_begin(&b->watchdog, waits_ns, CORES, 0);
}

/* turned: the cores that move before each beat, as bits; then the expected status, and the core
 * that is named: the first that has not turned since the last sign of life. */
static const struct {
	uint32_t turned;
	enum watchdog_status seen;
	uint32_t core;
} beats[] = {
	{3, WATCHDOG_ALIVE, 0}, {1, WATCHDOG_STUCK, 1}, {0, WATCHDOG_STUCK, 1},
	{2, WATCHDOG_ALIVE, 0}, {0, WATCHDOG_STUCK, 0}, {2, WATCHDOG_STUCK, 0},
	{1, WATCHDOG_ALIVE, 0}, {3, WATCHDOG_ALIVE, 0},
};

TEST(life_is_seen_only_while_every_core_turns)
{
	struct fixture b;

	make(&b, WAITS_NS);
	for (uint32_t i = 0; i < sizeof beats / sizeof beats[0]; i++) {
		uint32_t core = 0;

		for (uint32_t c = 0; c < CORES; c++)
			if (beats[i].turned >> c & 1)
				counter_add(&b.counters[c][1], 1);
		check_eq(watchdog_check(&b.watchdog, &b.telemetry, (i + 1) * HEARTBEAT_NS, &core),
			 beats[i].seen);
		check_eq(core, beats[i].core);
	}
}

TEST(a_beat_is_due_twice_in_the_time_the_manager_waits)
{
	struct fixture b;
	uint32_t core, seen = 0;

	make(&b, WAITS_NS);
	for (uint64_t now_ns = 0; now_ns < 10 * WAITS_NS; now_ns += WAITS_NS / 100) {
		counter_add(&b.counters[0][1], 1);
		counter_add(&b.counters[1][1], 1);
		seen += watchdog_check(&b.watchdog, &b.telemetry, now_ns, &core) == WATCHDOG_ALIVE;
	}
	check_eq(seen, 19);
}

TEST(where_nobody_waits_no_beat_is_due)
{
	struct fixture b;
	uint32_t core;

	make(&b, 0);
	check_eq(watchdog_check(&b.watchdog, &b.telemetry, UINT64_MAX, &core), WATCHDOG_NOT_DUE);
}

/*
 * The stages of a drain. Goal: with ANYCAST the appliance is ready until no connection is open and
 * every answer is acknowledged, unless a peer takes too long; without it is not ready at once. The
 * stop follows a second after the last connection, three with ANYCAST, where a stop that is
 * requested waits for the same order, and the second request for nothing. Method: steps with counts
 * and times by hand.
 */
#include "support/test.h"
#include "control/drain.h"

#define TIME_NS (20 * NS_PER_S)
#define TICK_NS (100 * NS_PER_MS)

static uint64_t now_ns;

static enum drain_stage
step(struct drain *d, uint32_t open, uint32_t leaving)
{
	const struct drain_conns conns = {open, leaving};

	now_ns += TICK_NS;
	return drain_step(d, &conns, true, now_ns);
}

/* Returns the time for which the drain stays in its stage with these connections. */
static uint64_t
stays_ns(struct drain *d, uint32_t open, uint32_t leaving)
{
	const enum drain_stage was = d->stage;
	const uint64_t from_ns = now_ns;

	while (step(d, open, leaving) == was)
		check(now_ns - from_ns < 2 * TIME_NS);
	return now_ns - from_ns;
}

static struct drain
begun(enum config_drain how)
{
	struct drain d = {0};

	now_ns = 7 * NS_PER_S;
	drain_begin(&d, how, TIME_NS, now_ns);
	return d;
}

TEST(routers_leave_after_the_last_connection_has_ended)
{
	struct drain d = begun(CONFIG_DRAIN_ANYCAST);

	check_eq(drain_asks(&d), SERVE_DRAIN_CLOSE);
	for (uint32_t open = 5; open > 0; open--)
		check_eq(step(&d, open, 1), DRAIN_CLOSING);
	check_eq(step(&d, 0, 3), DRAIN_LAST);
	check_eq(drain_asks(&d), SERVE_DRAIN_CLOSE_LAST);
	check_eq(step(&d, 1, 0), DRAIN_LAST); /* it was half-open */
	check_eq(step(&d, 0, 1), DRAIN_LAST); /* its answer is not acknowledged */
	check_eq(step(&d, 0, 0), DRAIN_LEAVING);
	check_eq(drain_asks(&d), SERVE_DRAIN_CLOSE_IDLE);
	check_eq(stays_ns(&d, 0, 0), DRAIN_ROUTERS_NS);
	check_eq(d.stage, DRAIN_ENDED);
}

TEST(connections_that_ask_nothing_are_closed_before_routers_leave)
{
	struct drain d = begun(CONFIG_DRAIN_ANYCAST);

	check_eq(stays_ns(&d, 2, 0), DRAIN_CLOSING_NS);
	check_eq(d.stage, DRAIN_LAST);
	check(stays_ns(&d, 2, 0) >= DRAIN_LAST_NS);
	check_eq(d.stage, DRAIN_IDLE);
	check_eq(drain_asks(&d), SERVE_DRAIN_CLOSE_IDLE);
	check_eq(step(&d, 0, 2), DRAIN_IDLE);
	check_eq(step(&d, 0, 0), DRAIN_LEAVING);
}

/* A peer amid a request, or one that does not acknowledge, keeps the route for a bounded time. */
TEST(a_peer_that_takes_too_long_keeps_no_route)
{
	struct drain d = begun(CONFIG_DRAIN_ANYCAST);
	const uint64_t from_ns = now_ns;

	while (d.stage < DRAIN_LEAVING)
		step(&d, 1, 1);
	check(now_ns - from_ns < DRAIN_CLOSING_NS + 2 * DRAIN_LAST_NS + 3 * TICK_NS);
	while (d.stage != DRAIN_ENDED)
		step(&d, 1, 1);
	check_eq(now_ns - from_ns, TIME_NS);
}

TEST(a_stage_begins_once_the_cores_obey_it)
{
	const struct drain_conns none = {0, 0};
	struct drain d = begun(CONFIG_DRAIN_ANYCAST);

	for (uint32_t i = 0; i < 10; i++)
		check_eq(drain_step(&d, &none, false, now_ns += TICK_NS), DRAIN_CLOSING);
	check_eq(step(&d, 0, 0), DRAIN_LAST);
	check(!d.applied);
	for (uint32_t i = 0; i < 10; i++)
		check_eq(drain_step(&d, &none, false, now_ns += TICK_NS), DRAIN_LAST);
	check(stays_ns(&d, 1, 0) >= DRAIN_LAST_NS);
	check_eq(d.stage, DRAIN_IDLE);
}

TEST(a_short_drain_has_time_for_routers)
{
	struct drain d = {0};

	now_ns = NS_PER_S;
	drain_begin(&d, CONFIG_DRAIN_ANYCAST, 4 * NS_PER_S, now_ns);
	check_eq(stays_ns(&d, 1, 0), 2 * NS_PER_S);
	drain_begin(&d, CONFIG_DRAIN_ANYCAST, 0, now_ns);
	check_eq(step(&d, 1, 0), DRAIN_ENDED);
}

TEST(without_an_order_routers_leave_at_once)
{
	static const enum serve_drain asks[] = {[CONFIG_DRAIN_RESET] = SERVE_DRAIN_RESET,
						[CONFIG_DRAIN_SILENT] = SERVE_DRAIN_SILENT,
						[CONFIG_DRAIN_CLOSE] = SERVE_DRAIN_CLOSE};

	for (uint32_t how = CONFIG_DRAIN_RESET; how <= CONFIG_DRAIN_CLOSE; how++) {
		struct drain d = begun((enum config_drain)how);

		check_eq(d.stage, DRAIN_LEAVING);
		check_eq(drain_asks(&d), asks[how]);
		check_eq(step(&d, 1, 0), DRAIN_LEAVING);
		check_eq(stays_ns(&d, 0, 1), DRAIN_QUIET_NS);
		check_eq(d.stage, DRAIN_ENDED);
	}
}

TEST(a_stop_has_the_order_of_a_drain)
{
	struct drain d = {0};

	now_ns = NS_PER_S;
	check(!drain_stop(&d, CONFIG_DRAIN_ANYCAST, TIME_NS, now_ns));
	check_eq(d.stage, DRAIN_CLOSING);
	check_eq(drain_asks(&d), SERVE_DRAIN_CLOSE);
	while (d.stage != DRAIN_ENDED)
		step(&d, 1, 1);
	check_eq(now_ns, NS_PER_S + TIME_NS);
}

TEST(a_second_stop_is_at_once)
{
	struct drain d = {0};

	check(!drain_stop(&d, CONFIG_DRAIN_ANYCAST, TIME_NS, now_ns));
	check(drain_stop(&d, CONFIG_DRAIN_ANYCAST, TIME_NS, now_ns));
}

TEST(a_stop_amid_a_drain_waits_for_its_end)
{
	struct drain d = begun(CONFIG_DRAIN_ANYCAST);
	const uint64_t from_ns = now_ns;

	check_eq(stays_ns(&d, 1, 0), DRAIN_CLOSING_NS);
	check(!drain_stop(&d, CONFIG_DRAIN_ANYCAST, TIME_NS, now_ns));
	check_eq(d.stage, DRAIN_LAST);
	while (d.stage != DRAIN_ENDED)
		step(&d, 1, 1);
	check_eq(now_ns - from_ns, TIME_NS);
	check(drain_stop(&d, CONFIG_DRAIN_ANYCAST, TIME_NS, now_ns));
}

TEST(without_an_order_a_stop_is_at_once)
{
	for (uint32_t how = CONFIG_DRAIN_RESET; how <= CONFIG_DRAIN_CLOSE; how++) {
		struct drain idle = {0}, d = begun((enum config_drain)how);

		check(drain_stop(&idle, (enum config_drain)how, TIME_NS, now_ns));
		check(drain_stop(&d, (enum config_drain)how, TIME_NS, now_ns));
	}
}

TEST(nothing_happens_before_a_drain)
{
	struct drain d = {0};

	check_eq(step(&d, 0, 0), DRAIN_OFF);
}

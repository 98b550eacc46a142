/*
 * The timer wheel. Goal: no timer fires early, none is lost, each fires within a tick when the
 * wheel is popped as it asks to be, and one pop's work is bounded. Method: seeded random arming
 * over all distances, against a table of deadlines.
 */
#include "tcp/timer_wheel.h"

#include "support/test.h"

#define NODES   200u
#define ROUNDS  20000u
#define TICK_NS (1ull << WHEEL_TICK_SHIFT)

struct timer {
	struct wheel_node node;
	uint64_t at_ns; /* WHEEL_NEVER: not armed */
};

static uint64_t state;

static uint64_t
random_u64(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return state >> 20;
}

static void
setup(struct wheel *w, struct timer *t)
{
	wheel_init(w);
	for (uint32_t i = 0; i < NODES; i++) {
		wheel_node_init(&t[i].node);
		t[i].at_ns = WHEEL_NEVER;
	}
}

static uint64_t
earliest(const struct timer *t)
{
	uint64_t at = WHEEL_NEVER;

	for (uint32_t i = 0; i < NODES; i++)
		at = t[i].at_ns < at ? t[i].at_ns : at;
	return at;
}

static void
pop_all(struct wheel *w, uint64_t now)
{
	uint32_t budget = 100000;
	struct wheel_node *n;

	while ((n = wheel_pop(w, now, &budget)) != NULL) {
		struct timer *t = container_of(n, struct timer, node);

		check(t->at_ns <= now);
		check(!wheel_armed(n));
		t->at_ns = WHEEL_NEVER;
	}
}

TEST(timers_fire_once_and_on_time)
{
	static struct wheel w;
	static struct timer t[NODES];
	uint64_t now = 5000000000ull;

	state = 1;
	setup(&w, t);
	pop_all(&w, now);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct timer *one = &t[random_u64() % NODES];

		if (random_u64() % 8 == 0) {
			wheel_disarm(&w, &one->node);
			one->at_ns = WHEEL_NEVER;
		} else {
			const uint64_t span = 1ull << (random_u64() % 46);

			one->at_ns = now + random_u64() % span;
			wheel_arm(&w, &one->node, one->at_ns);
		}
		if (round % 3 == 0)
			continue;
		if (wheel_next(&w) == WHEEL_NEVER) {
			check(earliest(t) == WHEEL_NEVER);
			continue;
		}
		check(wheel_next(&w) <= earliest(t) + TICK_NS);
		now = wheel_next(&w) > now ? wheel_next(&w) : now;
		now += random_u64() % 4 == 0 ? random_u64() % (TICK_NS * 5) : 0;
		pop_all(&w, now);
		check(earliest(t) > now - TICK_NS);
	}
}

TEST(a_pop_looks_at_no_more_than_its_budget)
{
	static struct wheel w;
	static struct timer t[NODES];
	uint32_t fired = 0, budget = 10;

	setup(&w, t);
	for (uint32_t i = 0; i < NODES; i++)
		wheel_arm(&w, &t[i].node, 10 * TICK_NS);
	while (wheel_pop(&w, 20 * TICK_NS, &budget) != NULL)
		fired++;
	check_eq(fired, 10);
	check_eq(budget, 0);
	check(wheel_next(&w) <= 20 * TICK_NS); /* the other timers are not forgotten */
	budget = NODES;
	while (wheel_pop(&w, 20 * TICK_NS, &budget) != NULL)
		fired++;
	check_eq(fired, NODES);
	check(wheel_next(&w) == WHEEL_NEVER);
}

TEST(a_wheel_without_timers_asks_for_nothing)
{
	static struct wheel w;
	static struct timer t[NODES];

	setup(&w, t);
	for (uint32_t i = 0; i < NODES; i++)
		wheel_arm(&w, &t[i].node, i * i * TICK_NS * 50);
	for (uint32_t i = 0; i < NODES; i++)
		wheel_disarm(&w, &t[i].node);
	check(wheel_next(&w) == WHEEL_NEVER);
}

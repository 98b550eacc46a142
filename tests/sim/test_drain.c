/*
 * A stop with clients that do not read. Goal: they are reset, so that no reply pins an item; a
 * client that reads is closed in order before that. Method: a whole core, a stack as its clients,
 * and the pin counts of all items in the store.
 */
#include "sim_service.h"
#include "base/time_units.h"
#include "index/item_layout.h"

#include "support/test.h"

#include <stdio.h>

#define CLIENTS     8u
#define ITEMS       16u
#define VALUE_BYTES 60000u
#define STEP_NS     200000u

struct world {
	struct sim_service sim;
	const struct item *items[ITEMS];
	uint32_t opened, gone;
	bool reads;
};

static void
on_opened(void *arg, struct conn *c)
{
	struct world *w = arg;
	char asks[32];

	w->opened++;
	for (uint32_t i = 0; i < ITEMS; i++) {
		snprintf(asks, sizeof asks, "get k%u\r\n", i);
		sim_service_say(&w->sim, c, asks, (uint32_t)strlen(asks));
	}
}

static void
on_gone(void *arg, struct conn *c)
{
	struct world *w = arg;

	w->gone++;
}

static void
serve(void *arg)
{
	struct world *w = arg;
	struct stack *s = w->sim.ss->stack;
	struct conn *c;

	while (w->reads && (c = stack_pop_ready(s)) != NULL) {
		for (struct view v = conn_peek(c); v.len > 0; v = conn_peek(c))
			conn_advance(s, c, v.len);
		if (conn_eof(c))
			conn_close(s, c);
	}
}

static uint32_t
pins(const struct world *w)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < ITEMS; i++)
		sum += atomic_load(item_pins_at(w->items[i]));
	return sum;
}

static void
begin(struct world *w)
{
	struct sim_service_options o = sim_service_defaults();
	const struct stack_user user = {w, on_opened, on_gone, NULL};
	struct store_core *sc;
	char key[16];

	o.cores.memory_bytes = (size_t)64 << 20;
	sim_service_create(&w->sim, &o, &user, serve);
	sc = store_core_of(w->sim.sc->store, 0);
	for (uint32_t i = 0; i < ITEMS; i++) {
		snprintf(key, sizeof key, "k%u", i);
		check_eq(sim_service_set(&w->sim, key, VALUE_BYTES), STORE_OK);

		const struct view k = {(const uint8_t *)key, (uint32_t)strlen(key)};

		w->items[i] = store_get(sc, k, store_hash(sc, k));
		check_ptr(w->items[i]);
	}
	for (uint32_t i = 0; i < CLIENTS; i++)
		check_ptr(sim_service_connect(&w->sim));
	sim_service_run(&w->sim, NS_PER_S / 2, STEP_NS);
	check_eq(w->opened, CLIENTS);
}

/* Drains as worker.c does; true once nothing is left. */
static bool
drain(struct world *w)
{
	struct stack *stack = w->sim.sc->cores[0].core.stack;
	bool empty = false;

	for (uint32_t i = 0; i < 1000 && !empty; i++) {
		empty = stack_drain(stack, w->sim.sc->now_ns);
		sim_service_run(&w->sim, NS_PER_S / 1000, STEP_NS);
	}
	return empty;
}

TEST(replies_that_nobody_reads_hold_no_item_after_the_stop)
{
	struct world w = {.reads = false};
	struct stack *stack;

	begin(&w);
	stack = w.sim.sc->cores[0].core.stack;
	check(!drain(&w));
	check(pins(&w) > 0);
	stack_abort_all(stack, w.sim.sc->now_ns);
	check_eq(pins(&w), 0);
	check(stack_drain(stack, w.sim.sc->now_ns));
	check(sim_service_stack_count(&w.sim, TCP_ABORTED) >= CLIENTS);
	w.reads = true; /* the resets have arrived */
	sim_service_run(&w.sim, NS_PER_S / 10, STEP_NS);
	check_eq(w.gone, CLIENTS);
	sim_service_destroy(&w.sim);
}

TEST(a_client_that_reads_gets_its_whole_reply_and_is_not_reset)
{
	struct world w = {.reads = true};

	begin(&w);
	check(drain(&w));
	check_eq(pins(&w), 0);
	stack_abort_all(w.sim.sc->cores[0].core.stack, w.sim.sc->now_ns);
	check_eq(sim_service_stack_count(&w.sim, TCP_ABORTED), 0);
	sim_service_destroy(&w.sim);
}

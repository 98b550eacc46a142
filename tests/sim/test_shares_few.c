/*
 * Watchers, peers that take all of a pool's few places. Goal: another source, or a watcher that
 * reads, gets the place of a watcher that does not read or whose source has more than its part.
 * Method: a core and a stack as its clients; the pool is filled by one source.
 */
#include "sim_service.h"

#include "admin/admin.h"
#include "base/time_units.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define MS_NS 1000000ull

struct few {
	struct sim_service sim;
	bool reads;
	struct conn *conn[WATCHERS_MAX + 3];
	uint32_t count, lost;
	char received[WATCHERS_MAX + 3][64]; /* the first bytes received by each */
};

static void
few_gone(void *arg, struct conn *c)
{
	struct few *f = arg;

	(void)c;
	f->lost++;
	for (uint32_t i = 0; i < f->count; i++)
		if (f->conn[i] == c)
			f->conn[i] = NULL;
}

static void
few_opened(void *arg, struct conn *c)
{
	(void)arg;
	(void)c;
}

static void
few_turn(void *arg)
{
	struct few *f = arg;

	while (stack_pop_ready(f->sim.ss->stack) != NULL)
		;
	for (uint32_t i = 0; i < f->count; i++) {
		struct view v;

		if (f->conn[i] == NULL || (v = conn_peek(f->conn[i])).len == 0)
			continue;
		if (f->received[i][0] == 0)
			memcpy(f->received[i], v.data, v.len < 63 ? v.len : 63);
		else if (!f->reads)
			continue;
		conn_advance(f->sim.ss->stack, f->conn[i], v.len);
	}
}

static struct few *
few_create(void)
{
	const struct stack_user user = {.opened = few_opened, .gone = few_gone};
	const struct sim_service_options o = sim_service_defaults();
	struct few *f = calloc(1, sizeof *f);
	struct stack_user with_arg = user;

	check_ptr(f);
	with_arg.arg = f;
	f->reads = true;
	sim_service_create(&f->sim, &o, &with_arg, few_turn);
	return f;
}

static void
few_destroy(struct few *f)
{
	sim_service_destroy(&f->sim);
	free(f);
}

/* Opens a connection and returns the first line it receives; other: from another source. */
static const char *
few_ask(struct few *f, bool other, const char *line)
{
	const uint32_t i = f->count++;

	f->conn[i] = other ? sim_service_connect6(&f->sim) : sim_service_connect(&f->sim);
	sim_service_run(&f->sim, 5 * MS_NS, SIM_STEP_NS);
	sim_service_say(&f->sim, f->conn[i], line, (uint32_t)strlen(line));
	sim_service_run(&f->sim, 5 * MS_NS, SIM_STEP_NS);
	return f->received[i];
}

TEST(a_source_with_all_watches_yields_one_to_another)
{
	struct few *f = few_create();

	for (uint32_t i = 0; i < WATCHERS_MAX; i++)
		check_str(few_ask(f, false, "watch\r\n"), "OK\r\n");
	check_str(few_ask(f, false, "watch\r\n"), "WATCHER_TOO_MANY log watcher limit reached\r\n");
	check_eq(f->lost, 0);
	check_str(few_ask(f, true, "watch\r\n"), "OK\r\n");
	check_eq(f->lost, 1);
	check_eq(sim_service_count(&f->sim, ADMIN_YIELDED), 1);
	few_destroy(f);
}

/* The watchers have one source: those that read keep their places. */
TEST(a_watch_that_is_not_read_yields_its_place)
{
	struct few *f = few_create();

	for (uint32_t i = 0; i < WATCHERS_MAX; i++)
		check_str(few_ask(f, false, "watch\r\n"), "OK\r\n");
	f->reads = false;
	few_ask(f, false, "get a\r\n");
	for (uint32_t i = 0; i < 40000; i++) {
		if (conn_writable(f->sim.ss->stack, f->conn[WATCHERS_MAX], 1))
			sim_service_say(&f->sim, f->conn[WATCHERS_MAX], "get a\r\n", 7);
		if (i % 20 == 0)
			sim_service_run(&f->sim, MS_NS, SIM_STEP_NS);
	}
	check_str(few_ask(f, false, "watch\r\n"), "OK\r\n");
	check_eq(sim_service_count(&f->sim, ADMIN_YIELDED), 1);
	few_destroy(f);
}

int
main(void)
{
	return tests_run(NULL, NULL);
}

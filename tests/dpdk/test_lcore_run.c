/*
 * One function on every lcore. Goal: work runs once on each and has returned when lcores_run
 * does; if one lcore is busy, it runs on none. Method: three lcores of EAL on one CPU, the last
 * one of which is kept busy.
 */
#include "one_port.h"
#include "base/check.h"
#include "dpdk/lcore_run.h"

#include <stdatomic.h>

#include <rte_launch.h>

#define LCORES 3u

static struct one_port one;
static _Atomic uint32_t ran[LCORES];
static _Atomic bool leave;

static void
start(void)
{
	one_port_start_eal(&one, "ring", "0@0,1@0,2@0", "test_lcore_run");
}

static void
stop(void)
{
	eal_stop();
}

static int
work(void *arg)
{
	atomic_fetch_add((_Atomic uint32_t *)arg, 1);
	return 0;
}

static int
stay(void *arg)
{
	while (!atomic_load(&leave))
		lcore_idle(true);
	return 0;
}

static bool
run(struct error *err)
{
	void *args[LCORES];

	for (uint32_t i = 0; i < LCORES; i++)
		args[i] = &ran[i];
	return lcores_run(&one.config.lcores, work, args, err);
}

TEST(all_have_returned_when_it_does)
{
	struct error err;

	for (uint32_t times = 1; times <= 100; times++) {
		check(run(&err));
		for (uint32_t i = 0; i < LCORES; i++)
			check_eq(atomic_load(&ran[i]), times);
	}
}

/* Work on the other lcores would still run when the caller takes back its arguments. */
TEST(if_one_is_not_free_none_begins)
{
	struct error err;
	uint32_t before[LCORES];

	for (uint32_t i = 0; i < LCORES; i++)
		before[i] = atomic_load(&ran[i]);
	check_eq(rte_eal_remote_launch(stay, NULL, one.config.lcores.at[LCORES - 1].id), 0);
	check(!run(&err));
	check_str(err.text, "cannot launch lcore 2");
	atomic_store(&leave, true);
	rte_eal_mp_wait_lcore();
	for (uint32_t i = 0; i < LCORES; i++)
		check_eq(atomic_load(&ran[i]), before[i]);
	check(run(&err));
}

int
main(void)
{
	return tests_run(start, stop);
}

/*
 * lcore_run.c - launches a function on every lcore, and pauses idle cores between turns.
 */
#include "lcore_run.h"

#include "base/check.h"
#include "base/pause.h"

#include <time.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#define SHORT_SLEEP_NS 20000 /* plus the kernel's timer slack, 50 us by default */

bool
lcores_run(const struct lcore_set *set, int (*work)(void *arg), void *const *args,
	   struct error *err)
{
	for (uint32_t i = 1; i < set->count; i++)
		if (rte_eal_get_lcore_state(set->at[i].id) != WAIT)
			return error_set(err, "cannot launch lcore %u", set->at[i].id);
	for (uint32_t i = 1; i < set->count; i++)
		ensure(rte_eal_remote_launch(work, args[i], set->at[i].id) == 0);
	work(args[0]);
	rte_eal_mp_wait_lcore();
	return true;
}

/* Sleeps instead of calling sched_yield, with which the scheduler ends the time slice, or on
 * Linux 6.18 skips a whole one, and every other thread of the CPU runs first. A thread that
 * sleeps runs when it wakes (README, decisions). */
static void
short_sleep(void)
{
	const struct timespec t = {.tv_nsec = SHORT_SLEEP_NS};

	nanosleep(&t, NULL);
}

void
lcore_idle(bool yield)
{
	if (yield)
		short_sleep();
	else
		cpu_pause();
}

/*
 * lcore_run.c - launches a function on every lcore, and pauses idle cores between turns.
 */
#include "lcore_run.h"

#include "base/check.h"
#include "base/pause.h"

#include <time.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#define SHORT_SLEEP_NS 20000 /* the kernel's timer slack is added, by default 50 us */

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

/* Sleeps. It does not call sched_yield, by which the thread would lose the rest of its time slice
 * (Linux 6.18: a whole slice), and every other thread of the CPU would run first. A thread that
 * sleeps runs again when it wakes (README, decisions). */
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

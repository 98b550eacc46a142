/*
 * lcore_run.c - the launch of one function on every lcore, and what an lcore does with a moment
 * that it gives away.
 */
#include "lcore_run.h"

#include <time.h>

#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_pause.h>

#define SHORT_SLEEP_NS 20000 /* and the kernel's timer slack, 50 us, where nobody set another */

bool
lcores_run(const struct lcore_set *set, int (*work)(void *arg), void *const *args,
	   struct error *err)
{
	for (uint32_t i = 1; i < set->count; i++)
		if (rte_eal_remote_launch(work, args[i], set->at[i].id) != 0)
			return error_set(err, "cannot launch lcore %u", set->at[i].id);
	work(args[0]);
	rte_eal_mp_wait_lcore();
	return true;
}

/* Not sched_yield: the scheduler takes the rest of a slice for it, or on Linux 6.18 a whole one,
 * and who else runs has his turn first, each time. Who sleeps is let in when it wakes. */
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
		rte_pause();
}

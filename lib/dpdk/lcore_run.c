#include "lcore_run.h"

#include <sched.h>

#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_pause.h>

bool
lcores_run(const struct lcore_set *set, int (*work)(void *arg), void *const *args, struct fault *f)
{
	for (uint32_t i = 1; i < set->count; i++)
		if (rte_eal_remote_launch(work, args[i], set->at[i].id) != 0)
			return fault_say(f, "core %u did not take its work", set->at[i].id);
	work(args[0]);
	rte_eal_mp_wait_lcore();
	return true;
}

void
lcore_idle(bool yield)
{
	if (yield)
		sched_yield();
	else
		rte_pause();
}

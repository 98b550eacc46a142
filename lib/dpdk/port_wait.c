/* port_wait.c - waits for a frame in the best way that queue and CPU support. DPDK 22.11 marks its
 * monitor functions as experimental; from 21.11 to 24.11 their names are the same. */
#define ALLOW_EXPERIMENTAL_API
#include "port_wait.h"
#include "cable.h"

#include <sys/prctl.h>
#include <time.h>

#include <rte_cpuflags.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_power_intrinsics.h>

static bool
cpu_can_monitor(void)
{
	struct rte_cpu_intrinsics can;

	rte_cpu_get_intrinsics_support(&can);
	return can.power_monitor;
}

enum wait_kind
port_wait_begin(const struct port_dpdk *p)
{
	struct rte_power_monitor_cond next;

	/* The default slack is 50 us, as long as the first sleep. */
	prctl(PR_SET_TIMERSLACK, WAIT_SLACK_NS);
	if (p->lane != NULL)
		return WAIT_EVENT;
	return cpu_can_monitor() && rte_eth_get_monitor_addr(p->id, p->queue, &next) == 0
		       ? WAIT_MONITOR
		       : WAIT_SLEEP;
}

static void
sleep_ns(uint64_t ns)
{
	const struct timespec t = {.tv_sec = (time_t)(ns / NS_PER_S),
				   .tv_nsec = (long)(ns % NS_PER_S)};

	/* If a signal ends the sleep early, the next turn begins early. */
	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

/* Waits until the descriptor changes, at most ns. rte_power_monitor reads the descriptor again
 * after arming, so a frame that has arrived since the last turn ends the wait at once. */
static bool
monitor(const struct port_dpdk *p, uint64_t ns)
{
	const uint64_t cycles = ns * (rte_get_tsc_hz() / US_PER_S) / 1000;
	struct rte_power_monitor_cond next;

	return rte_eth_get_monitor_addr(p->id, p->queue, &next) == 0 &&
	       rte_power_monitor(&next, rte_rdtsc() + cycles) == 0;
}

void
port_wait(const struct port_dpdk *p, enum wait_kind kind, uint64_t ns)
{
	if (kind == WAIT_EVENT)
		cable_core_wait(p->lane, ns);
	else if (kind != WAIT_MONITOR || !monitor(p, ns))
		sleep_ns(ns);
}

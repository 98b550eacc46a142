/*
 * process.c - reads the clock and the flag, and places threads that are no core.
 */
#include "process.h"
#include "base/time_units.h"
#include "store/store.h"
#include "topology/topology.h"

uint64_t
process_now_ns(const struct process *p)
{
	return tsc_clock_ns(p->clock);
}

uint32_t
process_store_s(const struct process *p)
{
	return STORE_CLOCK_START + (uint32_t)((process_now_ns(p) - p->start_ns) / NS_PER_S);
}

bool
process_is_stopping(const struct process *p)
{
	return atomic_load_explicit(&p->stop, memory_order_relaxed);
}

void
process_stop(struct process *p)
{
	atomic_store_explicit(&p->stop, true, memory_order_relaxed);
}

void
process_pin_thread(const struct process *p, pthread_t thread)
{
	const uint32_t cpu = p->control_cpu;
	cpu_set_t one;

	CPU_ZERO(&one);
	if (cpu != CPU_NONE)
		CPU_SET(cpu, &one);
	if (cpu == CPU_NONE || pthread_setaffinity_np(thread, sizeof one, &one) != 0)
		pthread_setaffinity_np(thread, sizeof p->all_cpus, &p->all_cpus);
}

void
process_pin(const struct process *p)
{
	process_pin_thread(p, pthread_self());
}

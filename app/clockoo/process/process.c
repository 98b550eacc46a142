/*
 * process.c - reads the clock, gives orders to the cores, and places threads that are no cores.
 */
#include "process.h"
#include "base/time_units.h"
#include "store/store.h"
#include "topology/topology.h"

#include <time.h>

/* Between two looks at the order by a paused core, or at the paused cores by the caller. */
#define PAUSE_STEP_NS 100000

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
	return atomic_load_explicit(&p->order, memory_order_relaxed) == PROCESS_STOP;
}

bool
process_is_interrupted(const struct process *p)
{
	/* Relaxed: a core that continues reads no data that belongs to the order. */
	return atomic_load_explicit(&p->order, memory_order_relaxed) != PROCESS_RUN;
}

void
process_stop(struct process *p)
{
	/* Release: a paused core sees the port as it was set up during the pause, and drains
	 * through it. */
	atomic_store_explicit(&p->order, PROCESS_STOP, memory_order_release);
}

static void
pause_step(void)
{
	nanosleep(&(struct timespec){.tv_nsec = PAUSE_STEP_NS}, NULL);
}

void
process_pause(struct process *p)
{
	atomic_store_explicit(&p->order, PROCESS_PAUSE, memory_order_relaxed);
}

bool
process_all_paused(const struct process *p, uint32_t cores)
{
	/* Acquire: pairs with the increment in process_wait_paused(). */
	return atomic_load_explicit(&p->paused, memory_order_acquire) == cores;
}

void
process_resume(struct process *p)
{
	atomic_store_explicit(&p->order, PROCESS_RUN, memory_order_release);
	/* Waits until no core counts as paused: it would count for the next pause, too. */
	while (atomic_load_explicit(&p->paused, memory_order_relaxed) != 0)
		pause_step();
}

bool
process_wait_paused(struct process *p)
{
	uint32_t order;

	atomic_fetch_add_explicit(&p->paused, 1, memory_order_release);
	/* Acquire: pairs with the store of the order that ends the pause. */
	while ((order = atomic_load_explicit(&p->order, memory_order_acquire)) == PROCESS_PAUSE)
		pause_step();
	atomic_fetch_sub_explicit(&p->paused, 1, memory_order_relaxed);
	return order == PROCESS_RUN;
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

/*
 * process.h - what the parts of the program share: the clock of the cores, the flag that ends them,
 * the CPUs of threads that are no core, the user, and the service manager.
 *
 * Units:  ns on the cores' clock.
 * Owner:  main; parts keep a pointer.
 * Thread: filled by main before other threads exist. The control thread writes stop; every thread
 *         may read.
 */
#ifndef CLOCKOO_PROCESS_H
#define CLOCKOO_PROCESS_H

#include "dpdk/tsc_clock.h"
#include "notify.h"
#include "privileges.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

struct process {
	struct tsc_clock *clock; /* runs once the port has started */
	uint64_t begun_ns;       /* when this process began */
	uint64_t start_ns;       /* the store's second STORE_CLOCK_START */
	atomic_bool stop;        /* carries no data: relaxed on both sides */
	uint32_t control_cpu;    /* of the control thread; CPU_NONE: any of all_cpus */
	cpu_set_t all_cpus;      /* before EAL pinned the main thread */
	struct privileges privileges;
	struct notify notify;
};

uint64_t process_now_ns(const struct process *p);
/* Returns the second of the store's clock. */
uint32_t process_store_s(const struct process *p);
bool process_is_stopping(const struct process *p);
void process_stop(struct process *p);

/* Moves a thread to the control thread's CPU. A new thread inherits the main thread's CPU, which a
 * core never yields. */
void process_pin_thread(const struct process *p, pthread_t thread);
/* Moves the calling thread there. */
void process_pin(const struct process *p);

#endif

/*
 * process.h - what the parts of the program share: the clock of the cores, the order that pauses
 * or ends them, the CPUs of threads that run no core, the user, and the service manager.
 *
 * Units:  ns on the cores' clock.
 * Owner:  main; parts keep a pointer.
 * Thread: filled by main before other threads exist. The control thread gives orders; every thread
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

/* Orders to the cores. A core looks once a turn, and compares with 0. */
enum process_order {
	PROCESS_RUN,
	PROCESS_PAUSE, /* leave the port alone: no turn until the next order */
	PROCESS_STOP,
};

struct process {
	struct tsc_clock *clock; /* runs once the port has started */
	uint64_t begun_ns;       /* when this process began */
	uint64_t start_ns;       /* when the store's clock read STORE_CLOCK_START */
	_Atomic uint32_t order;  /* enum process_order */
	_Atomic uint32_t paused; /* cores that have seen PROCESS_PAUSE and wait */
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

/* Orders the cores to pause. What a core did before it paused is visible to the caller once
 * process_all_paused is true, and what the caller does then is visible to the cores after
 * process_resume. */
void process_pause(struct process *p);
bool process_all_paused(const struct process *p, uint32_t cores);
/* Returns once all cores run again. */
void process_resume(struct process *p);

/* True if a core may not go on with its next turn: it is to pause or to stop. */
bool process_is_interrupted(const struct process *p);
/* Waits while the order is to pause, in the core's thread. True if the core may go on. */
bool process_wait_paused(struct process *p);

/* Moves a thread to the control thread's CPU. A new thread inherits the main thread's CPU, which a
 * core never yields. */
void process_pin_thread(const struct process *p, pthread_t thread);
/* Moves the calling thread there. */
void process_pin(const struct process *p);

#endif

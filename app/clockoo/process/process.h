/*
 * process.h - the parts of the process that others share: the clock of the cores, the order that
 * pauses or ends them, the CPUs of threads that run no core, the user, and the service manager.
 *
 * Units:  ns on the cores' clock.
 * Owner:  main; other parts have a pointer.
 * Thread: main fills it before other threads exist. The control thread gives orders. Every thread
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

/* Orders to the cores. A core compares the order with 0 once a turn. */
enum process_order {
	PROCESS_RUN,
	PROCESS_PAUSE, /* make no turn until the next order: the port is in use elsewhere */
	PROCESS_STOP,
};

struct process {
	struct tsc_clock *clock; /* runs since the port has started */
	uint64_t begun_ns;       /* when this process began */
	uint64_t start_ns;       /* when the store's clock was STORE_CLOCK_START */
	_Atomic uint32_t order;  /* enum process_order */
	_Atomic uint32_t paused; /* number of cores that wait because of PROCESS_PAUSE */
	uint32_t control_cpu;    /* CPU of the control thread; CPU_NONE: any of all_cpus */
	cpu_set_t all_cpus;      /* CPUs of the process before EAL pinned the main thread */
	struct privileges privileges;
	struct notify notify;
};

uint64_t process_now_ns(const struct process *p);
/* Returns the present second of the store's clock. */
uint32_t process_store_s(const struct process *p);
bool process_is_stopping(const struct process *p);
void process_stop(struct process *p);

/* Orders the cores to pause. Once process_all_paused() is true, the caller sees all that the cores
 * did before. After process_resume() the cores see all that the caller did meanwhile. */
void process_pause(struct process *p);
bool process_all_paused(const struct process *p, uint32_t cores);
/* Lets the cores continue. Returns once all of them do. */
void process_resume(struct process *p);

/* True if a core must pause or stop instead of making its next turn. */
bool process_is_interrupted(const struct process *p);
/* Waits in the core's thread while the order is PROCESS_PAUSE. True if the core may continue, false
 * if it must stop. */
bool process_wait_paused(struct process *p);

/* Moves a thread to the control thread's CPU. A new thread inherits the main thread's CPU, on which
 * a core never yields. */
void process_pin_thread(const struct process *p, pthread_t thread);
/* Moves the calling thread to the control thread's CPU. */
void process_pin(const struct process *p);

#endif

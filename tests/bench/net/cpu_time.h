/*
 * cpu_time.h - CPU time of a process, of this one and of the machine, as the kernel accounts it.
 *
 * Units:  seconds since something began: differences mean something.
 * Thread: any.
 * Errors: 0 for what is not to be had.
 */
#ifndef CLOCKOO_CPU_TIME_H
#define CLOCKOO_CPU_TIME_H

#include <stdint.h>

/* Of all threads that the process has now, in user and kernel mode, interrupts meanwhile included
 * (/proc/PID/task/TID/schedstat). */
double cpu_time_of(uint32_t pid);
/* Of all CPUs: everything but idling and waiting (/proc/stat). */
double cpu_time_machine(void);

#endif

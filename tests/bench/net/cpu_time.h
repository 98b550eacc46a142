/*
 * cpu_time.h - reads the CPU time of a process, of this one and of the machine, as the kernel
 * accounts it.
 *
 * Units:  seconds from an arbitrary origin: only differences have a meaning.
 * Thread: any thread.
 * Errors: 0 if the time is not available.
 */
#ifndef CLOCKOO_CPU_TIME_H
#define CLOCKOO_CPU_TIME_H

#include <stdint.h>

/* Returns the time of all present threads of the process, in user and kernel mode, including
 * interrupts meanwhile (/proc/PID/task/TID/schedstat). */
double cpu_time_of(uint32_t pid);
/* Returns the time of all CPUs, except idling and waiting (/proc/stat). */
double cpu_time_machine(void);

#endif

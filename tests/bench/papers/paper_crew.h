/*
 * paper_crew.h - runs a function on several threads at the same time, each on a CPU of its own.
 *
 * Units:  seconds of the wall clock, from the first begin to the last end.
 * Thread: the caller is thread 0.
 * Bounds: CREW_MAX threads. If there are fewer CPUs, threads share them.
 */
#ifndef CLOCKOO_PAPER_CREW_H
#define CLOCKOO_PAPER_CREW_H

#include <stdint.h>

#define CREW_MAX 16u

typedef void crew_work(void *arg, uint32_t thread);

/* Returns the number of CPUs that this process may use. */
uint32_t crew_cpus(void);
double crew_run(uint32_t threads, crew_work *work, void *arg);
/* As crew_run, but returns the CPU seconds of the thread that took most, which other processes
 * hardly affect. */
double crew_run_cpu(uint32_t threads, crew_work *work, void *arg);

#endif

/*
 * paper_crew.h - some threads that do one thing at the same time, each on a CPU of its own.
 *
 * Units:  seconds of the wall, from the first to begin until the last to end.
 * Thread: the caller is thread 0.
 * Bounds: CREW_MAX threads. More than there are CPUs share them.
 */
#ifndef CLOCKOO_PAPER_CREW_H
#define CLOCKOO_PAPER_CREW_H

#include <stdint.h>

#define CREW_MAX 16u

typedef void crew_work(void *arg, uint32_t thread);

/* CPUs that this process may use. */
uint32_t crew_cpus(void);
double crew_run(uint32_t threads, crew_work *work, void *arg);
/* Seconds of CPU, of the thread that took most: what else runs meanwhile hardly counts. */
double crew_run_cpu(uint32_t threads, crew_work *work, void *arg);

#endif

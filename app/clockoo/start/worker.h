/*
 * worker.h - the loop of one core, from start to stop.
 *
 * Thread: the lcore's own.
 * Bounds: DRAIN_NS from the stop flag to the return.
 */
#ifndef CLOCKOO_WORKER_H
#define CLOCKOO_WORKER_H

#define DRAIN_NS 1000000000ull

/* Runs a core; arg is its struct worker. Returns 0 once drained. */
int worker_run(void *arg);

#endif

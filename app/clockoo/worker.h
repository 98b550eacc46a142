/*
 * worker.h - what one core does from start to stop.
 *
 * Thread: the lcore's own.
 * Bounds: DRAIN_NS from the stop flag to the return.
 */
#ifndef CLOCKOO_WORKER_H
#define CLOCKOO_WORKER_H

#define DRAIN_NS 1000000000ull

/* arg: struct worker. Returns 0 once drained. */
int worker_run(void *arg);

#endif

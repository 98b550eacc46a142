/*
 * worker.h - the loop of one core, from start to stop, and its pauses.
 *
 * Thread: the lcore's own.
 * Bounds: DRAIN_NS from the stop flag to the return.
 */
#ifndef CLOCKOO_WORKER_H
#define CLOCKOO_WORKER_H

#include "core/core.h"
#include "dpdk/port_dpdk.h"
#include "process/process.h"

#define DRAIN_NS 1000000000ull

struct worker {
	uint32_t number;
	struct core *core;
	const struct port_dpdk *port; /* the core's port */
	struct process *process;
	bool yield;
	bool adaptive;        /* the core waits when it is idle */
	bool forwards_frames; /* its queue carries frames of other cores */
};

/* Runs a core; arg is its struct worker. Returns 0 once drained. */
int worker_run(void *arg);

#endif

/*
 * worker.h - the loop of one core, its pauses and its end.
 *
 * Thread: the core's lcore.
 * Bounds: DRAIN_NS from the order to stop to the return.
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
	bool yield;           /* an idle core yields its CPU */
	bool adaptive;        /* an idle core sleeps */
	bool forwards_frames; /* the core's queue gets frames of other cores */
};

/* Runs a core until it has drained. arg is its struct worker. Returns 0. */
int worker_run(void *arg);

#endif

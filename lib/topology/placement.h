/*
 * placement.h - which CPU each worker runs on, which the control thread, and which node's memory
 * they use: a pure plan from a topology and a few wishes.
 *
 * A worker polls without pause, so it wants a physical core of its own, on the NIC's socket: the
 * NIC writes frames into that socket's cache. Order of choice: nodes by their distance from the
 * NIC's; on a node isolated cores first, the core of CPU 0 last (the kernel does its chores
 * there); one CPU a core. When cores run out, or with both_threads before the next node, their
 * hyper-threads. The control thread gets what is left: no worker's core, not isolated, near.
 *
 * Shape:  core i of the appliance is at[i]; lcores holds the same in EAL's form.
 * Thread: pure functions.
 * Errors: struct error: how many cores there are.
 * Bounds: CORES_MAX workers.
 */
#ifndef CLOCKOO_PLACEMENT_H
#define CLOCKOO_PLACEMENT_H

#include "topology.h"

struct placement_request {
	uint32_t cores;
	const struct lcore_set *lcores; /* the operator's choice; count 0: ours */
	const struct cpu_list *usable;  /* what this process may run on; NULL: every CPU */
	uint32_t control_cpu;           /* CPU_NONE: ours to choose */
	int32_t nic_node;               /* NODE_UNKNOWN: no NIC, or it does not say */
	bool both_threads;              /* hyper-threads of a near core before a far core */
	bool share;                     /* more workers than CPUs: by turns on those there are */
};

struct placement_core {
	uint32_t cpu, socket, node;
	bool isolated;
	bool local;   /* on the NUMA node of the memory */
	bool sharing; /* its physical core with another worker */
};

struct placement {
	struct lcore_set lcores;
	struct placement_core at[CORES_MAX];
	uint32_t control_cpu; /* CPU_NONE: whatever CPU is left over by the workers at the moment */
	uint32_t node;        /* of the memory: the NIC's, or the first worker's */
	uint32_t remote, sharing,
		not_isolated; /* workers on another node; on a shared core; not isolated */
};

bool placement_make(struct placement *l, const struct topology *t,
		    const struct placement_request *req, struct error *err);

/* All CPUs that the topology has. */
void placement_all_cpus(struct cpu_list *cpus, const struct topology *t);

#endif

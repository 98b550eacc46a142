/*
 * placement.h - a CPU for each worker and for the control thread, and the NUMA node of the memory.
 *
 * A worker polls without pause, so it gets a physical core of its own on the NIC's socket: the NIC
 * writes frames into that socket's cache. Order of choice:
 * 1. nodes near the NIC's node first;
 * 2. on a node, isolated cores first, and last the core of CPU 0, which the kernel uses itself;
 * 3. one CPU of each core;
 * 4. hyper-threads once all cores are used, or with both_threads before the next node.
 *
 * The control thread gets a core that has no worker and is not isolated, if possible on the
 * memory's node.
 *
 * Shape:  core i of the appliance is at[i]; lcores holds the same in EAL's form.
 * Thread: pure functions.
 * Errors: struct error: there are too few cores; the text says how many there are.
 * Bounds: CORES_MAX workers.
 */
#ifndef CLOCKOO_PLACEMENT_H
#define CLOCKOO_PLACEMENT_H

#include "topology.h"

struct placement_request {
	uint32_t cores;
	const struct lcore_set *lcores; /* the operator's choice; count 0: placement decides */
	const struct cpu_list *usable;  /* the CPUs that this process may run on; NULL: all */
	uint32_t control_cpu;           /* CPU_NONE: placement decides */
	int32_t nic_node;               /* NODE_UNKNOWN: no NIC, or its node is not reported */
	bool both_threads;              /* use hyper-threads of local cores before remote cores */
	bool share; /* with more workers than CPUs, go round robin over the CPUs */
};

struct placement_core {
	uint32_t cpu, socket, node;
	bool isolated;
	bool local;   /* on the NUMA node of the memory */
	bool sharing; /* shares its physical core with another worker */
};

struct placement {
	struct lcore_set lcores;
	struct placement_core at[CORES_MAX];
	uint32_t control_cpu; /* CPU_NONE: it shares the workers' CPUs */
	uint32_t node;        /* node of the memory: the NIC's, or that of the first worker */
	uint32_t remote, sharing, not_isolated; /* numbers of workers: on another node, on a shared
						   physical core, not isolated */
};

bool placement_make(struct placement *l, const struct topology *t,
		    const struct placement_request *req, struct error *err);

/* Lists all CPUs of the topology. */
void placement_all_cpus(struct cpu_list *cpus, const struct topology *t);

#endif

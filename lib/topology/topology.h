/*
 * topology.h - describes a machine: sockets, cores, hyper-threads, NUMA nodes and their memory,
 * and the settings that decide how steadily its cores run.
 *
 * Shape:  plain data, read once from a tree. A physical core is identified by the lowest of its
 *         CPUs. A value that is not reported is 0, or the *_UNKNOWN of its enum.
 * Units:  bytes; microseconds (*_us); hugepages in kB, as the kernel names them.
 * Thread: one, at start.
 * Errors: none: a tree without files gives one node and no CPUs.
 * Bounds: LCORE_ID_END CPUs, NODES_MAX nodes. Further CPUs are only counted.
 */
#ifndef CLOCKOO_TOPOLOGY_H
#define CLOCKOO_TOPOLOGY_H

#include "config/lcores.h"
#include "machine_tree.h"

#define NODES_MAX           16u
#define HUGEPAGE_SIZES      2u  /* 2 MB, 1 GB */
#define CONTROLLERS_MAX     16u /* of memory */
#define CHANNELS_MAX        8u  /* of a controller */
#define IDLE_STATES_MAX     10u
#define TOPOLOGY_NAME_BYTES 64u

#define NODE_UNKNOWN (-1)
#define CPU_NONE     UINT32_MAX

enum turbo { TURBO_UNKNOWN, TURBO_ON, TURBO_OFF };

struct topology_cpu {
	bool online;
	bool isolated; /* excluded from the scheduler: isolcpus= */
	bool tickless; /* nohz_full= */
	uint32_t core; /* the lowest CPU of its physical core */
	uint32_t socket;
	uint32_t node;
	uint32_t idle_us; /* time to leave the deepest idle state that is allowed */
	char governor[TOPOLOGY_NAME_BYTES]; /* empty: the clock is not scaled */
};

struct topology_pages {
	uint32_t kb;
	uint64_t total, free;
};

struct topology_node {
	bool online;
	uint64_t memory_bytes;
	uint32_t distance[NODES_MAX]; /* 10 is the distance to itself */
	struct topology_pages pages[HUGEPAGE_SIZES];
};

struct topology {
	char model[TOPOLOGY_NAME_BYTES];
	uint32_t cpu_end; /* highest CPU number, plus 1 */
	struct topology_cpu cpu[LCORE_ID_END];
	uint32_t cpus, cores, sockets;
	uint32_t cpus_beyond; /* CPUs whose numbers are too high to be used */
	uint32_t node_end;
	struct topology_node node[NODES_MAX];
	/* Free memory in pages of ordinary size; all memory if that is not reported. */
	uint64_t available_bytes;
	enum turbo turbo;
	bool turbo_pstate; /* turbo is switched by intel_pstate */
	bool irqbalance;   /* irqbalance is running */
	bool numa_balancing;
	uint32_t controllers;
	uint64_t channel_mb[CONTROLLERS_MAX][CHANNELS_MAX]; /* by EDAC; 0: empty or unknown */
};

void topology_read(struct topology *t, const struct tree *tree);

/* Returns the free bytes of hugepages on a node, of all sizes. */
uint64_t topology_huge_free(const struct topology_node *node);

#endif

/*
 * memory_nodes.h - how much of the memory each NUMA node is to hold, and how much it does hold.
 *
 * What is to be follows from --numa and --node-memory; what is, from /proc/PID/numa_maps
 * (Documentation/filesystems/proc.rst of the kernel).
 *
 * Units:  bytes; kB as the kernel writes them.
 * Thread: pure functions over a tree and a configuration.
 * Errors: struct error: which nodes there are.
 * Bounds: NODES_MAX nodes.
 */
#ifndef CLOCKOO_MEMORY_NODES_H
#define CLOCKOO_MEMORY_NODES_H

#include "config/config.h"
#include "topology.h"

/* Has the machine every node that --numa names? */
bool memory_nodes_exist(const struct config *cfg, const struct topology *t, struct error *err);

/* Of bytes of memory, what node n is to hold; near: the NIC's node. */
uint64_t memory_node_share(const struct config *cfg, const struct topology *t, uint32_t near,
			   uint32_t n, uint64_t bytes);

/* Memory of a process that a policy governs. EAL's has none. */
struct memory_nodes {
	bool readable;
	uint64_t kb[NODES_MAX];
	uint64_t all_kb;
};

void memory_nodes_read(struct memory_nodes *m, const struct tree *tree, uint32_t pid);

#endif

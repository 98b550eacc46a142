/*
 * memory_nodes.h - how much memory each NUMA node should have of the process, and how much it has.
 *
 * The wanted share follows from --numa and --node-memory, the actual one from /proc/PID/numa_maps
 * (Documentation/filesystems/proc.rst of the kernel).
 *
 * Units:  bytes; kB as the kernel writes them.
 * Thread: pure functions over a tree and a configuration.
 * Errors: struct error: the nodes that exist.
 * Bounds: NODES_MAX nodes.
 */
#ifndef CLOCKOO_MEMORY_NODES_H
#define CLOCKOO_MEMORY_NODES_H

#include "config/config.h"
#include "topology.h"

/* True if the machine has every node that --numa names. */
bool memory_nodes_exist(const struct config *cfg, const struct topology *t, struct error *err);

/* Returns how many of `bytes` should be on node n. near: the NIC's node. */
uint64_t memory_node_share(const struct config *cfg, const struct topology *t, uint32_t near,
			   uint32_t n, uint64_t bytes);

/* Memory of a process that follows a NUMA policy. EAL's memory has no policy. */
struct memory_nodes {
	bool readable;
	uint64_t kb[NODES_MAX];
	uint64_t all_kb;
};

void memory_nodes_read(struct memory_nodes *m, const struct tree *tree, uint32_t pid);

#endif

/*
 * memory_nodes.c - the shares of the nodes, and the lines of numa_maps.
 */
#include "memory_nodes.h"
#include "number_list.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LIST_BYTES 128u

static_assert(CONFIG_NUMA_END <= NODES_MAX, "a node that --numa can name");

static uint32_t
nodes_with_memory(const struct topology *t)
{
	uint32_t nodes = 0;

	for (uint32_t n = 0; n < t->node_end; n++)
		if (t->node[n].online && t->node[n].memory_bytes != 0)
			nodes |= 1u << n;
	return nodes;
}

bool
memory_nodes_exist(const struct config *cfg, const struct topology *t, struct error *err)
{
	const uint32_t there = nodes_with_memory(t);
	bool has[CONFIG_NUMA_END];
	char list[LIST_BYTES];

	if (cfg->numa == CONFIG_NUMA_NIC || cfg->numa == CONFIG_NUMA_ALL ||
	    (cfg->numa & ~there) == 0)
		return true;
	for (uint32_t n = 0; n < CONFIG_NUMA_END; n++)
		has[n] = there >> n & 1;
	number_list_write(list, sizeof list, has, CONFIG_NUMA_END);
	return error_set(err, "--numa: there is no node %d; nodes with memory: %s",
			 __builtin_ctz(cfg->numa & ~there), list);
}

uint64_t
memory_node_share(const struct config *cfg, const struct topology *t, uint32_t near, uint32_t n,
		  uint64_t bytes)
{
	const uint32_t nodes = cfg->numa == CONFIG_NUMA_ALL ? nodes_with_memory(t) : cfg->numa;

	if (cfg->node_count != 0)
		return n < cfg->node_count ? bytes / config_reserved_mb(cfg) * cfg->node_mb[n] : 0;
	if (nodes == 0)
		return n == near ? bytes : 0;
	return nodes >> n & 1 ? bytes / (uint32_t)__builtin_popcount(nodes) : 0;
}

/* Adds one mapping: "7f12c0000000 prefer:0 anon=512 dirty=512 N0=512 kernelpagesize_kB=2048". */
static bool
add_mapping(void *arg, const char *line)
{
	struct memory_nodes *m = arg;
	const char *policy = strchr(line, ' '), *size = strstr(line, " kernelpagesize_kB=");
	uint64_t page_kb;

	m->readable = true;
	if (policy == NULL || size == NULL || strncmp(policy, " default ", 9) == 0 ||
	    strncmp(policy, " local ", 7) == 0)
		return true;
	page_kb = strtoull(strchr(size, '=') + 1, NULL, 10);
	for (const char *p = strstr(policy, " N"); p != NULL; p = strstr(p + 1, " N")) {
		char *end;
		const unsigned long node = strtoul(p + 2, &end, 10);

		if (*end != '=' || node >= NODES_MAX)
			continue;
		m->kb[node] += strtoull(end + 1, NULL, 10) * page_kb;
	}
	return true;
}

void
memory_nodes_read(struct memory_nodes *m, const struct tree *tree, uint32_t pid)
{
	char path[64];

	memset(m, 0, sizeof *m);
	snprintf(path, sizeof path, "proc/%u/numa_maps", pid);
	tree_lines(tree, path, add_mapping, m);
	for (uint32_t n = 0; n < NODES_MAX; n++)
		m->all_kb += m->kb[n];
}

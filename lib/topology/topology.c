/*
 * topology.c - sockets, cores, NUMA nodes, hugepages and clocks as sysfs describes them.
 */
#include "topology.h"
#include "number_list.h"

#include <stdio.h>
#include <string.h>

#define CPU_DIR    "sys/devices/system/cpu"
#define NODE_DIR   "sys/devices/system/node"
#define EDAC_DIR   "sys/devices/system/edac/mc"
#define DIMMS_MAX  32u
#define SELF_HOPS  10u /* distance of a node to itself, by ACPI */
#define OTHER_HOPS 20u

static const uint32_t huge_kb[HUGEPAGE_SIZES] = {2048, 1048576};

/* Sets a flag of the CPUs that a list file names. */
static void
flag_cpus(struct topology *t, const struct tree *tree, const char *path, size_t flag_at)
{
	char list[TREE_LINE_BYTES];
	uint32_t n;

	if (!tree_line(tree, list, sizeof list, "%s", path))
		return;
	for (uint32_t i = 0; number_list_at(list, strlen(list), i, &n); i++)
		if (n < LCORE_ID_END)
			*(bool *)(void *)((char *)&t->cpu[n] + flag_at) = true;
}

/* Returns the time to leave the deepest enabled idle state. The kernel lists the states from the
 * shallowest on. */
static uint32_t
idle_us_of(const struct tree *tree, uint32_t cpu)
{
	uint64_t us, disabled;
	uint32_t deepest = 0;

	for (uint32_t s = 0; s < IDLE_STATES_MAX; s++) {
		if (!tree_number(tree, &us, CPU_DIR "/cpu%u/cpuidle/state%u/latency", cpu, s))
			break;
		if (tree_number(tree, &disabled, CPU_DIR "/cpu%u/cpuidle/state%u/disable", cpu,
				s) &&
		    disabled != 0)
			continue;
		deepest = us > deepest ? (uint32_t)us : deepest;
	}
	return deepest;
}

static void
read_cpu(struct topology *t, const struct tree *tree, uint32_t cpu)
{
	struct topology_cpu *c = &t->cpu[cpu];
	char list[TREE_LINE_BYTES];
	uint64_t n;

	c->core = cpu;
	/* Kernels before 5.3 have only the second name. */
	if (tree_line(tree, list, sizeof list, CPU_DIR "/cpu%u/topology/core_cpus_list", cpu) ||
	    tree_line(tree, list, sizeof list, CPU_DIR "/cpu%u/topology/thread_siblings_list", cpu))
		number_list_at(list, strlen(list), 0, &c->core);
	if (tree_number(tree, &n, CPU_DIR "/cpu%u/topology/physical_package_id", cpu))
		c->socket = (uint32_t)n;
	tree_line(tree, c->governor, sizeof c->governor, CPU_DIR "/cpu%u/cpufreq/scaling_governor",
		  cpu);
	c->idle_us = idle_us_of(tree, cpu);
}

static void
read_cpus(struct topology *t, const struct tree *tree)
{
	uint64_t sockets = 0; /* a bit for each socket */
	char list[TREE_LINE_BYTES];
	uint32_t n;

	tree_line(tree, list, sizeof list, CPU_DIR "/online");
	for (uint32_t i = 0; number_list_at(list, strlen(list), i, &n); i++) {
		if (n >= LCORE_ID_END) {
			t->cpus_beyond++;
			continue;
		}
		t->cpu[n].online = true;
		t->cpu_end = n + 1 > t->cpu_end ? n + 1 : t->cpu_end;
	}
	for (uint32_t cpu = 0; cpu < t->cpu_end; cpu++) {
		if (!t->cpu[cpu].online)
			continue;
		read_cpu(t, tree, cpu);
		t->cpus++;
		t->cores += t->cpu[cpu].core == cpu;
		sockets |= 1ull << t->cpu[cpu].socket % 64;
	}
	t->sockets = (uint32_t)__builtin_popcountll(sockets);
	flag_cpus(t, tree, CPU_DIR "/isolated", offsetof(struct topology_cpu, isolated));
	flag_cpus(t, tree, CPU_DIR "/nohz_full", offsetof(struct topology_cpu, tickless));
}

static void
read_pages(struct topology_node *node, const struct tree *tree, const char *dir)
{
	for (uint32_t k = 0; k < HUGEPAGE_SIZES; k++) {
		struct topology_pages *p = &node->pages[k];

		p->kb = huge_kb[k];
		tree_number(tree, &p->total, "%s/hugepages-%ukB/nr_hugepages", dir, p->kb);
		tree_number(tree, &p->free, "%s/hugepages-%ukB/free_hugepages", dir, p->kb);
	}
}

static void
read_node(struct topology *t, const struct tree *tree, uint32_t n)
{
	struct topology_node *node = &t->node[n];
	char text[TREE_LINE_BYTES], dir[TREE_PATH_BYTES];
	uint64_t kb = 0;
	uint32_t cpu;

	node->online = true;
	if (tree_value_of(tree, &kb, "MemTotal:", NODE_DIR "/node%u/meminfo", n))
		node->memory_bytes = kb << 10;
	snprintf(dir, sizeof dir, NODE_DIR "/node%u/hugepages", n);
	read_pages(node, tree, dir);
	tree_line(tree, text, sizeof text, NODE_DIR "/node%u/cpulist", n);
	for (uint32_t i = 0; number_list_at(text, strlen(text), i, &cpu); i++)
		if (cpu < LCORE_ID_END)
			t->cpu[cpu].node = n;
}

/* Reads the distances of a node, such as "10 21": one for each node, in their order. */
static void
read_distances(struct topology *t, const struct tree *tree, uint32_t n)
{
	char text[TREE_LINE_BYTES];
	const char *p = text;

	tree_line(tree, text, sizeof text, NODE_DIR "/node%u/distance", n);
	for (uint32_t other = 0; other < t->node_end; other++) {
		uint32_t hops = other == n ? SELF_HOPS : OTHER_HOPS;

		if (t->node[other].online && number_list_at(p, strlen(p), 0, &hops)) {
			p += strspn(p, "0123456789");
			p += strspn(p, " ");
		}
		t->node[n].distance[other] = hops;
	}
}

/* Reads a machine whose kernel has no NUMA and so no directory of nodes. It counts as one node. */
static void
read_whole(struct topology *t, const struct tree *tree)
{
	uint64_t kb = 0;

	t->node_end = 1;
	t->node[0].online = true;
	t->node[0].distance[0] = SELF_HOPS;
	if (tree_value_of(tree, &kb, "MemTotal:", "proc/meminfo"))
		t->node[0].memory_bytes = kb << 10;
	read_pages(&t->node[0], tree, "sys/kernel/mm/hugepages");
}

static void
read_nodes(struct topology *t, const struct tree *tree)
{
	char list[TREE_LINE_BYTES];
	uint32_t n;

	if (!tree_line(tree, list, sizeof list, NODE_DIR "/online")) {
		read_whole(t, tree);
		return;
	}
	for (uint32_t i = 0; number_list_at(list, strlen(list), i, &n); i++) {
		if (n >= NODES_MAX)
			break;
		t->node_end = n + 1;
		read_node(t, tree, n);
	}
	for (n = 0; n < t->node_end; n++)
		read_distances(t, tree, n);
}

static void
read_turbo(struct topology *t, const struct tree *tree)
{
	uint64_t n;

	t->turbo_pstate = tree_number(tree, &n, CPU_DIR "/intel_pstate/no_turbo");
	if (t->turbo_pstate)
		t->turbo = n == 0 ? TURBO_ON : TURBO_OFF;
	else if (tree_number(tree, &n, CPU_DIR "/cpufreq/boost"))
		t->turbo = n != 0 ? TURBO_ON : TURBO_OFF;
}

/* Parses a line such as "model name : Intel(R) Xeon(R) CPU E5-2660 0 @ 2.20GHz". */
static bool
parse_model(void *arg, const char *line)
{
	struct topology *t = arg;
	const char *colon = strchr(line, ':');

	if (strncmp(line, "model name", 10) != 0 || colon == NULL)
		return true;
	snprintf(t->model, sizeof t->model, "%s", colon + 1 + strspn(colon + 1, " "));
	return false;
}

struct search {
	const struct tree *tree;
	bool found;
};

static bool
is_irqbalance(void *arg, const char *pid)
{
	struct search *s = arg;
	char name[TOPOLOGY_NAME_BYTES];

	if (pid[0] >= '0' && pid[0] <= '9' &&
	    tree_line(s->tree, name, sizeof name, "proc/%s/comm", pid))
		s->found = strcmp(name, "irqbalance") == 0;
	return !s->found;
}

/* Reads the memory channels. EDAC names each module with its controller and "channel 0 slot
 * 1". */
static void
read_channels(struct topology *t, const struct tree *tree)
{
	for (uint32_t mc = 0; mc < CONTROLLERS_MAX; mc++) {
		if (!tree_has(tree, EDAC_DIR "/mc%u", mc))
			break;
		t->controllers = mc + 1;
		for (uint32_t d = 0; d < DIMMS_MAX; d++) {
			uint64_t mb, channel;

			if (tree_number(tree, &mb, EDAC_DIR "/mc%u/dimm%u/size", mc, d) &&
			    tree_value_of(tree, &channel, "channel",
					  EDAC_DIR "/mc%u/dimm%u/dimm_location", mc, d) &&
			    channel < CHANNELS_MAX)
				t->channel_mb[mc][channel] += mb;
		}
	}
}

static void
read_available(struct topology *t, const struct tree *tree)
{
	uint64_t kb = 0;

	for (uint32_t n = 0; n < t->node_end; n++)
		t->available_bytes += t->node[n].memory_bytes;
	if (tree_value_of(tree, &kb, "MemAvailable:", "proc/meminfo"))
		t->available_bytes = kb << 10;
}

void
topology_read(struct topology *t, const struct tree *tree)
{
	struct search irqbalance = {tree, false};
	uint64_t n;

	memset(t, 0, sizeof *t);
	tree_lines(tree, "proc/cpuinfo", parse_model, t);
	read_cpus(t, tree);
	read_nodes(t, tree);
	read_available(t, tree);
	read_turbo(t, tree);
	read_channels(t, tree);
	tree_names(tree, "proc", is_irqbalance, &irqbalance);
	t->irqbalance = irqbalance.found;
	t->numa_balancing = tree_number(tree, &n, "proc/sys/kernel/numa_balancing") && n != 0;
}

uint64_t
topology_huge_free(const struct topology_node *node)
{
	uint64_t bytes = 0;

	for (uint32_t k = 0; k < HUGEPAGE_SIZES; k++)
		bytes += node->pages[k].free * node->pages[k].kb * 1024;
	return bytes;
}

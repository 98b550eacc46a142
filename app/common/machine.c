/*
 * machine.c - reads the machine's topology and places workers and control thread on it.
 */
#include "machine.h"
#include "base/check.h"
#include "topology/memory_nodes.h"

#include <sched.h>
#include <string.h>

static_assert(CPU_NONE == CONFIG_NO_CPU, "one word for no CPU");

/* Returns the NUMA node of the NIC, or of the NIC behind a kernel interface. */
static int32_t
node_of_nic(const struct machine *m, const struct config *cfg)
{
	uint64_t node;

	if (m->nic.there)
		return m->nic.node;
	if (cfg->iface[0] != '\0' &&
	    tree_number(&m->tree, &node, "sys/class/net/%s/device/numa_node", cfg->iface) &&
	    node < NODES_MAX)
		return (int32_t)node;
	return NODE_UNKNOWN;
}

bool
machine_read(struct machine *m, const struct config *cfg, const char *where, struct error *err)
{
	if (!tree_open(&m->tree, where, err))
		return false;
	topology_read(&m->topology, &m->tree);
	pci_nic_read(&m->nic, &m->tree, cfg->pci);
	m->nic_node = node_of_nic(m, cfg);
	if (m->topology.cpus != 0)
		return true;
	machine_close(m);
	return error_set(err, "--sysfs: %s: no CPUs in sys/devices/system/cpu/online", where);
}

void
machine_close(struct machine *m)
{
	tree_close(&m->tree);
}

static bool
has_cpu(const struct cpu_list *cpus, uint32_t cpu)
{
	for (uint32_t i = 0; i < cpus->count; i++)
		if (cpus->at[i] == cpu)
			return true;
	return false;
}

void
machine_add_isolated(const struct machine *m, struct cpu_list *cpus)
{
	cpu_set_t before, one;

	if (sched_getaffinity(0, sizeof before, &before) != 0)
		return;
	for (uint32_t cpu = 0; cpu < m->topology.cpu_end; cpu++) {
		if (!m->topology.cpu[cpu].isolated || !m->topology.cpu[cpu].online ||
		    has_cpu(cpus, cpu))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		/* the kernel refuses a CPU outside a container's set */
		if (sched_setaffinity(0, sizeof one, &one) == 0)
			cpus->at[cpus->count++] = cpu;
	}
	sched_setaffinity(0, sizeof before, &before);
}

bool
machine_place(struct machine *m, struct config *cfg, const struct cpu_list *usable,
	      struct error *err)
{
	const struct placement_request req = {
		.cores = cfg->cores,
		.lcores = &cfg->lcores,
		.usable = usable,
		.control_cpu = cfg->control_cpu,
		.nic_node = m->nic_node,
		.both_threads = cfg->hyperthreads == HYPERTHREADS_WORKERS,
		.share = cfg->share_cpus,
	};
	struct cpu_list all;

	if (!memory_nodes_exist(cfg, &m->topology, err))
		return false;
	placement_all_cpus(&all, &m->topology);
	if (usable == NULL)
		usable = &all;
	if (!lcores_exist(&cfg->lcores, usable, err))
		return false;
	if (cfg->control_cpu != CONFIG_NO_CPU && !has_cpu(usable, cfg->control_cpu))
		return error_set(err, "--control-cpu: there is no CPU %u for it", cfg->control_cpu);
	if (!placement_make(&m->placement, &m->topology, &req, err))
		return false;
	cfg->lcores = m->placement.lcores;
	if (lcores_share_cpus(&cfg->lcores))
		cfg->yield = true;
	return true;
}

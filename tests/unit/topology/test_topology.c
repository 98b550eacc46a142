/*
 * A machine's topology. Goal: sockets, cores, hyper-threads, nodes, hugepages, switches and NICs
 * are read right, however the CPUs are numbered and whichever files are missing. Method: recorded
 * machines against tables.
 */
#include "topology/pci_nic.h"
#include "topology/topology.h"
#include "machines.h"

static const struct {
	const char *machine, *model;
	uint32_t sockets, cores, cpus, nodes;
	enum turbo turbo;
	bool pstate, irqbalance, balancing;
	uint32_t controllers;
} shapes[] = {
	{"xeon-e5-2660", "Intel(R) Xeon(R) CPU E5-2660 0 @ 2.20GHz", 2, 16, 32, 2, TURBO_ON, true,
	 true, true, 2},
	{"xeon-e5-2660-tuned", "Intel(R) Xeon(R) CPU E5-2660 0 @ 2.20GHz", 2, 16, 32, 2, TURBO_ON,
	 true, false, false, 2},
	{"xeon-6130-interleaved", "Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz", 2, 32, 64, 2,
	 TURBO_OFF, true, true, true, 4},
	{"xeon-e5-2660v2-mlx5", "Intel(R) Xeon(R) CPU E5-2660 v2 @ 2.20GHz", 2, 20, 40, 2, TURBO_ON,
	 false, false, false, 0},
	{"vm", "Intel Xeon Processor (Skylake, IBRS)", 1, 1, 2, 1, TURBO_UNKNOWN, false, false,
	 false, 0},
};

static void
read_machine(struct topology *t, const char *name)
{
	struct tree tree;

	open_machine(&tree, name);
	topology_read(t, &tree);
	tree_close(&tree);
}

TEST(a_machine_has_the_shape_that_lscpu_prints)
{
	for (uint32_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
		struct topology t;

		read_machine(&t, shapes[i].machine);
		check_str(t.model, shapes[i].model);
		check_eq(t.sockets, shapes[i].sockets);
		check_eq(t.cores, shapes[i].cores);
		check_eq(t.cpus, shapes[i].cpus);
		check_eq(t.node_end, shapes[i].nodes);
		check_eq(t.turbo, shapes[i].turbo);
		check_eq(t.turbo_pstate, shapes[i].pstate);
		check_eq(t.irqbalance, shapes[i].irqbalance);
		check_eq(t.numa_balancing, shapes[i].balancing);
		check_eq(t.controllers, shapes[i].controllers);
		check_eq(t.cpus_beyond, 0);
	}
}

static const struct {
	const char *machine;
	uint32_t cpu, core, socket, node, idle_us;
	bool isolated, tickless;
	const char *governor;
} cpus[] = {
	{"xeon-e5-2660", 0, 0, 0, 0, 109, false, false, "schedutil"},
	{"xeon-e5-2660", 23, 7, 0, 0, 109, false, false, "schedutil"},
	{"xeon-e5-2660", 8, 8, 1, 1, 109, false, false, "schedutil"},
	{"xeon-e5-2660-tuned", 23, 7, 0, 0, 10, true, true, "performance"},
	{"xeon-e5-2660-tuned", 16, 0, 0, 0, 10, false, false, "performance"},
	{"xeon-6130-interleaved", 33, 1, 1, 1, 133, false, false, "powersave"},
	{"xeon-6130-interleaved", 47, 15, 1, 1, 133, true, false, "powersave"},
	{"xeon-6130-interleaved", 62, 30, 0, 0, 133, false, false, "powersave"},
	{"xeon-e5-2660v2-mlx5", 30, 10, 1, 1, 1, false, false, "performance"},
	{"vm", 1, 0, 0, 0, 0, false, false, ""},
};

TEST(a_cpu_knows_its_core_socket_and_node)
{
	for (uint32_t i = 0; i < sizeof cpus / sizeof cpus[0]; i++) {
		const struct topology_cpu *c;
		struct topology t;

		read_machine(&t, cpus[i].machine);
		c = &t.cpu[cpus[i].cpu];
		check(c->online);
		check_eq(c->core, cpus[i].core);
		check_eq(c->socket, cpus[i].socket);
		check_eq(c->node, cpus[i].node);
		check_eq(c->idle_us, cpus[i].idle_us);
		check_eq(c->isolated, cpus[i].isolated);
		check_eq(c->tickless, cpus[i].tickless);
		check_str(c->governor, cpus[i].governor);
	}
}

TEST(a_node_knows_its_memory_and_its_pages)
{
	struct topology t;

	read_machine(&t, "xeon-6130-interleaved");
	check_eq(t.node[0].memory_bytes, 97562136ull << 10);
	check_eq(t.node[0].distance[0], 10);
	check_eq(t.node[0].distance[1], 21);
	check_eq(t.node[1].distance[0], 21);
	check_eq(t.node[0].pages[0].free, 4096);
	check_eq(topology_huge_free(&t.node[1]), 64ull * (2u << 20));
	check_eq(t.channel_mb[2][2], 16384);
	check_eq(t.channel_mb[3][2], 0);
	read_machine(&t, "xeon-e5-2660v2-mlx5");
	check_eq(topology_huge_free(&t.node[0]), 32ull << 30);
	read_machine(&t, "vm");
	check_eq(t.node[0].memory_bytes, 4028764ull << 10);
	check_eq(t.node[0].pages[0].total, 512);
	check_eq(t.node[0].pages[0].free, 500);
}

static const struct {
	const char *machine, *asked, *address, *driver, *iface, *firmware;
	uint32_t vendor, device;
	int32_t node;
	enum link_state link;
	uint32_t mbps, width, width_max;
	const char *group;
	bool bound, shared;
} nics[] = {
	{"xeon-e5-2660", "04:00.0", "0000:04:00.0", "vfio-pci", "", "", 0x8086, 0x10fb, 0,
	 LINK_UNKNOWN, 0, 8, 8, "27", true, false},
	{"xeon-e5-2660", "0000:07:00.0", "0000:07:00.0", "igb", "eno1", "", 0x8086, 0x10c9, 0,
	 LINK_UP, 1000, 4, 4, "30", false, false},
	{"xeon-6130-interleaved", "af:00.0", "0000:af:00.0", "i40e", "enp175s0f0",
	 "6.01 0x800035cf 1.1747.0", 0x8086, 0x1572, 1, LINK_DOWN, 0, 4, 8, "", false, false},
	{"xeon-6130-interleaved", "af:00.1", "0000:af:00.1", "i40e", "enp175s0f1",
	 "6.01 0x800035cf 1.1747.0", 0x8086, 0x1572, 1, LINK_UP, 10000, 4, 8, "", false, false},
	{"xeon-e5-2660v2-mlx5", "05:00.0", "0000:05:00.0", "mlx5_core", "enp5s0f0np0",
	 "14.32.1010 (MT_2420110034)", 0x15b3, 0x1015, NODE_UNKNOWN, LINK_UP, 25000, 8, 8, "", true,
	 true},
	{"vm", "00:03.0", "0000:00:03.0", "virtio-pci", "eth0", "", 0x1af4, 0x1041, NODE_UNKNOWN,
	 LINK_DOWN, 0, 0, 0, "", false, false},
};

TEST(a_nic_is_known_by_its_address)
{
	for (uint32_t i = 0; i < sizeof nics / sizeof nics[0]; i++) {
		struct pci_nic n;
		struct tree tree;

		open_machine(&tree, nics[i].machine);
		pci_nic_read(&n, &tree, nics[i].asked);
		tree_close(&tree);
		check(n.there);
		check_str(n.address, nics[i].address);
		check_str(n.driver, nics[i].driver);
		check_str(n.iface, nics[i].iface);
		check_str(n.firmware, nics[i].firmware);
		check_eq(n.vendor, nics[i].vendor);
		check_eq(n.device, nics[i].device);
		check_eq(n.node, nics[i].node);
		check_eq(n.link, nics[i].link);
		check_eq(n.link_mbps, nics[i].mbps);
		check_eq(n.pcie_width, nics[i].width);
		check_eq(n.pcie_width_max, nics[i].width_max);
		check_str(n.iommu_group, nics[i].group);
		check_eq(pci_nic_is_bound(&n), nics[i].bound);
		check_eq(pci_nic_is_shared(&n), nics[i].shared);
	}
}

TEST(an_address_without_a_device_is_not_there)
{
	struct pci_nic nic;
	struct tree tree;

	open_machine(&tree, "xeon-e5-2660");
	pci_nic_read(&nic, &tree, "0000:04:00.0");
	check(nic.there);
	pci_nic_read(&nic, &tree, "0000:99:00.0");
	check(!nic.there);
	tree_close(&tree);
}

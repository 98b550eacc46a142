/*
 * Advice on a machine. Goal: each rule is silent on a tuned machine and speaks when its one
 * condition fails, alone, with a fix that works. Method: the tuned machine and seven workers, one
 * thing broken a row; the whole list is checked each time.
 */
#include "topology/advice.h"
#include "machines.h"

#include <stdlib.h>

#define MB (1ull << 20)

struct fixture {
	struct tree tree;
	struct topology topology;
	struct placement placement;
	struct pci_nic nic;
	struct config config;
	struct advice_input c;
	uint32_t cores;
};

typedef void break_fn(struct fixture *b);

static void
nothing(struct fixture *b)
{
}

static void
far_workers(struct fixture *b)
{
	b->cores = 10;
	for (uint32_t cpu = 0; cpu < b->topology.cpu_end; cpu++)
		b->topology.cpu[cpu].isolated = true;
}

static void
shared_cores(struct fixture *b)
{
	for (uint32_t cpu = 7; cpu < b->topology.cpu_end; cpu++)
		b->topology.cpu[cpu].online = false;
	b->topology.cpu[0].isolated = true;
	b->topology.cpu[2].core = 1;
	b->topology.cores = 6;
}

static void
not_isolated(struct fixture *b)
{
	b->topology.cpu[3].isolated = b->topology.cpu[19].isolated = false;
}

/* There is one more worker than isolated cores: it gets the kernel's own core. */
static void
on_first_core(struct fixture *b)
{
	b->cores = 8;
}

static void
on_first_core_and_another(struct fixture *b)
{
	on_first_core(b);
	not_isolated(b);
}

static void
no_cpu_for_control(struct fixture *b)
{
	for (uint32_t cpu = 8; cpu < b->topology.cpu_end; cpu++)
		b->topology.cpu[cpu].online = false;
	b->topology.cpu[0].isolated = true;
	b->cores = 8;
}

static void
control_beside_worker(struct fixture *b)
{
	for (uint32_t cpu = 8; cpu < b->topology.cpu_end; cpu++)
		b->topology.cpu[cpu].online = cpu == 16;
	b->topology.cpu[0].isolated = true;
	b->cores = 8;
}

static void
slow_governor(struct fixture *b)
{
	strcpy(b->topology.cpu[7].governor, "powersave");
}

static void
deep_states(struct fixture *b)
{
	b->topology.cpu[1].idle_us = 80;
}

static void
no_turbo(struct fixture *b)
{
	b->topology.turbo = TURBO_OFF;
}

static void
no_boost(struct fixture *b)
{
	b->topology.turbo = TURBO_OFF;
	b->topology.turbo_pstate = false;
}

static void
irqbalance(struct fixture *b)
{
	b->topology.irqbalance = true;
	b->topology.cpu[1].isolated = b->topology.cpu[17].isolated = false;
}

static void
balancing(struct fixture *b)
{
	b->topology.numa_balancing = true;
}

static void
unequal_nodes(struct fixture *b)
{
	b->topology.node[1].memory_bytes /= 2;
}

static void
unequal_channels(struct fixture *b)
{
	b->topology.channel_mb[1][3] = 0;
}

static void
unequal_modules(struct fixture *b)
{
	b->topology.channel_mb[1][3] *= 2;
}

static void
pages_elsewhere(struct fixture *b)
{
	b->topology.node[0].pages[0].free = 100;
	b->topology.node[1].pages[0].free = 8192;
}

static void
no_pages(struct fixture *b)
{
	b->topology.node[0].pages[0] = (struct topology_pages){2048, 120, 100};
}

static void
no_large_pages(struct fixture *b)
{
	b->topology.node[0].pages[0] = (struct topology_pages){2048, 0, 0};
	b->topology.node[0].pages[1] = (struct topology_pages){1048576, 1, 1};
}

/* The pages would suffice together, but the store needs one piece. */
static void
scattered_pages(struct fixture *b)
{
	b->topology.node[0].pages[0] = (struct topology_pages){2048, 900, 900};
	b->topology.node[0].pages[1] = (struct topology_pages){1048576, 1, 1};
}

/* Half of the items are on each node: 1000 MB, and the frames on node 0. */
static void
shared_out(struct fixture *b)
{
	b->config.node_count = 2;
	b->config.node_mb[0] = b->config.node_mb[1] = b->config.memory_mb / 2;
	b->topology.node[1].pages[0] = (struct topology_pages){2048, 600, 600};
}

static void
shared_out_badly(struct fixture *b)
{
	shared_out(b);
	b->topology.node[1].pages[0].free = 100;
}

static void
size_is_said(struct fixture *b)
{
	b->config.hugepage = HUGEPAGE_1G;
}

static void
no_huge(struct fixture *b)
{
	b->config.no_huge = true;
}

static void
more_than_ordinary_memory(struct fixture *b)
{
	b->config.no_huge = true;
	b->topology.available_bytes = 2099 * MB;
}

static void
bound_to_kernel(struct fixture *b)
{
	strcpy(b->nic.driver, "ixgbe");
}

static void
bound_to_kernel_that_shares(struct fixture *b)
{
	bound_to_kernel(b);
	snprintf(b->config.kernel, sizeof b->config.kernel, "clockoo0");
}

static void
no_driver(struct fixture *b)
{
	b->nic.driver[0] = '\0';
}

static void
no_iommu(struct fixture *b)
{
	b->nic.iommu_group[0] = '\0';
}

static void
no_iommu_of_amd(struct fixture *b)
{
	no_iommu(b);
	strcpy(b->topology.model, "AMD EPYC 7763 64-Core Processor");
}

/* Arm's cores have no model line in /proc/cpuinfo. */
static void
no_iommu_of_nobody(struct fixture *b)
{
	no_iommu(b);
	b->topology.model[0] = '\0';
}

static void
uio(struct fixture *b)
{
	b->nic.iommu_group[0] = '\0';
	strcpy(b->nic.driver, "uio_pci_generic");
}

static void
noiommu(struct fixture *b)
{
	b->nic.noiommu = true;
}

static void
node_unknown(struct fixture *b)
{
	b->nic.node = NODE_UNKNOWN;
}

static void
narrow_slot(struct fixture *b)
{
	b->nic.pcie_width = 4;
}

static void
slow_slot(struct fixture *b)
{
	strcpy(b->nic.pcie_speed, "2.5 GT/s PCIe");
}

static void
link_down(struct fixture *b)
{
	strcpy(b->nic.iface, "eth7");
	b->nic.link = LINK_DOWN;
}

static void
i40e_firmware(struct fixture *b)
{
	strcpy(b->nic.driver, "i40e");
	strcpy(b->nic.firmware, "8.15 0x80009621 1.2829.0");
}

static void
mlx5_firmware(struct fixture *b)
{
	b->nic.vendor = 0x15b3;
	strcpy(b->nic.driver, "mlx5_core");
	strcpy(b->nic.firmware, "14.20.1010 (MT_2420110034)");
}

static void
no_nic(struct fixture *b)
{
	b->nic.there = false;
}

static const struct {
	break_fn *how;
	enum advice_severity severity;
	const char *subject, *words, *fix;
	uint32_t others; /* entries that are not good beside this one */
} rows[] = {
	{nothing, ADVICE_OK, "cores", "7 workers, each with a physical core of node 0", "", 0},
	{far_workers, ADVICE_WARN, "cores", "2 of 10 workers are on another NUMA node",
	 "-t 8 uses CPUs of node 0 only", 0},
	{shared_cores, ADVICE_WARN, "cores", "2 of 7 workers share a physical core", "-t 6 gives",
	 1},
	{not_isolated, ADVICE_WARN, "isolation", "1 of 7 workers",
	 "isolcpus=managed_irq,domain,1-7,17-23 nohz_full=1-7,17-23 rcu_nocbs=1-7,17-23", 0},
	{on_first_core, ADVICE_WARN, "isolation", "1 of 8 workers",
	 "-t 7 leaves a core to the kernel", 0},
	{on_first_core_and_another, ADVICE_WARN, "isolation", "2 of 8 workers",
	 "domain,1-7,17-23 nohz_full", 0},
	{no_cpu_for_control, ADVICE_WARN, "control thread", "no CPU is left", "-t 7", 0},
	{control_beside_worker, ADVICE_WARN, "control thread",
	 "CPU 16, on the physical core of worker ", "-t 7", 0},
	{slow_governor, ADVICE_WARN, "governor", "powersave", "echo performance > $f", 0},
	{deep_states, ADVICE_WARN, "C-states", "the deepest has an exit latency of 80 us",
	 "-le 10 ]", 0},
	{no_turbo, ADVICE_WARN, "turbo", "off", "echo 0 > /sys/devices/system/cpu/intel_pstate", 0},
	{no_boost, ADVICE_WARN, "turbo", "off", "echo 1 > /sys/devices/system/cpu/cpufreq/boost",
	 0},
	{irqbalance, ADVICE_WARN, "irqbalance", "running: it may", "disable --now irqbalance", 1},
	{balancing, ADVICE_WARN, "NUMA balancing", "on", "kernel.numa_balancing=0", 0},
	{unequal_nodes, ADVICE_WARN, "NUMA memory", "unequal: 16128 MB on one node, 32072 MB",
	 "same memory modules", 0},
	{unequal_channels, ADVICE_WARN, "memory channels", "unevenly populated", "every channel",
	 0},
	{unequal_modules, ADVICE_WARN, "memory channels", "unevenly populated", "every channel", 0},
	{pages_elsewhere, ADVICE_WARN, "hugepages",
	 "200 MB free on node 0, 2100 MB needed; the rest would come from another node",
	 "tools/nic hugepages 0 2M 9142", 0},
	{no_pages, ADVICE_FAIL, "hugepages", "200 MB free on node 0, 2100 MB needed",
	 "tools/nic hugepages 0 2M 1070", 0},
	{no_large_pages, ADVICE_FAIL, "hugepages", "1024 MB free on node 0",
	 "tools/nic hugepages 0 1G 3", 0},
	{scattered_pages, ADVICE_FAIL, "hugepages", "2824 MB free", "tools/nic hugepages 0 2M 1050",
	 0},
	{shared_out, ADVICE_OK, "hugepages", "16384 MB free on node 0, 1100 MB needed", "", 0},
	{shared_out_badly, ADVICE_WARN, "hugepages", "200 MB free on node 1, 1000 MB needed",
	 "tools/nic hugepages 1 2M 1000", 0},
	{size_is_said, ADVICE_FAIL, "hugepages", "16384 MB free", "tools/nic hugepages 0 1G 3", 0},
	{no_huge, ADVICE_WARN, "hugepages", "not used", "leave out --no-huge", 0},
	{more_than_ordinary_memory, ADVICE_FAIL, "memory", "2099 MB free, 2100 MB needed",
	 "lower -m, -c or -t", 1},
	{bound_to_kernel, ADVICE_FAIL, "driver", "0000:04:00.0 is bound to ixgbe",
	 "tools/nic bind 0000:04:00.0", 0},
	{bound_to_kernel_that_shares, ADVICE_FAIL, "driver", "0000:04:00.0 is bound to ixgbe",
	 "tools/nic take 0000:04:00.0 clockoo0", 0},
	{no_driver, ADVICE_FAIL, "driver", "is bound to no driver", "tools/nic bind 0000:04:00.0",
	 0},
	{no_iommu, ADVICE_FAIL, "IOMMU", "vfio-pci cannot drive", "intel_iommu=on iommu=pt", 0},
	{no_iommu_of_amd, ADVICE_FAIL, "IOMMU", "vfio-pci cannot drive",
	 "switch on the IOMMU (AMD-Vi) in the BIOS; add iommu=pt to", 0},
	{no_iommu_of_nobody, ADVICE_FAIL, "IOMMU", "vfio-pci cannot drive",
	 "switch on the IOMMU in the firmware; add iommu.passthrough=1 to", 0},
	{uio, ADVICE_WARN, "IOMMU", "can write anywhere", "intel_iommu=on iommu=pt", 0},
	{noiommu, ADVICE_WARN, "IOMMU", "can write anywhere", "intel_iommu=on iommu=pt", 0},
	{node_unknown, ADVICE_WARN, "NIC's NUMA node", "not reported by the BIOS", "--lcores", 0},
	{narrow_slot, ADVICE_WARN, "PCIe", "x4 at 5.0 GT/s, but the NIC supports x8",
	 "a slot with x8", 0},
	{slow_slot, ADVICE_WARN, "PCIe", "x8 at 2.5 GT/s", "a slot with x8", 0},
	{link_down, ADVICE_WARN, "link", "eth7 has no link", "ip link set eth7 up", 0},
	{i40e_firmware, ADVICE_WARN, "firmware", "8.15 0x80009621 1.2829.0, older than 8.30",
	 "NVM Update Tool", 1},
	{mlx5_firmware, ADVICE_WARN, "firmware", "older than 14.21", "mlxup", 0},
	{no_nic, ADVICE_FAIL, "NIC", "no PCI device 0000:04:00.0", "tools/nic list", 0},
};

static void
set_up(struct fixture *b)
{
	memset(b, 0, sizeof *b);
	open_machine(&b->tree, "xeon-e5-2660-tuned");
	topology_read(&b->topology, &b->tree);
	pci_nic_read(&b->nic, &b->tree, "0000:04:00.0");
	config_defaults(&b->config);
	b->cores = 7;
	b->c = (struct advice_input){.tree = &b->tree,
				     .topology = &b->topology,
				     .placement = &b->placement,
				     .nic = &b->nic,
				     .config = &b->config,
				     .block_bytes = 2000 * MB,
				     .pool_bytes = 100 * MB,
				     .nic_tool = "tools/nic",
				     .root = true};
}

static void
run_rules(struct fixture *b, struct advice_list *list)
{
	const struct placement_request req = {
		.cores = b->cores, .control_cpu = CPU_NONE, .nic_node = b->nic.node};
	struct error f;

	check(placement_make(&b->placement, &b->topology, &req, &f));
	list->count = 0;
	advice_speed(list, &b->c);
	advice_nic(list, &b->c);
	advice_start(list, &b->c);
}

TEST(each_rule_reports_its_own_finding)
{
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct advice *found = NULL;
		struct advice_list list;
		uint32_t others = 0;
		struct fixture b;

		set_up(&b);
		rows[i].how(&b);
		run_rules(&b, &list);
		for (uint32_t a = 0; a < list.count; a++) {
			if (strcmp(list.at[a].subject, rows[i].subject) == 0)
				found = &list.at[a];
			else if (list.at[a].severity > ADVICE_OK)
				others++;
			if (list.at[a].severity > ADVICE_OK)
				check_ne(list.at[a].fix[0], '\0');
		}
		check_ptr(found);
		if (found->severity != rows[i].severity ||
		    strstr(found->words, rows[i].words) == NULL ||
		    strstr(found->fix, rows[i].fix) == NULL || others != rows[i].others)
			fail_msg("row %u: %s %s: %s: %s; %u others", i,
				 advice_severity_name(found->severity), found->subject,
				 found->words, found->fix, others);
		tree_close(&b.tree);
	}
}

/* 120 pages exist and 20 of them are in use: reserving only the missing ones
 * would shrink the pool. */
TEST(what_to_reserve_is_the_new_total_of_the_pool)
{
	struct advice_reservation all;
	struct fixture b;

	set_up(&b);
	no_pages(&b);
	all = advice_reservation(&b.topology, &b.config, 0, 1000 * MB);
	check_eq(strcmp(all.size, "2M"), 0);
	check_eq(all.pages, 500 + 20);
	/* A pool that is large enough is kept. */
	all = advice_reservation(&b.topology, &b.config, 0, 200 * MB);
	check_eq(all.pages, 120);
	size_is_said(&b);
	all = advice_reservation(&b.topology, &b.config, 0, 1000 * MB);
	check_eq(strcmp(all.size, "1G"), 0);
	check_eq(all.pages, 1);
	tree_close(&b.tree);
}

TEST(the_worst_of_a_list_is_its_grade)
{
	struct advice_list list = {0};

	check_eq(advice_worst(&list), ADVICE_UNKNOWN);
	advice_add(&list, ADVICE_OK, "a", "%s", "b");
	check_eq(advice_worst(&list), ADVICE_OK);
	advice_add(&list, ADVICE_FAIL, "a", "b");
	advice_add(&list, ADVICE_WARN, "a", "b");
	check_eq(advice_worst(&list), ADVICE_FAIL);
}

static const struct advice *
named(const struct advice_list *list, const char *subject)
{
	for (uint32_t a = 0; a < list->count; a++)
		if (strcmp(list->at[a].subject, subject) == 0)
			return &list->at[a];
	fail_msg("no entry %s", subject);
	return NULL;
}

/* The record's machine has a memcached on 11211, sshd on 22, and 8 MB to lock. */
TEST(files_of_the_running_machine_are_judged)
{
	struct advice_list list;
	struct fixture b;

	set_up(&b);
	tree_close(&b.tree);
	open_machine(&b.tree, "xeon-6130-interleaved");
	b.c.root = false;
	run_rules(&b, &list);
	check_eq(named(&list, "ports")->severity, ADVICE_WARN);
	check_ptr(strstr(named(&list, "ports")->words, "TCP port 11211"));
	check_eq(named(&list, "memlock")->severity, ADVICE_FAIL);
	check_ptr(strstr(named(&list, "memlock")->words, "8 MB may be locked, 100 MB"));
	check_ptr(strstr(named(&list, "memlock")->fix, "LimitMEMLOCK=infinity"));
	check_eq(named(&list, "vfio")->severity, ADVICE_OK);
	strcpy(b.nic.driver, "i40e");
	b.c.root = true;
	b.config.tcp_port = 11212;
	b.config.udp_port = 22;
	run_rules(&b, &list);
	check_eq(named(&list, "ports")->severity, ADVICE_OK);
	check_eq(named(&list, "memlock")->severity, ADVICE_OK);
	check_eq(named(&list, "vfio")->severity, ADVICE_FAIL);
	check_ptr(strstr(named(&list, "vfio")->fix, "modprobe vfio-pci"));
	b.c.nic = NULL;
	run_rules(&b, &list);
	check_eq(list.count, 13);
	tree_close(&b.tree);
}

/* This machine has sshd on 22 and memcached on 11211, neither of which is -p's. */
TEST(every_port_that_is_served_is_looked_at)
{
	struct advice_list list;
	struct fixture b;

	set_up(&b);
	tree_close(&b.tree);
	open_machine(&b.tree, "xeon-6130-interleaved");
	b.config.tcp_port = 11213;
	run_rules(&b, &list);
	check_eq(named(&list, "ports")->severity, ADVICE_OK);
	b.config.tls.plain_port = 22;
	run_rules(&b, &list);
	check_ptr(strstr(named(&list, "ports")->words, "listens on TCP port 22:"));
	b.config.listeners.more_count = 3;
	b.config.listeners.more_ports[0] = 11214;
	b.config.listeners.more_ports[2] = 11211;
	run_rules(&b, &list);
	check_ptr(strstr(named(&list, "ports")->words, "listens on TCP ports 22, 11211:"));
	tree_close(&b.tree);
}

/* A machine of which nothing is known but a datagram socket on 11213. */
TEST(every_core_that_has_a_port_of_its_own_is_looked_at)
{
	static const char line[] = "  1: 00000000:2BCD 00000000:0000 07\n";
	char root[] = "/tmp/test_advice_XXXXXX", path[96];
	struct advice_list list = {.count = 0};
	struct error err;
	struct fixture b;
	FILE *file;

	set_up(&b);
	tree_close(&b.tree);
	check_ptr(mkdtemp(root));
	snprintf(path, sizeof path, "cd %s && mkdir -p proc/net sys/devices/system/cpu", root);
	check_eq(system(path), 0);
	snprintf(path, sizeof path, "%s/proc/net/udp", root);
	file = fopen(path, "w");
	check_ptr(file);
	fputs(line, file);
	fclose(file);
	check(tree_open(&b.tree, root, &err));
	b.config.udp_port = 11211;
	b.config.cores = 3;
	advice_start(&list, &b.c);
	check_eq(named(&list, "ports")->severity, ADVICE_OK);
	b.config.udp_port_per_core = true;
	list.count = 0;
	advice_start(&list, &b.c);
	check_ptr(strstr(named(&list, "ports")->words, "listens on UDP port 11213:"));
	tree_close(&b.tree);
	snprintf(path, sizeof path, "rm -r %s", root);
	check_eq(system(path), 0);
}

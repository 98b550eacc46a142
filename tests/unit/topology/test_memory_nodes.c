/*
 * Memory on NUMA nodes. Goal: shares follow from the options and the nodes that have memory; a
 * process's memory is counted from numa_maps, in kB, for any size of its pages; memory on another
 * node is reported with its remedy. Method: tables over a machine of two nodes, and lines as
 * kernels write them.
 */
#include "topology/advice.h"
#include "topology/memory_nodes.h"
#include "machines.h"

#define MB (1ull << 20)

static struct topology
two_nodes(void)
{
	struct topology t = {.node_end = 2};

	t.node[0] = (struct topology_node){.online = true, .memory_bytes = 1024 * MB};
	t.node[1] = t.node[0];
	t.node[0].pages[0].kb = t.node[1].pages[0].kb = 2048;
	return t;
}

static struct config
config_with(const char *name, const char *value)
{
	struct config cfg;
	struct error err;

	config_defaults(&cfg);
	check(config_set(&cfg, name, value, &err));
	return cfg;
}

TEST(shares_follow_from_the_options)
{
	static const struct {
		const char *option, *value;
		uint64_t mb[2];
	} rows[] = {
		{"numa", "nic", {0, 64}},
		{"numa", "interleave", {32, 32}},
		{"numa", "0", {64, 0}},
		{"numa", "0,1", {32, 32}},
		{"node-memory", "16,48", {16, 48}},
	};
	const struct topology t = two_nodes();

	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct config cfg = config_with(rows[i].option, rows[i].value);

		for (uint32_t n = 0; n < 2; n++)
			check_eq(memory_node_share(&cfg, &t, 1, n, 64 * MB), rows[i].mb[n] * MB);
	}
}

TEST(a_node_without_memory_is_refused_and_the_others_are_named)
{
	struct topology t = two_nodes();
	struct config cfg = config_with("numa", "1-2");
	struct error err;

	check(!memory_nodes_exist(&cfg, &t, &err));
	check_str(err.text, "--numa: there is no node 2; nodes with memory: 0-1");
	t.node[1].memory_bytes = 0;
	check(!memory_nodes_exist(&cfg, &t, &err));
	check_str(err.text, "--numa: there is no node 1; nodes with memory: 0");
	cfg = config_with("numa", "interleave");
	check(memory_nodes_exist(&cfg, &t, &err));
	check_eq(memory_node_share(&cfg, &t, 1, 0, 64 * MB), 64 * MB);
}

/* A text in the form of a recorded machine; some lines are of other kernels. */
static const char maps[] =
	"proc/7/numa_maps = 7f0000000000 prefer:1 anon=512 dirty=512 N0=100 N1=412 "
	"kernelpagesize_kB=4\n"
	"proc/7/numa_maps = 7f1000000000 interleave:0-1 file=/anon_hugepage\\040(deleted) huge "
	"anon=4 dirty=4 N0=2 N1=2 kernelpagesize_kB=2048\n"
	"proc/7/numa_maps = 7f2000000000 default anon=90 N0=90 kernelpagesize_kB=4\n"
	"proc/7/numa_maps = 7f3000000000 local anon=90 N0=90 kernelpagesize_kB=4\n"
	"proc/7/numa_maps = 7f4000000000 bind:1 file=/N0=9 N1=25 kernelpagesize_kB=4\n"
	"proc/7/numa_maps = 7f5000000000 prefer:1\n"
	"proc/7/numa_maps = 7f6000000000 prefer:1 N77=3 N1 N0=x kernelpagesize_kB=4\n"
	"proc/7/numa_maps = nonsense\n"
	"proc/8/numa_maps = 7f2000000000 default anon=90 N0=90 kernelpagesize_kB=4\n";
/* The sums of process 7. */
#define NODE0_KB (400 + 4096)
#define NODE1_KB (1648 + 4096 + 100)

static struct tree
tree_of(const char *text)
{
	return (struct tree){.text = text, .text_len = strlen(text)};
}

TEST(numa_maps_are_counted_in_kb_where_a_policy_governs)
{
	const struct tree tree = tree_of(maps);
	struct memory_nodes m;

	memory_nodes_read(&m, &tree, 7);
	check(m.readable);
	check_eq(m.kb[0], NODE0_KB);
	check_eq(m.kb[1], NODE1_KB);
	check_eq(m.all_kb, NODE0_KB + NODE1_KB);
	memory_nodes_read(&m, &tree, 8);
	check(m.readable);
	check_eq(m.all_kb, 0);
	memory_nodes_read(&m, &tree, 9);
	check(!m.readable);
}

TEST(what_lies_elsewhere_is_said_with_its_cure)
{
	static const struct {
		const char *numa;
		uint32_t pid;
		bool no_huge;
		enum advice_severity severity;
		const char *words, *fix;
	} rows[] = {
		{"nic", 7, false, ADVICE_WARN, "process 7: 5 of 11 MB are on other NUMA nodes",
		 "clockoo-nic hugepages 1 2M 3, then"},
		{"0", 7, true, ADVICE_WARN, "process 7: 6 of 11 MB", "free memory on node 0, then"},
		{"interleave", 7, false, ADVICE_WARN, "process 7: 1 of 11 MB",
		 "hugepages 0 2M 1, then"},
		{"nic", 8, false, ADVICE_UNKNOWN, "process 8: the kernel shows no memory", ""},
		{"nic", 9, false, ADVICE_UNKNOWN, "process 9: cannot read its numa_maps", ""},
		{"nic", 6, false, ADVICE_OK, "process 6: 4 MB where they should be", ""},
	};
	static char text[sizeof maps + 128];
	const struct topology t = two_nodes();
	const struct placement place = {.node = 1};
	struct tree tree;

	snprintf(text, sizeof text,
		 "%sproc/6/numa_maps = 7f00 prefer:1 N0=10 N1=990 kernelpagesize_kB=4\n", maps);
	tree = tree_of(text);
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct config cfg = config_with("numa", rows[i].numa);
		const struct advice_input c = {.tree = &tree,
					       .topology = &t,
					       .placement = &place,
					       .config = &cfg,
					       .nic_tool = "clockoo-nic"};
		struct advice_list list = {0};

		cfg.no_huge = rows[i].no_huge;
		advice_running(&list, &c, rows[i].pid);
		check_eq(list.count, 1);
		check_eq(list.at[0].severity, rows[i].severity);
		if (strstr(list.at[0].words, rows[i].words) == NULL ||
		    strstr(list.at[0].fix, rows[i].fix) == NULL)
			fail_msg("row %u: %s -> %s", i, list.at[0].words, list.at[0].fix);
	}
}

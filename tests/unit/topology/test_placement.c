/*
 * Placement of cores on CPUs. Goal: workers get physical cores near the NIC, isolated ones first,
 * the core of CPU 0 last, hyper-threads only as configured or when nothing else is left; the
 * control thread gets a CPU that they do not need. Method: a table of requests on recorded
 * machines against the CPUs.
 */
#include "topology/placement.h"
#include "machines.h"

static const struct {
	const char *machine;
	uint32_t cores;
	int32_t nic_node;
	bool both_threads;
	const char *lcores; /* the operator's, or NULL */
	const char *cpus;   /* expected, in order */
	uint32_t control, node, far, sharing, not_isolated;
} rows[] = {
	/* The core of CPU 0 is left to the kernel and the control thread. */
	{"xeon-e5-2660", 1, 0, false, NULL, "1", 0, 0, 0, 0, 1},
	{"xeon-e5-2660", 7, 0, false, NULL, "1,2,3,4,5,6,7", 0, 0, 0, 0, 7},
	/* Workers take all of the NIC's socket: control goes to the other one
	 * rather than beside a worker. */
	{"xeon-e5-2660", 8, 0, false, NULL, "1,2,3,4,5,6,7,0", 8, 0, 0, 0, 8},
	/* The paper's 16 cores: 8 of them far, and control on a hyper-thread. */
	{"xeon-e5-2660", 16, 0, false, NULL, "1,2,3,4,5,6,7,0,8,9,10,11,12,13,14,15", 16, 0, 8, 0,
	 16},
	{"xeon-e5-2660", 17, 0, false, NULL, "1,2,3,4,5,6,7,0,8,9,10,11,12,13,14,15,17", 16, 0, 8,
	 2, 17},
	/* Hyper-threads of the near socket are used before the far one. */
	{"xeon-e5-2660", 10, 0, true, NULL, "1,2,3,4,5,6,7,0,17,18", 8, 0, 0, 4, 10},
	{"xeon-e5-2660", 17, 0, true, NULL, "1,2,3,4,5,6,7,0,17,18,19,20,21,22,23,16,8", 9, 0, 1,
	 16, 17},
	{"xeon-e5-2660", 4, 1, false, NULL, "8,9,10,11", 12, 1, 0, 0, 4},
	/* Cores are isolated; their idle threads are no place for the control thread either. */
	{"xeon-e5-2660-tuned", 7, 0, false, NULL, "1,2,3,4,5,6,7", 0, 0, 0, 0, 0},
	{"xeon-e5-2660-tuned", 8, 0, false, NULL, "1,2,3,4,5,6,7,0", 8, 0, 0, 0, 1},
	/* The control thread gets no isolated core, even if that is the nearest. */
	{"xeon-e5-2660-tuned", 0, 0, false, "0@0", "0", 8, 0, 0, 0, 1},
	/* CPUs alternate over the sockets: odd ones are near, isolated from 5 to 15. */
	{"xeon-6130-interleaved", 6, 1, false, NULL, "5,7,9,11,13,15", 1, 1, 0, 0, 0},
	{"xeon-6130-interleaved", 8, 1, false, NULL, "5,7,9,11,13,15,1,3", 17, 1, 0, 0, 2},
	{"xeon-6130-interleaved", 3, 0, false, NULL, "2,4,6", 0, 0, 0, 0, 3},
	/* The NIC does not report its node: node 0, isolated cores first. */
	{"xeon-e5-2660v2-mlx5", 9, NODE_UNKNOWN, false, NULL, "2,3,4,5,6,7,8,9,1", 0, 0, 0, 0, 1},
	/* The machine has one core with two threads. */
	{"vm", 1, NODE_UNKNOWN, false, NULL, "0", 1, 0, 0, 0, 1},
	{"vm", 2, NODE_UNKNOWN, false, NULL, "0,1", CPU_NONE, 0, 0, 2, 2},
	/* The operator's placement stays, and is judged. */
	{"xeon-e5-2660", 0, 0, false, "0@3,1@19,2@8", "3,19,8", 0, 0, 1, 2, 3},
	{"xeon-e5-2660", 0, 1, false, "0@3", "3", 8, 1, 1, 0, 1},
};

static void
plan(struct placement *l, uint32_t i)
{
	struct lcore_set lcores = {0};
	struct placement_request req = {
		.cores = rows[i].cores,
		.lcores = &lcores,
		.control_cpu = CPU_NONE,
		.nic_node = rows[i].nic_node,
		.both_threads = rows[i].both_threads,
	};
	struct topology t;
	struct tree tree;
	struct error err;

	if (rows[i].lcores != NULL)
		check(lcores_parse(&lcores, rows[i].lcores, &err));
	open_machine(&tree, rows[i].machine);
	topology_read(&t, &tree);
	tree_close(&tree);
	if (!placement_make(l, &t, &req, &err))
		fail_msg("row %u: %s", i, err.text);
}

TEST(workers_and_control_get_the_cpus_of_the_table)
{
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char cpus[256] = "";
		struct placement l;

		plan(&l, i);
		for (uint32_t c = 0; c < l.lcores.count; c++) {
			sprintf(cpus + strlen(cpus), "%s%u", c == 0 ? "" : ",", l.at[c].cpu);
			check_eq(l.lcores.at[c].cpu, l.at[c].cpu);
			if (rows[i].lcores == NULL)
				check_eq(l.lcores.at[c].id, c);
		}
		check_str(cpus, rows[i].cpus);
		check_eq(l.control_cpu, rows[i].control);
		check_eq(l.node, rows[i].node);
		check_eq(l.remote, rows[i].far);
		check_eq(l.sharing, rows[i].sharing);
		check_eq(l.not_isolated, rows[i].not_isolated);
	}
}

TEST(no_cpu_is_given_twice_and_none_that_may_not_be_used)
{
	static const struct cpu_list usable = {5, {0, 2, 9, 16, 18}};
	const struct placement_request req = {
		.cores = 4, .usable = &usable, .control_cpu = 9, .nic_node = 0};
	struct topology t;
	struct placement l;
	struct tree tree;
	struct error err;

	open_machine(&tree, "xeon-e5-2660");
	topology_read(&t, &tree);
	tree_close(&tree);
	check(placement_make(&l, &t, &req, &err));
	check_eq(l.at[0].cpu, 2);
	check_eq(l.at[1].cpu, 0);
	check_eq(l.at[2].cpu, 18);
	check_eq(l.at[3].cpu, 16);
	check_eq(l.control_cpu, 9);
}

TEST(too_many_cores_are_refused_with_their_number)
{
	const struct placement_request req = {
		.cores = 33, .control_cpu = CPU_NONE, .nic_node = NODE_UNKNOWN};
	struct topology t;
	struct placement l;
	struct tree tree;
	struct error err;

	open_machine(&tree, "xeon-e5-2660");
	topology_read(&t, &tree);
	tree_close(&tree);
	check(!placement_make(&l, &t, &req, &err));
	check_str(err.text, "-t: 33 cores requested, 32 CPUs available; request at most 32, or let "
			    "them share CPUs "
			    "with --share-cpus");
}

/* Every CPU has one core, the best first, before any has two. */
TEST(more_cores_than_cpus_take_turns_where_that_is_meant)
{
	static const struct cpu_list usable = {3, {2, 9, 16}};
	const struct placement_request req = {.cores = 8,
					      .usable = &usable,
					      .control_cpu = CPU_NONE,
					      .nic_node = 0,
					      .share = true};
	const uint32_t cpus[] = {2, 16, 9, 2, 16, 9, 2, 16};
	struct topology t;
	struct placement l;
	struct tree tree;
	struct error err;

	open_machine(&tree, "xeon-e5-2660");
	topology_read(&t, &tree);
	tree_close(&tree);
	check(placement_make(&l, &t, &req, &err));
	check_eq(l.lcores.count, 8);
	for (uint32_t i = 0; i < 8; i++) {
		check_eq(l.at[i].cpu, cpus[i]);
		check_eq(l.lcores.at[i].id, i);
	}
	check_eq(l.sharing, 8);
	check_eq(l.control_cpu, CPU_NONE);
}

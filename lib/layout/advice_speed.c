#include "advice.h"
#include "number_list.h"

#include <string.h>

#define IDLE_DEEP_US    10u /* C1E of a Xeon; what is deeper takes 80 us and more to leave */
#define UNEQUAL_PERCENT 10u /* the kernel itself takes some of one node */
#define LIST_BYTES      256u
#define MB_SHIFT        20

/* The core the kernel starts on and keeps for itself (Documentation/timers/no_hz.rst). */
static uint32_t
first_core(const struct topology *t)
{
	uint32_t first = 0;

	while (first + 1 < t->cpu_end && !t->cpu[first].online)
		first++;
	return t->cpu[first].core;
}

/* The CPUs of the workers and all hyper-threads of their cores, but for the first core. Returns how
 * many of the workers on them are not isolated. */
static uint32_t
cpus_to_isolate(char list[LIST_BYTES], const struct advice_case *c)
{
	const struct topology *t = c->topology;
	bool has[LCORE_ID_END] = {false};
	uint32_t exposed = 0;

	for (uint32_t i = 0; i < c->placement->lcores.count; i++) {
		const struct topology_cpu *own = &t->cpu[c->placement->at[i].cpu];

		if (own->core == first_core(t))
			continue;
		exposed += !own->isolated;
		for (uint32_t cpu = 0; cpu < t->cpu_end; cpu++)
			has[cpu] |= t->cpu[cpu].online && t->cpu[cpu].core == own->core;
	}
	number_list_write(list, LIST_BYTES, has, t->cpu_end);
	return exposed;
}

static void
judge_cores(struct advice_list *list, const struct advice_case *c)
{
	const struct placement *l = c->placement;
	const uint32_t count = l->lcores.count;
	struct advice *a;

	if (l->far != 0) {
		a = advice_add(list, ADVICE_WARN, "cores",
			       "%u of %u workers are on another NUMA node than NIC and memory: "
			       "every frame crosses the sockets' link",
			       l->far, count);
		if (l->far < count)
			advice_cure(a, "-t %u keeps to node %u", count - l->far, l->node);
		else
			advice_cure(a, "--lcores with CPUs of node %u", l->node);
	} else if (l->sharing != 0) {
		a = advice_add(list, ADVICE_WARN, "cores",
			       "%u of %u workers share a physical core: each gets less done than "
			       "with one of its own",
			       l->sharing, count);
		advice_cure(a, "-t %u leaves every worker a core of its own",
			    c->topology->cores < count ? c->topology->cores : count / 2);
	} else {
		advice_add(list, ADVICE_OK, "cores",
			   "%u worker%s, each with a physical core of node %u", count,
			   count == 1 ? "" : "s", l->node);
	}
}

static void
judge_isolation(struct advice_list *list, const struct advice_case *c)
{
	const struct placement *l = c->placement;
	char cpus[LIST_BYTES];
	const uint32_t curable = cpus_to_isolate(cpus, c);
	struct advice *a;

	if (l->exposed == 0) {
		advice_add(list, ADVICE_OK, "isolation", "the scheduler leaves CPUs %s alone",
			   cpus);
		return;
	}
	a = advice_add(list, ADVICE_WARN, "isolation",
		       "%u of %u workers are on CPUs where the kernel runs other things too",
		       l->exposed, l->lcores.count);
	if (curable != 0)
		advice_cure(a,
			    "add isolcpus=managed_irq,domain,%s nohz_full=%s rcu_nocbs=%s to "
			    "GRUB_CMDLINE_LINUX in /etc/default/grub; update-grub; reboot",
			    cpus, cpus, cpus);
	else if (l->lcores.count > 1)
		advice_cure(a, "-t %u leaves the kernel its core", l->lcores.count - 1);
	else
		advice_cure(a, "a machine with another core: the kernel needs one");
}

static void
judge_control(struct advice_list *list, const struct advice_case *c)
{
	const struct topology *t = c->topology;
	const uint32_t cpu = c->placement->control_cpu;
	struct advice *a;

	for (uint32_t i = 0; i < c->placement->lcores.count && cpu != CPU_NONE; i++) {
		if (t->cpu[c->placement->at[i].cpu].core != t->cpu[cpu].core)
			continue;
		a = advice_add(list, ADVICE_WARN, "control thread",
			       "CPU %u, beside worker %u on its physical core", cpu, i);
		if (c->placement->lcores.count > 1)
			advice_cure(a, "-t %u leaves it a core", c->placement->lcores.count - 1);
		else
			advice_cure(a, "a machine with another core");
		return;
	}
	if (cpu != CPU_NONE) {
		advice_add(list, ADVICE_OK, "control thread", "CPU %u, away from the workers", cpu);
		return;
	}
	a = advice_add(list, ADVICE_WARN, "control thread",
		       "no CPU is left for it: it takes turns with the workers");
	if (c->placement->lcores.count > 1)
		advice_cure(a, "-t %u", c->placement->lcores.count - 1);
	else
		advice_cure(a, "a machine with another CPU");
}

static void
judge_governor(struct advice_list *list, const struct advice_case *c)
{
	const char *worst = NULL;
	struct advice *a;

	for (uint32_t i = 0; i < c->placement->lcores.count; i++) {
		const char *name = c->topology->cpu[c->placement->at[i].cpu].governor;

		if (worst == NULL || (name[0] != '\0' && strcmp(name, "performance") != 0))
			worst = name;
	}
	if (worst == NULL || worst[0] == '\0') {
		advice_add(list, ADVICE_UNKNOWN, "governor", "nobody here sets the CPUs' clock");
	} else if (strcmp(worst, "performance") == 0) {
		advice_add(list, ADVICE_OK, "governor", "performance");
	} else {
		a = advice_add(list, ADVICE_WARN, "governor", "%s: the clock follows the load late",
			       worst);
		advice_cure(a, "for f in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do "
			       "echo performance > $f; done");
	}
}

static void
judge_idle(struct advice_list *list, const struct advice_case *c)
{
	uint32_t us = 0;
	struct advice *a;

	for (uint32_t i = 0; i < c->placement->lcores.count; i++) {
		const uint32_t deepest = c->topology->cpu[c->placement->at[i].cpu].idle_us;

		us = deepest > us ? deepest : us;
	}
	if (us <= IDLE_DEEP_US) {
		advice_add(list, us == 0 ? ADVICE_UNKNOWN : ADVICE_OK, "C-states",
			   us == 0 ? "the kernel knows of none"
				   : "none takes more than %u us to leave",
			   us);
		return;
	}
	a = advice_add(list, ADVICE_WARN, "C-states",
		       "the deepest takes %u us to leave, and lets the socket's cache and links "
		       "sleep",
		       us);
	advice_cure(a,
		    "for d in /sys/devices/system/cpu/cpu*/cpuidle/state*; do [ $(cat $d/latency) "
		    "-le %u ] || echo 1 > $d/disable; done",
		    IDLE_DEEP_US);
}

static void
judge_turbo(struct advice_list *list, const struct advice_case *c)
{
	struct advice *a;

	switch (c->topology->turbo) {
	case TURBO_UNKNOWN:
		advice_add(list, ADVICE_UNKNOWN, "turbo", "the machine does not say");
		return;
	case TURBO_ON:
		advice_add(list, ADVICE_OK, "turbo", "on");
		return;
	case TURBO_OFF:
		break;
	}
	a = advice_add(list, ADVICE_WARN, "turbo", "off");
	advice_cure(a, c->topology->turbo_pstate
			       ? "echo 0 > /sys/devices/system/cpu/intel_pstate/no_turbo"
			       : "echo 1 > /sys/devices/system/cpu/cpufreq/boost");
}

static void
judge_irqbalance(struct advice_list *list, const struct advice_case *c)
{
	struct advice *a;

	/* It leaves isolated CPUs alone by itself: irqbalance(1), IRQBALANCE_BANNED_CPULIST. */
	if (!c->topology->irqbalance || c->placement->exposed == 0) {
		advice_add(list, ADVICE_OK, "irqbalance",
			   c->topology->irqbalance ? "runs, and leaves isolated CPUs alone"
						   : "does not run");
		return;
	}
	a = advice_add(list, ADVICE_WARN, "irqbalance",
		       "runs: it may give interrupts to the workers' CPUs");
	advice_cure(a, "systemctl disable --now irqbalance");
}

static void
judge_balancing(struct advice_list *list, const struct advice_case *c)
{
	struct advice *a;

	if (!c->topology->numa_balancing || c->topology->node_end < 2) {
		advice_add(list, ADVICE_OK, "NUMA balancing", "off, or nothing to balance");
		return;
	}
	a = advice_add(list, ADVICE_WARN, "NUMA balancing",
		       "on: the kernel takes pages away for a moment to see who uses them");
	advice_cure(a, "sysctl -w kernel.numa_balancing=0");
}

static void
judge_nodes(struct advice_list *list, const struct advice_case *c)
{
	const struct topology *t = c->topology;
	uint64_t least = UINT64_MAX, most = 0;
	struct advice *a;

	for (uint32_t n = 0; n < t->node_end; n++) {
		const uint64_t bytes = t->node[n].memory_bytes;

		if (!t->node[n].online)
			continue;
		least = bytes < least ? bytes : least;
		most = bytes > most ? bytes : most;
	}
	if (least >= most - most / 100 * UNEQUAL_PERCENT) {
		advice_add(list, ADVICE_OK, "memory of nodes", "%u node%s, equal", t->node_end,
			   t->node_end == 1 ? "" : "s");
		return;
	}
	a = advice_add(list, ADVICE_WARN, "memory of nodes",
		       "unequal: %llu MB on one node, %llu MB on another",
		       (unsigned long long)(least >> MB_SHIFT),
		       (unsigned long long)(most >> MB_SHIFT));
	advice_cure(a, "fit the same memory modules to every socket");
}

static void
judge_channels(struct advice_list *list, const struct advice_case *c)
{
	const struct topology *t = c->topology;
	uint32_t channels[CONTROLLERS_MAX] = {0};
	uint64_t mb = 0;
	bool equal = true;
	struct advice *a;

	for (uint32_t mc = 0; mc < t->controllers; mc++) {
		for (uint32_t ch = 0; ch < CHANNELS_MAX; ch++) {
			if (t->channel_mb[mc][ch] == 0)
				continue;
			channels[mc]++;
			equal &= mb == 0 || t->channel_mb[mc][ch] == mb;
			mb = t->channel_mb[mc][ch];
		}
		equal &= channels[mc] == channels[0];
	}
	if (mb == 0) {
		advice_add(list, ADVICE_UNKNOWN, "memory channels",
			   "the machine does not say (no EDAC)");
	} else if (equal) {
		advice_add(list, ADVICE_OK, "memory channels",
			   "%u controller%s with %u channels of %llu MB each", t->controllers,
			   t->controllers == 1 ? "" : "s", channels[0], (unsigned long long)mb);
	} else {
		a = advice_add(list, ADVICE_WARN, "memory channels",
			       "unequally filled: some of the memory has less bandwidth");
		advice_cure(a, "fit the same modules to every channel; dmidecode -t memory lists "
			       "them");
	}
}

void
advice_speed(struct advice_list *list, const struct advice_case *c)
{
	judge_cores(list, c);
	judge_isolation(list, c);
	judge_control(list, c);
	judge_governor(list, c);
	judge_idle(list, c);
	judge_turbo(list, c);
	judge_irqbalance(list, c);
	judge_balancing(list, c);
	judge_nodes(list, c);
	judge_channels(list, c);
}

/*
 * advice_speed.c - rules about what slows cores and memory.
 */
#include "advice.h"
#include "number_list.h"

#include "base/size_units.h"

#include <string.h>

#define IDLE_DEEP_US    10u /* C1E of a Xeon; to leave a deeper state takes 80 us and more */
#define UNEQUAL_PERCENT 10u /* tolerated, since the kernel itself uses some memory of one node */
#define LIST_BYTES      256u

/* Returns the CPU on which the kernel starts, and which it keeps for itself
 * (Documentation/timers/no_hz.rst). */
static uint32_t
first_core(const struct topology *t)
{
	uint32_t first = 0;

	while (first + 1 < t->cpu_end && !t->cpu[first].online)
		first++;
	return t->cpu[first].core;
}

/* Writes the CPUs of the workers and all hyper-threads of their physical cores; not those of the
 * first physical core. Returns how many of these workers' CPUs are not isolated. */
static uint32_t
cpus_to_isolate(char list[LIST_BYTES], const struct advice_input *c)
{
	const struct topology *t = c->topology;
	bool has[LCORE_ID_END] = {false};
	uint32_t not_isolated = 0;

	for (uint32_t i = 0; i < c->placement->lcores.count; i++) {
		const struct topology_cpu *own = &t->cpu[c->placement->at[i].cpu];

		if (own->core == first_core(t))
			continue;
		not_isolated += !own->isolated;
		for (uint32_t cpu = 0; cpu < t->cpu_end; cpu++)
			has[cpu] |= t->cpu[cpu].online && t->cpu[cpu].core == own->core;
	}
	number_list_write(list, LIST_BYTES, has, t->cpu_end);
	return not_isolated;
}

static void
check_cores(struct advice_list *list, const struct advice_input *c)
{
	const struct placement *l = c->placement;
	const uint32_t count = l->lcores.count;
	struct advice *a;

	if (l->remote != 0) {
		a = advice_add(list, ADVICE_WARN, "cores",
			       "%u of %u workers are on another NUMA node than NIC and memory: "
			       "every frame crosses the socket interconnect",
			       l->remote, count);
		if (l->remote < count)
			advice_fix(a, "-t %u uses CPUs of node %u only", count - l->remote,
				   l->node);
		else
			advice_fix(a, "choose CPUs of node %u with --lcores", l->node);
	} else if (l->sharing != 0) {
		a = advice_add(list, ADVICE_WARN, "cores",
			       "%u of %u workers share a physical core: each is slower than "
			       "on a core of its own",
			       l->sharing, count);
		advice_fix(a, "-t %u gives each worker a core of its own",
			   c->topology->cores < count ? c->topology->cores : count / 2);
	} else {
		advice_add(list, ADVICE_OK, "cores",
			   "%u worker%s, each with a physical core of node %u", count,
			   count == 1 ? "" : "s", l->node);
	}
}

static void
check_isolation(struct advice_list *list, const struct advice_input *c)
{
	const struct placement *l = c->placement;
	char cpus[LIST_BYTES];
	const uint32_t curable = cpus_to_isolate(cpus, c);
	struct advice *a;

	if (l->not_isolated == 0) {
		advice_add(list, ADVICE_OK, "isolation", "isolated CPUs: %s", cpus);
		return;
	}
	a = advice_add(list, ADVICE_WARN, "isolation",
		       "%u of %u workers are on CPUs that are not isolated from the scheduler",
		       l->not_isolated, l->lcores.count);
	if (curable != 0)
		advice_fix(a,
			   "add isolcpus=managed_irq,domain,%s nohz_full=%s rcu_nocbs=%s to "
			   "GRUB_CMDLINE_LINUX in /etc/default/grub; update-grub; reboot",
			   cpus, cpus, cpus);
	else if (l->lcores.count > 1)
		advice_fix(a, "-t %u leaves a core to the kernel", l->lcores.count - 1);
	else
		advice_fix(a, "use a machine with another core: the kernel needs one");
}

static void
check_control(struct advice_list *list, const struct advice_input *c)
{
	const struct topology *t = c->topology;
	const uint32_t cpu = c->placement->control_cpu;
	struct advice *a;

	for (uint32_t i = 0; i < c->placement->lcores.count && cpu != CPU_NONE; i++) {
		if (t->cpu[c->placement->at[i].cpu].core != t->cpu[cpu].core)
			continue;
		a = advice_add(list, ADVICE_WARN, "control thread",
			       "CPU %u, on the physical core of worker %u", cpu, i);
		if (c->placement->lcores.count > 1)
			advice_fix(a, "-t %u leaves a core to it", c->placement->lcores.count - 1);
		else
			advice_fix(a, "use a machine with another core");
		return;
	}
	if (cpu != CPU_NONE) {
		advice_add(list, ADVICE_OK, "control thread", "CPU %u, on a core without workers",
			   cpu);
		return;
	}
	a = advice_add(list, ADVICE_WARN, "control thread",
		       "no CPU is left for it: it shares a CPU with a worker");
	if (c->placement->lcores.count > 1)
		advice_fix(a, "-t %u", c->placement->lcores.count - 1);
	else
		advice_fix(a, "use a machine with another CPU");
}

static void
check_governor(struct advice_list *list, const struct advice_input *c)
{
	const char *worst = NULL;
	struct advice *a;

	for (uint32_t i = 0; i < c->placement->lcores.count; i++) {
		const char *name = c->topology->cpu[c->placement->at[i].cpu].governor;

		if (worst == NULL || (name[0] != '\0' && strcmp(name, "performance") != 0))
			worst = name;
	}
	if (worst == NULL || worst[0] == '\0') {
		advice_add(list, ADVICE_UNKNOWN, "governor", "no cpufreq driver");
	} else if (strcmp(worst, "performance") == 0) {
		advice_add(list, ADVICE_OK, "governor", "performance");
	} else {
		a = advice_add(list, ADVICE_WARN, "governor",
			       "%s: the clock frequency lags behind the load", worst);
		advice_fix(a, "for f in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do "
			      "echo performance > $f; done");
	}
}

static void
check_idle(struct advice_list *list, const struct advice_input *c)
{
	uint32_t us = 0;
	struct advice *a;

	for (uint32_t i = 0; i < c->placement->lcores.count; i++) {
		const uint32_t deepest = c->topology->cpu[c->placement->at[i].cpu].idle_us;

		us = deepest > us ? deepest : us;
	}
	if (us <= IDLE_DEEP_US) {
		advice_add(list, us == 0 ? ADVICE_UNKNOWN : ADVICE_OK, "C-states",
			   us == 0 ? "no cpuidle driver" : "exit latency at most %u us", us);
		return;
	}
	a = advice_add(
		list, ADVICE_WARN, "C-states",
		"the deepest has an exit latency of %u us and powers down the socket's cache and "
		"links",
		us);
	advice_fix(a,
		   "for d in /sys/devices/system/cpu/cpu*/cpuidle/state*; do [ $(cat $d/latency) "
		   "-le %u ] || echo 1 > $d/disable; done",
		   IDLE_DEEP_US);
}

static void
check_turbo(struct advice_list *list, const struct advice_input *c)
{
	struct advice *a;

	switch (c->topology->turbo) {
	case TURBO_UNKNOWN:
		advice_add(list, ADVICE_UNKNOWN, "turbo", "not reported by the machine");
		return;
	case TURBO_ON:
		advice_add(list, ADVICE_OK, "turbo", "on");
		return;
	case TURBO_OFF:
		break;
	}
	a = advice_add(list, ADVICE_WARN, "turbo", "off");
	advice_fix(a, c->topology->turbo_pstate
			      ? "echo 0 > /sys/devices/system/cpu/intel_pstate/no_turbo"
			      : "echo 1 > /sys/devices/system/cpu/cpufreq/boost");
}

static void
check_irqbalance(struct advice_list *list, const struct advice_input *c)
{
	struct advice *a;

	/* irqbalance leaves isolated CPUs out by itself: irqbalance(1),
	 * IRQBALANCE_BANNED_CPULIST. */
	if (!c->topology->irqbalance || c->placement->not_isolated == 0) {
		advice_add(list, ADVICE_OK, "irqbalance",
			   c->topology->irqbalance ? "running, but isolated CPUs are excluded"
						   : "not running");
		return;
	}
	a = advice_add(list, ADVICE_WARN, "irqbalance",
		       "running: it may move interrupts to the workers' CPUs");
	advice_fix(a, "systemctl disable --now irqbalance");
}

static void
check_balancing(struct advice_list *list, const struct advice_input *c)
{
	struct advice *a;

	if (!c->topology->numa_balancing || c->topology->node_end < 2) {
		advice_add(list, ADVICE_OK, "NUMA balancing", "off, or nothing to balance");
		return;
	}
	a = advice_add(list, ADVICE_WARN, "NUMA balancing",
		       "on: the kernel unmaps pages temporarily to sample accesses");
	advice_fix(a, "sysctl -w kernel.numa_balancing=0");
}

static void
check_nodes(struct advice_list *list, const struct advice_input *c)
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
		advice_add(list, ADVICE_OK, "NUMA memory", "%u node%s, equal", t->node_end,
			   t->node_end == 1 ? "" : "s");
		return;
	}
	a = advice_add(list, ADVICE_WARN, "NUMA memory",
		       "unequal: %llu MB on one node, %llu MB on another",
		       (unsigned long long)(least >> MB_SHIFT),
		       (unsigned long long)(most >> MB_SHIFT));
	advice_fix(a, "fit the same memory modules to every socket");
}

static void
check_channels(struct advice_list *list, const struct advice_input *c)
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
			   "not reported by the machine (no EDAC)");
	} else if (equal) {
		advice_add(list, ADVICE_OK, "memory channels",
			   "%u controller%s with %u channels of %llu MB each", t->controllers,
			   t->controllers == 1 ? "" : "s", channels[0], (unsigned long long)mb);
	} else {
		a = advice_add(list, ADVICE_WARN, "memory channels",
			       "unevenly populated: some of the memory has less bandwidth");
		advice_fix(a, "fit the same modules to every channel; dmidecode -t memory lists "
			      "them");
	}
}

void
advice_speed(struct advice_list *list, const struct advice_input *c)
{
	check_cores(list, c);
	check_isolation(list, c);
	check_control(list, c);
	check_governor(list, c);
	check_idle(list, c);
	check_turbo(list, c);
	check_irqbalance(list, c);
	check_balancing(list, c);
	check_nodes(list, c);
	check_channels(list, c);
}

#include "file_check.h"
#include "config/profile.h"
#include "layout/pci_nic.h"
#include "layout/topology.h"
#include "nic_profile.h"
#include "paths.h"
#include "steer/plan.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The machine's CPUs that are switched on; --sysfs names another machine's. */
static bool
read_cpus(struct cpu_list *cpus, const struct config *cfg, struct fault *f)
{
	struct topology machine;
	struct tree tree;

	if (!tree_open(&tree, cfg->sysfs[0] != '\0' ? cfg->sysfs : "/", f))
		return false;
	topology_read(&machine, &tree);
	tree_close(&tree);
	cpus->count = 0;
	for (uint32_t cpu = 0; cpu < machine.cpu_end && cpu < LCORE_ID_END; cpu++)
		if (machine.cpu[cpu].online)
			cpus->at[cpus->count++] = cpu;
	return cpus->count != 0 || fault_say(f, "--sysfs: no CPU is there");
}

static bool
control_exists(const struct config *cfg, const struct cpu_list *cpus, struct fault *f)
{
	for (uint32_t i = 0; i < cpus->count; i++)
		if (cpus->at[i] == cfg->control_cpu)
			return true;
	return cfg->control_cpu == CONFIG_NO_CPU ||
	       fault_say(f, "--control-cpu: there is no CPU %u; the machine has %u",
			 cfg->control_cpu, cpus->count);
}

bool
file_check(const struct config *cfg, struct fault *f)
{
	const struct lcore_wish wish = {cfg->cores, cfg->share_cpus};
	struct lcore_set spread;
	struct profile profile;
	struct port_caps promise;
	struct steer_plan plan;
	struct cpu_list cpus;

	if (!read_cpus(&cpus, cfg, f) || !nic_profile(&profile, cfg, f))
		return false;
	if (cfg->lcores.count != 0 ? !lcores_exist(&cfg->lcores, &cpus, f)
				   : !lcores_spread(&spread, &cpus, &wish, f))
		return false;
	steer_promise(&profile, &promise);
	return control_exists(cfg, &cpus, f) && steer_make(&plan, cfg, &profile, &promise, f);
}

/* Not whether we may read it: who checks is not who will run. */
static bool
users_there(const struct config *cfg, struct fault *f)
{
	return cfg->auth_file[0] == '\0' || cfg->sysfs[0] != '\0' ||
	       access(cfg->auth_file, F_OK) == 0 || errno == EACCES ||
	       fault_say(f, "--auth-file: %s: %s", cfg->auth_file, strerror(errno));
}

bool
file_suffices(const struct config *cfg, struct fault *f)
{
	char device[DEVICE_BYTES];
	struct profile profile;

	return nic_profile(&profile, cfg, f) &&
	       profile_device(&profile, cfg, cfg->queues, device, f) && users_there(cfg, f);
}

bool
file_nic_is_ours(const struct config *cfg, struct fault *f)
{
	struct pci_nic nic;
	struct tree tree;

	if (cfg->pci[0] == '\0')
		return true;
	if (!tree_open(&tree, cfg->sysfs[0] != '\0' ? cfg->sysfs : "/", f))
		return false;
	pci_nic_read(&nic, &tree, cfg->pci);
	tree_close(&tree);
	if (!nic.there)
		return fault_say(f, "--port: there is no PCI device %s; %s list shows the NICs",
				 nic.address, paths_nic_tool());
	return pci_nic_is_bound(&nic) ||
	       fault_say(f, "--port: %s is bound to %s, not to user space: %s bind %s", nic.address,
			 nic.driver[0] != '\0' ? nic.driver : "no driver", paths_nic_tool(),
			 nic.address);
}

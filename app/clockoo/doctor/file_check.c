/*
 * file_check.c - checks a configuration against its profile and its machine, and starts nothing.
 */
#include "file_check.h"
#include "access/tls_servers.h"
#include "config/auth_file.h"
#include "nic.h"
#include "nic_profile.h"
#include "paths.h"
#include "profile/profile.h"
#include "steer/plan.h"
#include "topology/memory_nodes.h"
#include "topology/pci_nic.h"
#include "topology/topology.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Reads the online CPUs of this machine, or of the one that --sysfs names. Checks that it has the
 * NUMA nodes of cfg. */
static bool
read_cpus(struct cpu_list *cpus, const struct config *cfg, struct error *err)
{
	struct topology machine;
	struct tree tree;

	if (!tree_open(&tree, cfg->sysfs[0] != '\0' ? cfg->sysfs : "/", err))
		return false;
	topology_read(&machine, &tree);
	tree_close(&tree);
	if (!memory_nodes_exist(cfg, &machine, err))
		return false;
	cpus->count = 0;
	for (uint32_t cpu = 0; cpu < machine.cpu_end && cpu < LCORE_ID_END; cpu++)
		if (machine.cpu[cpu].online)
			cpus->at[cpus->count++] = cpu;
	return cpus->count != 0 || error_set(err, "--sysfs: no CPU is there");
}

static bool
control_exists(const struct config *cfg, const struct cpu_list *cpus, struct error *err)
{
	for (uint32_t i = 0; i < cpus->count; i++)
		if (cpus->at[i] == cfg->control_cpu)
			return true;
	return cfg->control_cpu == CONFIG_NO_CPU ||
	       error_set(err, "--control-cpu: there is no CPU %u; the machine has %u",
			 cfg->control_cpu, cpus->count);
}

bool
file_check(const struct config *cfg, struct error *err)
{
	const struct lcore_request request = {cfg->cores, cfg->share_cpus};
	struct lcore_set spread;
	struct profile profile;
	struct port_caps expected;
	struct steer_plan plan;
	struct cpu_list cpus;

	if (!read_cpus(&cpus, cfg, err) || !nic_profile(&profile, cfg, err))
		return false;
	if (cfg->lcores.count != 0 ? !lcores_exist(&cfg->lcores, &cpus, err)
				   : !lcores_assign(&spread, &cpus, &request, err))
		return false;
	steer_caps_max(&profile, &expected);
	return control_exists(cfg, &cpus, err) &&
	       steer_plan_make(&plan, cfg, &profile, &expected, err);
}

/* Checks the file of users. Accepts a file that this user may not read: the service may run as
 * another user. */
static bool
check_users_file(const struct config *cfg, struct error *err)
{
	struct auth_users users;

	if (cfg->auth_file[0] == '\0' || cfg->sysfs[0] != '\0' ||
	    (access(cfg->auth_file, R_OK) != 0 && errno == EACCES))
		return true;
	return auth_file_load(&users, cfg->auth_file, err);
}

bool
file_check_complete(const struct config *cfg, struct error *err)
{
	char device[DEVICE_BYTES];
	struct profile profile;

	return nic_profile(&profile, cfg, err) &&
	       profile_device(&profile, cfg, cfg->queues, device, err) &&
	       check_users_file(cfg, err) && (cfg->sysfs[0] != '\0' || tls_servers_check(cfg, err));
}

static bool
check_one_nic(const struct config *cfg, struct error *err)
{
	struct pci_nic nic;
	struct tree tree;

	if (cfg->pci[0] == '\0')
		return true;
	if (!tree_open(&tree, cfg->sysfs[0] != '\0' ? cfg->sysfs : "/", err))
		return false;
	pci_nic_read(&nic, &tree, cfg->pci);
	tree_close(&tree);
	if (!nic.there)
		return error_set(err, "--port: there is no PCI device %s; %s list shows the NICs",
				 nic.address, paths_nic_tool());
	return pci_nic_is_bound(&nic) ||
	       error_set(err, "--port: %s is bound to %s, not to a user-space driver: %s %s %s",
			 nic.address, nic.driver[0] != '\0' ? nic.driver : "no driver",
			 paths_nic_tool(),
			 cfg->kernel[0] != '\0' && nic.driver[0] != '\0' ? "take" : "bind",
			 nic.address);
}

bool
file_check_nic(const struct config *cfg, struct error *err)
{
	const struct config other = nic_other_config(cfg);

	return check_one_nic(cfg, err) && (!config_has_bond(cfg) || check_one_nic(&other, err));
}

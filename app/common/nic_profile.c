/*
 * nic_profile.c - chooses the NIC profile by name, PCI ID or driver, and reads it.
 */
#include "nic_profile.h"
#include "dpdk/dpdk_support.h"
#include "profile/profile_find.h"
#include "topology/pci_nic.h"
#include "paths.h"

#include <string.h>

/* Reads the profile `name` of the folder. is_guess: it was chosen without a NIC that is there. */
static bool
load(struct profile *p, const struct config *cfg, const char *folder, const char *name,
     bool is_guess, struct error *err)
{
	const struct dpdk_release release = dpdk_release_linked();
	char path[PATH_BYTES];

	if ((size_t)snprintf(path, sizeof path, "%s/%s.yaml", folder, name) >= sizeof path)
		return error_set(err, "--data-dir: the path is too long");
	if (!profile_load(p, path, name, err))
		return false;
	profile_apply_release(p, release.year * 100 + release.month);
	if (is_guess)
		profile_suppose(p, cfg);
	return profile_apply(p, cfg, err);
}

/* Finds the profile by the device's PCI ID. Chooses the generic one if the machine does not have
 * the device; another check reports that. */
static bool
name_by_id(char name[CONFIG_NAME_BYTES], bool *is_missing, const struct config *cfg,
	   const char *folder, struct error *err)
{
	struct pci_nic nic;
	struct tree tree;

	if (!tree_open(&tree, cfg->sysfs[0] != '\0' ? cfg->sysfs : "/", err))
		return false;
	pci_nic_read(&nic, &tree, cfg->pci);
	tree_close(&tree);
	*is_missing = !nic.there;
	return profile_find_pci(name, folder, (uint16_t)nic.vendor, (uint16_t)nic.device, err);
}

bool
nic_profile(struct profile *p, const struct config *cfg, struct error *err)
{
	char folder[PATH_BYTES], name[CONFIG_NAME_BYTES];
	bool is_missing = false;

	if (!paths_profile_folder(folder, cfg, err))
		return false;
	strcpy(name, cfg->profile[0] != '\0' ? cfg->profile : cfg->port);
	if (cfg->profile[0] == '\0' && cfg->pci[0] != '\0' &&
	    !name_by_id(name, &is_missing, cfg, folder, err))
		return false;
	return load(p, cfg, folder, name, is_missing, err);
}

bool
nic_profile_of_driver(struct profile *p, const struct config *cfg, const char *driver,
		      struct error *err)
{
	char folder[PATH_BYTES], name[CONFIG_NAME_BYTES];

	if (cfg->profile[0] != '\0' || strcmp(p->name, PROFILE_GENERIC) != 0)
		return true;
	return paths_profile_folder(folder, cfg, err) &&
	       profile_find_driver(name, folder, driver, err) &&
	       (strcmp(name, p->name) == 0 || load(p, cfg, folder, name, false, err));
}

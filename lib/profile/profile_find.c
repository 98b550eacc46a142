/*
 * profile_find.c - searches a directory for the profile that lists a PCI ID or a driver.
 */
#include "profile_find.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SUFFIX ".yaml"

struct wanted {
	const char *driver; /* NULL: search by ID */
	struct pci_id id;
};

bool
profile_knows_driver(const struct profile *p, const char *driver)
{
	for (uint32_t i = 0; i < PROFILE_DRIVERS_MAX; i++)
		if (p->drivers[i][0] != '\0' && strcmp(p->drivers[i], driver) == 0)
			return true;
	return false;
}

static bool
knows(const struct profile *p, const struct wanted *w)
{
	if (w->driver != NULL)
		return profile_knows_driver(p, w->driver);
	for (uint32_t i = 0; i < p->pci_id_count; i++)
		if (p->pci_ids[i].vendor == w->id.vendor && p->pci_ids[i].device == w->id.device)
			return true;
	return false;
}

/* True if file is the name of a profile's file; name is then the part before the suffix. */
static bool
parse_name(char name[CONFIG_NAME_BYTES], const char *file)
{
	const size_t len = strlen(file), suffix = sizeof SUFFIX - 1;

	if (len <= suffix || len - suffix >= CONFIG_NAME_BYTES || file[0] == '.' ||
	    strcmp(file + len - suffix, SUFFIX) != 0)
		return false;
	memcpy(name, file, len - suffix);
	name[len - suffix] = '\0';
	return true;
}

/* Searches the directory for the first profile that lists the NIC. The order is irrelevant, since
 * no two profiles list the same NIC. False if a profile is invalid. */
static bool
search(char name[CONFIG_NAME_BYTES], DIR *dir, const char *data_dir, const struct wanted *w,
       struct error *err)
{
	struct dirent *entry;

	strcpy(name, PROFILE_GENERIC);
	for (uint32_t n = 0; n < PROFILE_FILES_MAX && (entry = readdir(dir)) != NULL; n++) {
		char path[CONFIG_PATH_BYTES * 2], candidate[CONFIG_NAME_BYTES];
		struct profile p;

		if (!parse_name(candidate, entry->d_name))
			continue;
		if ((size_t)snprintf(path, sizeof path, "%s/%s", data_dir, entry->d_name) >=
		    sizeof path)
			return error_set(err, "--data-dir: the path is too long");
		if (!profile_load(&p, path, candidate, err))
			return false;
		if (knows(&p, w)) {
			strcpy(name, candidate);
			return true;
		}
	}
	return true;
}

static bool
find(char name[CONFIG_NAME_BYTES], const char *data_dir, const struct wanted *w, struct error *err)
{
	DIR *dir = opendir(data_dir);
	bool ok;

	if (dir == NULL)
		return error_set(err, "--data-dir: cannot read %s: %s", data_dir, strerror(errno));
	ok = search(name, dir, data_dir, w, err);
	closedir(dir);
	return ok;
}

bool
profile_find_pci(char name[CONFIG_NAME_BYTES], const char *data_dir, uint16_t vendor,
		 uint16_t device, struct error *err)
{
	const struct wanted w = {NULL, {vendor, device}};

	return find(name, data_dir, &w, err);
}

bool
profile_find_driver(char name[CONFIG_NAME_BYTES], const char *data_dir, const char *driver,
		    struct error *err)
{
	const struct wanted w = {driver, {0, 0}};

	return find(name, data_dir, &w, err);
}

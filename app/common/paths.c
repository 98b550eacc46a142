/*
 * paths.c - finds drivers-config and tools/nic from where the program is.
 */
#include "paths.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

/* Folders relative to the program's own: those of the source tree, if the program is in its build
 * folder (build/app, build/tests/load), and of the install prefix. */
static const char *const beside[] = {
	"/../../drivers-config",
	"/../../../drivers-config",
	"/../share/clockoo/drivers-config",
};
#define BESIDE            (sizeof beside / sizeof beside[0])
#define PROGRAM_DEPTH_MAX 4u /* as for build/tests/load/clockoo-load */

static void
program_folder(char folder[CONFIG_PATH_BYTES])
{
	const ssize_t len = readlink("/proc/self/exe", folder, CONFIG_PATH_BYTES - 1);
	char *slash;

	folder[len > 0 ? len : 0] = '\0';
	slash = strrchr(folder, '/');
	if (slash != NULL)
		*slash = '\0';
}

bool
paths_make_absolute(char *path, size_t bytes, const char *name)
{
	char folder[PATH_MAX];

	if (name[0] == '/')
		return (size_t)snprintf(path, bytes, "%s", name) < bytes;
	if (getcwd(folder, sizeof folder) == NULL)
		return false;
	return (size_t)snprintf(path, bytes, "%s/%s", folder, name) < bytes;
}

bool
paths_profile_folder(char folder[PATH_BYTES], const struct config *cfg, struct error *err)
{
	char program[CONFIG_PATH_BYTES];

	if (cfg->data_dir[0] != '\0') {
		snprintf(folder, PATH_BYTES, "%s", cfg->data_dir);
		return true;
	}
	program_folder(program);
	for (uint32_t i = 0; i < BESIDE; i++) {
		snprintf(folder, PATH_BYTES, "%s%s", program, beside[i]);
		if (access(folder, X_OK) == 0)
			return true;
	}
	return error_set(err, "--data-dir: no NIC profiles beside %s; say where drivers-config is",
			 program);
}

const char *
paths_nic_tool(void)
{
	static const char tool[] = "/tools/nic";
	char path[PATH_MAX + sizeof tool] = "";
	const ssize_t len = readlink("/proc/self/exe", path, PATH_MAX);

	for (uint32_t up = 0; len > 0 && up < PROGRAM_DEPTH_MAX; up++) {
		char *slash = strrchr(path, '/');

		if (slash == NULL)
			break;
		strcpy(slash, tool);
		if (access(path, X_OK) == 0)
			return "tools/nic";
		*slash = '\0';
	}
	return "clockoo-nic";
}

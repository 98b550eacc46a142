/*
 * paths.c - the program's own folder, and from it the folders of the profiles and of tools/nic.
 */
#include "paths.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

/* From the program's directory: the source tree, when built in a directory of it; the install
 * prefix. */
static const char *const beside[] = {
	"/../../drivers-config",
	"/../share/clockoo/drivers-config",
};
#define BESIDE        (sizeof beside / sizeof beside[0])
#define PROGRAM_DEPTH 3u /* build/app/clockoo */

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
	char path[PATH_MAX] = "";
	const ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);

	for (uint32_t up = 0; len > 0 && up < PROGRAM_DEPTH; up++) {
		char *slash = strrchr(path, '/');

		if (slash != NULL)
			*slash = '\0';
	}
	strncat(path, "/tools/nic", sizeof path - strlen(path) - 1);
	return access(path, X_OK) == 0 ? "tools/nic" : "clockoo-nic";
}

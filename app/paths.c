#include "paths.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

/* From the program's folder: the source tree, when built in a folder of it; the install prefix. */
static const char *const beside[] = {
	"/../../drivers-config",
	"/../share/clockoo/drivers-config",
};
#define BESIDE (sizeof beside / sizeof beside[0])

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

static void
path_of(char path[PATH_BYTES], const char *dir, const char *more, const char *profile)
{
	snprintf(path, PATH_BYTES, "%s%s/%s.yaml", dir, more, profile);
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
paths_find_profile(char path[PATH_BYTES], const struct config *cfg, struct fault *f)
{
	char folder[CONFIG_PATH_BYTES];

	if (cfg->data_dir[0] != '\0') {
		path_of(path, cfg->data_dir, "", cfg->port);
		return true;
	}
	program_folder(folder);
	for (uint32_t i = 0; i < BESIDE; i++) {
		char dir[PATH_BYTES];

		snprintf(dir, sizeof dir, "%s%s", folder, beside[i]);
		if (access(dir, X_OK) != 0)
			continue;
		path_of(path, folder, beside[i], cfg->port);
		return true;
	}
	return fault_say(f, "--data-dir: no NIC profiles beside %s; say where drivers-config is",
			 folder);
}

#include "file_check.h"
#include "config/profile.h"
#include "paths.h"
#include "steer/plan.h"

#include <string.h>

#define LINE_BYTES 1024

/* The machine's CPUs that are switched on; --sysfs names another machine's. */
static bool
read_cpus(struct cpu_list *cpus, const struct config *cfg, struct fault *f)
{
	char path[PATH_BYTES], line[LINE_BYTES];
	FILE *in;
	bool ok;

	snprintf(path, sizeof path, "%s/sys/devices/system/cpu/online", cfg->sysfs);
	in = fopen(path, "re");
	ok = in != NULL && fgets(line, sizeof line, in) != NULL && cpu_list_parse(cpus, line);
	if (in != NULL)
		fclose(in);
	return ok || fault_say(f, "--sysfs: cannot read a list of CPUs from %s", path);
}

bool
file_check(const struct config *cfg, struct fault *f)
{
	char path[PATH_BYTES];
	struct lcore_set spread;
	struct profile profile;
	struct port_caps promise;
	struct steer_plan plan;
	struct cpu_list cpus;

	if (!read_cpus(&cpus, cfg, f) || !paths_find_profile(path, cfg, f) ||
	    !profile_load(&profile, path, cfg->port, f))
		return false;
	if (cfg->lcores.count != 0 ? !lcores_exist(&cfg->lcores, &cpus, f)
				   : !lcores_spread(&spread, cfg->cores, &cpus, f))
		return false;
	steer_promise(&profile, &promise);
	return steer_make(&plan, cfg, &profile, &promise, f);
}

bool
file_suffices(const struct config *cfg, struct fault *f)
{
	char path[PATH_BYTES], device[DEVICE_BYTES];
	struct profile profile;

	return paths_find_profile(path, cfg, f) && profile_load(&profile, path, cfg->port, f) &&
	       profile_device(&profile, cfg, cfg->queues, device, f);
}

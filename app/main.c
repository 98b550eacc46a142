/*
 * Clockoo: read the options, build the appliance, run it until a signal, drain, stop.
 *
 * Errors: one line on stderr and exit code 1. On stdout: the ready line and --live lines.
 */
#include "appliance.h"
#include "version.h"

#include <stdio.h>

static int
refuse(const struct fault *f)
{
	fprintf(stderr, "clockoo: %s\n", f->text);
	return (int)f->code;
}

static int
serve_until_told(struct appliance *a)
{
	struct fault f;

	if (!appliance_start(a, &f))
		return refuse(&f);
	if (!appliance_run(a, &f))
		return refuse(&f);
	appliance_stop(a);
	return 0;
}

int
main(int argc, char **argv)
{
	struct appliance a = {0};
	struct fault f;

	switch (config_parse(&a.config, argc, argv, &f)) {
	case CONFIG_HELP:
		config_help(stdout);
		return 0;
	case CONFIG_VERSION:
		puts("clockoo " CLOCKOO_VERSION);
		return 0;
	case CONFIG_LICENSE:
		puts("Clockoo, under the BSD 3-Clause License; its text is the file LICENSE.\n"
		     "It runs on DPDK, which is under the same licence.");
		return 0;
	case CONFIG_WRONG:
		return refuse(&f);
	case CONFIG_RUN:
		break;
	}
	return serve_until_told(&a);
}

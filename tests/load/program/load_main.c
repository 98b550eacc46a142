/*
 * load_main.c - clockoo-load: read the options, open the port, fill the server, measure, report.
 *
 * Errors: one line on stderr. Exit code 0: every value was right; 2: one was wrong; 1: the run was
 *         not possible, or did not end.
 */
#include "load_coordinator.h"
#include "load_output.h"
#include "version.h"

#include <stdio.h>

#define EXIT_WRONG 2

static int
load_refused(const struct error *err)
{
	fprintf(stderr, "clockoo-load: %s\n", err->text);
	return 1;
}

static int
measure(struct load_program *p)
{
	struct error err, late;
	int status = 0;
	bool ran;

	load_coordinator_block_signals();
	if (!load_program_start(p, &err))
		return load_refused(&err);
	ran = load_program_run(p, &err);
	load_output_counts(p);
	if (!ran)
		status = load_refused(&err);
	else if (atomic_load(&p->interrupted))
		status = 1;
	if (!load_output_file(p, &late))
		status = load_refused(&late);
	if (p->report->wrong != 0)
		status = EXIT_WRONG;
	load_program_stop(p);
	return status;
}

int
main(int argc, char **argv)
{
	struct load_program p = {0};
	struct error err;

	/* A sweep takes minutes: a pipe gets each run at its end. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	switch (load_options_parse(&p.options, &p.config, argc, argv, &err)) {
	case CONFIG_HELP:
		load_options_help(stdout);
		return 0;
	case CONFIG_VERSION:
		puts("clockoo-load " CLOCKOO_VERSION);
		return 0;
	case CONFIG_RUN:
		return measure(&p);
	default:
		return load_refused(&err);
	}
}

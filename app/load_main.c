/*
 * clockoo-load: read the options, open the port, fill the server, measure, report.
 *
 * Errors: one line on stderr. Exit code 0: every value was right; 2: one was wrong; 1: it could not
 *         run, or not to the end.
 */
#include "load_conductor.h"
#include "load_output.h"
#include "version.h"

#include <stdio.h>

#define EXIT_WRONG 2

static int
refuse(const struct fault *f)
{
	fprintf(stderr, "clockoo-load: %s\n", f->text);
	return 1;
}

static int
measure(struct load_program *p)
{
	struct fault f, late;
	int status = 0;
	bool ran;

	load_conductor_block();
	if (!load_program_start(p, &f))
		return refuse(&f);
	ran = load_program_run(p, &f);
	load_output_counts(p);
	if (!ran)
		status = refuse(&f);
	else if (atomic_load(&p->interrupted))
		status = 1;
	if (!load_output_files(p, &late))
		status = refuse(&late);
	if (p->report->wrong != 0)
		status = EXIT_WRONG;
	load_program_stop(p);
	return status;
}

int
main(int argc, char **argv)
{
	struct load_program p = {0};
	struct fault f;

	/* A sweep takes minutes: a pipe sees each run at its end. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	switch (load_options_parse(&p.options, &p.config, argc, argv, &f)) {
	case CONFIG_HELP:
		load_options_help(stdout);
		return 0;
	case CONFIG_VERSION:
		puts("clockoo-load " CLOCKOO_VERSION);
		return 0;
	case CONFIG_RUN:
		return measure(&p);
	default:
		return refuse(&f);
	}
}

/*
 * Clockoo: read the options, build the appliance, run it until a signal, drain, stop.
 *
 * Errors: one line on stderr and memcached's exit code for it, 78 for a wrong configuration file,
 *         1 for all else. On stdout: the ready line and --live lines.
 */
#include "appliance.h"
#include "file_check.h"
#include "paths.h"
#include "plan_print.h"
#include "version.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* Read if nobody names another: Debian's place for what the operator writes. */
#define DEFAULT_FILE "/etc/clockoo/clockoo.yaml"
/* doctor could not even look: as if it had found a failure. */
#define DOCTOR_STUCK 2

static int
refuse(const struct appliance *a, struct fault *f)
{
	config_blame(&a->source, f);
	fprintf(stderr, "clockoo: %s\n", f->text);
	return (int)f->code;
}

/* The same for what the next start would say again. */
static int
refuse_for_good(const struct appliance *a, struct fault *f)
{
	config_condemn(&a->source, f);
	return refuse(a, f);
}

/* memcached's -r. A no of the kernel is a warning, as there. */
static void
allow_core_files(const struct config *c)
{
	struct rlimit core;

	if (!c->coredumps)
		return;
	getrlimit(RLIMIT_CORE, &core);
	core.rlim_cur = core.rlim_max;
	if (setrlimit(RLIMIT_CORE, &core) != 0 || core.rlim_max == 0)
		fprintf(stderr, "clockoo: warning: --enable-coredumps: no core files allowed\n");
}

/* memcached's -k, a no is a warning too. Only when all memory is taken: what is locked before
 * counts against the limit piece by piece, and the piece that is refused may be anybody's. */
static void
lock_memory(const struct config *c)
{
	struct rlimit may;

	if (!c->lock_memory || !c->no_huge)
		return;
	getrlimit(RLIMIT_MEMLOCK, &may);
	may.rlim_cur = may.rlim_max;
	setrlimit(RLIMIT_MEMLOCK, &may);
	if (mlockall(MCL_CURRENT) != 0)
		fprintf(stderr,
			"clockoo: warning: --lock-memory: not locked, the limit is %llu MB: ulimit "
			"-l unlimited; for a service, LimitMEMLOCK=infinity\n",
			(unsigned long long)(may.rlim_max >> 20));
}

static int
serve_until_told(struct appliance *a)
{
	struct fault f;

	if (!appliance_start(a, &f))
		return refuse(a, &f);
	lock_memory(&a->config);
	if (!pid_file_write(&a->pid_file, a->config.pid_file, &f) ||
	    !identity_take(&a->identity, &a->config, &f) || !appliance_run(a, &f)) {
		refuse(a, &f);
		pid_file_remove(&a->pid_file);
		appliance_stop(a);
		return (int)f.code;
	}
	pid_file_remove(&a->pid_file);
	appliance_stop(a);
	return 0;
}

static int
run(struct appliance *a)
{
	struct fault f;
	int status;

	if (a->source.file[0] != '\0' &&
	    !paths_make_absolute(a->config_path, sizeof a->config_path, a->source.file)) {
		fault_say(&f, "--config: the current folder has no name");
		return refuse(a, &f);
	}
	if (!users_begin(&a->users, &a->config, &f))
		return refuse_for_good(a, &f);
	if (!identity_find(&a->identity, a->config.user, &f))
		return refuse(a, &f);
	config_warn(&a->config, stderr);
	a->background.ready_fd = -1;
	if (a->config.daemon && !background_begin(&a->background, &status))
		return status;
	allow_core_files(&a->config);
	notify_begin(&a->notify);
	status = serve_until_told(a);
	notify_end(&a->notify);
	return status;
}

static int
check_file(struct appliance *a)
{
	struct fault f;

	if (!file_check(&a->config, &f))
		return refuse_for_good(a, &f);
	printf("%s: right\n", a->source.file);
	if (!file_suffices(&a->config, &f) || !file_nic_is_ours(&a->config, &f)) {
		config_blame(&a->source, &f);
		printf("still missing before a start: %s\n", f.text);
	}
	return 0;
}

static int
plan(struct appliance *a)
{
	struct fault f;

	return plan_print(&a->config, stdout, &f) ? 0 : refuse(a, &f);
}

static int
doctor(struct appliance *a)
{
	struct fault f;
	const int status = doctor_print(&a->config, &a->source, stdout, &f);

	return status >= 0 ? status : (refuse(a, &f), DOCTOR_STUCK);
}

int
main(int argc, char **argv)
{
	struct appliance a = {.argc = argc, .argv = argv, .source = {.default_file = DEFAULT_FILE}};
	const bool is_doctor = argc > 1 && strcmp(argv[1], "doctor") == 0;
	struct fault f;

	switch (config_parse(&a.config, &a.source, argc - is_doctor, argv + is_doctor, &f)) {
	case CONFIG_CHECK:
		return check_file(&a);
	case CONFIG_PRINT:
		config_print(&a.config, stdout);
		return 0;
	case CONFIG_PLAN:
		return plan(&a);
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
		return is_doctor ? (refuse(&a, &f), DOCTOR_STUCK) : refuse(&a, &f);
	case CONFIG_RUN:
		a.asked = a.config;
		break;
	}
	return is_doctor ? doctor(&a) : run(&a);
}

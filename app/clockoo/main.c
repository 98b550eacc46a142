/*
 * Clockoo: read the options, build the appliance, run it until a signal, drain, stop.
 *
 * Errors: one line on stderr and memcached's exit code for it, 78 for a wrong configuration file,
 *         1 for all else; --check and --plan say on stdout why a start would fail,
 *         and end with 1. On stdout: the ready line and --live lines.
 */
#include "appliance.h"
#include "capture/capture_command.h"
#include "control/hook_commands.h"
#include "doctor/check_print.h"
#include "doctor/about.h"
#include "doctor/plan_print.h"
#include "keep/arena_check.h"
#include "keep/save_command.h"
#include "paths.h"
#include "process/last_words.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* file to read without --config */
#define DEFAULT_FILE "/etc/clockoo/clockoo.yaml"
/* exit status of a doctor that cannot run, as of one that finds a failure */
#define DOCTOR_FAILED 2

static int
start_refused(const struct appliance *a, struct error *err)
{
	config_error_locate(&a->settings.source, err);
	fprintf(stderr, "clockoo: %s\n", err->text);
	return (int)err->code;
}

/* Prints the error as start_refused() does. Returns the exit code of an error that the next start
 * would meet again. */
static int
refuse_permanently(const struct appliance *a, struct error *err)
{
	config_error_permanent(&a->settings.source, err);
	return start_refused(a, err);
}

/* Raises the limit of core files (-r). A refusal by the kernel is only a warning, as in
 * memcached. */
static void
raise_core_limit(const struct config *c)
{
	struct rlimit core;

	if (!c->coredumps)
		return;
	getrlimit(RLIMIT_CORE, &core);
	core.rlim_cur = core.rlim_max;
	if (setrlimit(RLIMIT_CORE, &core) != 0 || core.rlim_max == 0)
		fprintf(stderr,
			"clockoo: warning: --enable-coredumps: cannot raise the core file limit\n");
}

/* Locks memory (-k). A refusal is only a warning. Called after all allocations: with MCL_FUTURE a
 * later one, in any library, could fail at the limit. */
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
serve_until_stopped(struct appliance *a)
{
	struct error err;

	if (!appliance_start(a, &err))
		return start_refused(a, &err);
	lock_memory(&a->settings.config);
	if (!pid_file_write(&a->pid_file, a->settings.config.pid_file, &err) ||
	    !privileges_drop(&a->process.privileges, &a->settings.config, &err) ||
	    !appliance_run(a, &err)) {
		start_refused(a, &err);
		pid_file_remove(&a->pid_file);
		appliance_stop(a);
		return (int)err.code;
	}
	pid_file_remove(&a->pid_file);
	appliance_stop(a);
	return 0;
}

static int
run(struct appliance *a)
{
	struct error err;
	int status;

	if (a->settings.source.file[0] != '\0' &&
	    !paths_make_absolute(a->settings.path, sizeof a->settings.path,
				 a->settings.source.file)) {
		error_set(&err, "--config: cannot determine the current directory");
		return start_refused(a, &err);
	}
	if (!users_begin(&a->users, &a->settings.config, &err) ||
	    !access_begin(&a->access, &a->settings.config, &err))
		return refuse_permanently(a, &err);
	if (!privileges_lookup(&a->process.privileges, a->settings.config.user, &err))
		return start_refused(a, &err);
	config_warn(&a->settings.config, stderr);
	a->background.ready_fd = a->background.log_fd = -1;
	if (a->settings.config.daemon && !background_begin(&a->background, &status))
		return status;
	last_words_begin(&a->background.log_fd);
	last_words_thread("the start or the end");
	raise_core_limit(&a->settings.config);
	notify_begin(&a->process.notify);
	status = serve_until_stopped(a);
	notify_end(&a->process.notify);
	return status;
}

static int
check(struct appliance *a)
{
	struct error err;
	const int status = check_print(&a->settings, &err);

	return status >= 0 ? status : refuse_permanently(a, &err);
}

static int
arena(struct appliance *a, const char *what)
{
	struct error err;
	int status;

	if (strcmp(what, "list") == 0)
		status = arena_list(&a->settings.config, stdout, &err);
	else if (strcmp(what, "remove") == 0)
		status = arena_remove(&a->settings.config, stdout, &err);
	else
		status = (error_set_code(&err, ERROR_USAGE, "arena \"%s\": expected list or remove",
					 what),
			  -1);
	return status >= 0 ? status : start_refused(a, &err);
}

static int
plan(struct appliance *a)
{
	struct error err;
	bool starts;

	if (!plan_print(&a->settings.config, stdout, &starts, &err))
		return start_refused(a, &err);
	return starts ? 0 : NOT_READY;
}

static int
doctor(struct appliance *a)
{
	struct error err;
	const int status = doctor_print(&a->settings.config, &a->settings.source, stdout, &err);

	return status >= 0 ? status : (start_refused(a, &err), DOCTOR_FAILED);
}

static int
save(const struct appliance *a, const char *file)
{
	struct error err;

	return save_command(&a->settings.config, file, &err) == 0 ? 0 : start_refused(a, &err);
}

/* Runs `clockoo ready` or `clockoo drain`. */
static int
hook(const struct appliance *a, bool is_ready)
{
	struct error err;
	const int status = (is_ready ? ready_command : drain_command)(&a->settings.config, &err);

	return status >= 0 ? status : start_refused(a, &err);
}

int
main(int argc, char **argv)
{
	struct appliance a = {
		.settings = {.argc = argc, .argv = argv, .source = {.default_file = DEFAULT_FILE}}};
	const bool is_doctor = argc > 1 && strcmp(argv[1], "doctor") == 0;
	const bool is_arena = argc > 1 && strcmp(argv[1], "arena") == 0;
	const bool is_ready = argc > 1 && strcmp(argv[1], "ready") == 0;
	const bool is_drain = argc > 1 && strcmp(argv[1], "drain") == 0;
	const bool is_save = argc > 1 && strcmp(argv[1], "save") == 0;
	const bool has_word = (is_arena || is_save) && argc > 2 && argv[2][0] != '-';
	const char *const what = has_word ? argv[2] : "";
	/* number of words before the options */
	const int words =
		is_doctor || is_ready || is_drain || is_arena || is_save ? 1 + has_word : 0;
	struct error err;

	if (argc > 1 && strcmp(argv[1], "capture") == 0)
		return capture_command(argc - 2, argv + 2, DEFAULT_FILE);
	switch (config_parse(&a.settings.config, &a.settings.source, argc - words, argv + words,
			     &err)) {
	case CONFIG_CHECK:
		return check(&a);
	case CONFIG_PRINT:
		config_print(&a.settings.config, stdout);
		return 0;
	case CONFIG_PLAN:
		return plan(&a);
	case CONFIG_HELP:
		config_help(stdout);
		return 0;
	case CONFIG_VERSION:
		about_print(stdout);
		return 0;
	case CONFIG_LICENSE:
		puts("Clockoo, under the BSD 3-Clause License; its text is the file LICENSE.\n"
		     "It runs on DPDK, which is under the same licence.");
		return 0;
	case CONFIG_ERROR:
		return is_doctor ? (start_refused(&a, &err), DOCTOR_FAILED)
				 : start_refused(&a, &err);
	case CONFIG_RUN:
		a.settings.asked = a.settings.config;
		break;
	}
	if (is_ready || is_drain)
		return hook(&a, is_ready);
	if (is_save)
		return save(&a, what);
	return is_doctor ? doctor(&a) : is_arena ? arena(&a, what) : run(&a);
}

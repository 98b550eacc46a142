/*
 * The program from outside. Goal: whatever the operator gets wrong is one line on stderr, nothing
 * on stdout and exit code 1, never a core dump or EAL's own words; started right it says it is
 * ready, and SIGTERM and SIGINT end it with 0. Method: run the built program with a table of
 * arguments; no case needs root, a NIC or hugepages.
 */
#include "support/test.h"
#include "dpdk/eal.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGS_MAX 12
#define OUT_MAX  4096
#define WAIT_MS  20000

/* Set once in main from the command line; cmocka hands tests no argv. */
static const char *program;

/* Of this run alone, so that two may run side by side. */
static char prefix[CONFIG_NAME_BYTES];

struct run {
	pid_t pid;
	int out_fd, err_fd;
	char out[OUT_MAX], err[OUT_MAX];
};

static void
start(struct run *r, const char *const *args)
{
	static char name[] = "clockoo", option[] = "--file-prefix";
	char *argv[ARGS_MAX + 4] = {name, option, prefix};
	int out[2], err[2];

	for (int i = 0; i < ARGS_MAX && args[i] != NULL; i++)
		argv[i + 3] = (char *)(uintptr_t)args[i];
	check_eq(pipe(out), 0);
	check_eq(pipe(err), 0);
	r->pid = fork();
	if (r->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed check must leave nothing running */
		dup2(out[1], STDOUT_FILENO);
		dup2(err[1], STDERR_FILENO);
		close(out[0]);
		close(err[0]);
		execv(program, argv);
		_exit(127);
	}
	close(out[1]);
	close(err[1]);
	r->out_fd = out[0];
	r->err_fd = err[0];
}

/* One line; or, with until_end, all there is. */
static void
hear(int fd, char *text, bool until_end)
{
	size_t used = 0;

	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t n;

		if (poll(&p, 1, WAIT_MS) != 1)
			fail_msg("no word for %d s", WAIT_MS / 1000);
		n = read(fd, text + used, OUT_MAX - 1 - used);
		if (n <= 0)
			break;
		used += (size_t)n;
		if (!until_end && text[used - 1] == '\n')
			break;
	}
	text[used] = '\0';
}

static int
end(struct run *r)
{
	int status;

	hear(r->out_fd, r->out, true);
	hear(r->err_fd, r->err, true);
	close(r->out_fd);
	close(r->err_fd);
	check_eq(waitpid(r->pid, &status, 0), r->pid);
	return status;
}

static void
check_one_line(const char *text, const char *part, const char *first_arg)
{
	const char *line_end = strchr(text, '\n');

	if (strncmp(text, "clockoo: ", 9) != 0 || strstr(text, part) == NULL)
		fail_msg("%s: not \"%s\": %s", first_arg, part, text);
	if (line_end == NULL || line_end[1] != '\0')
		fail_msg("%s: not one line: %s", first_arg, text);
}

static const struct {
	const char *args[ARGS_MAX];
	const char *line;
} refused[] = {
	{{"--nonsense"}, "there is no such option"},
	{{"-m", "1"}, "from 8 to 1048576"},
	{{"-m", "1048576", "--port", "null"}, "hugepages: "},
	{{"-m", "1048576", "--port", "null", "--no-huge"}, "memory: "},
	{{"--no-huge"}, "needs --iface NAME"},
	{{"--no-huge", "--port", "nosuch"}, "no profile \"nosuch\""},
	{{"--no-huge", "--port", "null", "--data-dir", "no-dir"}, "no-dir/null.yaml"},
	{{"--no-huge", "--port", "null", "-t", "2"}, "use -t 1"},
	{{"--no-huge", "--port", "null", "--lcores", "0@127"}, "there is no CPU 127"},
	{{"--no-huge", "--port", "virtio_user", "--socket", "no-socket"}, "start the vhost side"},
	{{"--no-huge", "--port", "0000:ff:1f.7"}, "no PCI device"},
	/* Only DPDK can refuse these: its own words must be caught. */
	{{"--no-huge", "--port", "null", "--vdev-args", "wrong=1"}, "the driver did not start"},
	{{"--no-huge", "--port", "memif", "--socket", "no-dir/m.sock"}, "--port"},
};

static void
what_the_operator_gets_wrong_is_one_line_and_exit_code_1(void **state)
{
	for (uint32_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		struct run r;
		int status;

		start(&r, refused[i].args);
		status = end(&r);
		check_one_line(r.err, refused[i].line, refused[i].args[0]);
		check_str(r.out, "");
		check(WIFEXITED(status));
		check_eq(WEXITSTATUS(status), 1);
	}
}

static void
a_file_prefix_in_use_is_refused(void **state)
{
	const char *const args[] = {"--no-huge", "--port", "null", NULL};
	struct fault f;
	const int fd = eal_claim_prefix(prefix, &f);
	struct run r;

	check(fd >= 0);
	start(&r, args);
	check_eq(WEXITSTATUS(end(&r)), 1);
	check_one_line(r.err, " is in use", "--file-prefix");
	close(fd);
}

static const int stops[] = {SIGTERM, SIGINT};

static void
it_says_when_it_is_ready_and_ends_with_0_when_told_to(void **state)
{
	const char *const args[] = {"--no-huge", "--port", "null", "-m", "8", "-U", "11211", NULL};

	for (uint32_t i = 0; i < sizeof stops / sizeof stops[0]; i++) {
		struct run r;
		int status;

		start(&r, args);
		hear(r.out_fd, r.out, false);
		check_ptr(strstr(r.out, " ready: tcp 10.99.0.1:11211 udp 10.99.0.1:11211, 1 core, "
					"8 MB, null\n"));
		kill(r.pid, stops[i]);
		status = end(&r);
		check_str(r.err, "");
		check(WIFEXITED(status));
		check_eq(WEXITSTATUS(status), 0);
	}
}

static void
live_prints_a_line_of_figures_a_second(void **state)
{
	const char *const args[] = {"--no-huge", "--port", "null", "-m", "8", "--live", NULL};
	struct run r;

	start(&r, args);
	hear(r.out_fd, r.out, false);
	hear(r.out_fd, r.out, false);
	check_ptr(strstr(r.out, "get/s 0 set/s 0 other/s 0 hit 0.0% items 0"));
	check_ptr(strstr(r.out, " busy "));
	kill(r.pid, SIGTERM);
	check_eq(end(&r), 0);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_operator_gets_wrong_is_one_line_and_exit_code_1),
		cmocka_unit_test(a_file_prefix_in_use_is_refused),
		cmocka_unit_test(it_says_when_it_is_ready_and_ends_with_0_when_told_to),
		cmocka_unit_test(live_prints_a_line_of_figures_a_second),
	};

	if (argc != 2)
		return 2;
	program = argv[1];
	snprintf(prefix, sizeof prefix, "test_program%d", (int)getpid());
	return cmocka_run_group_tests(tests, NULL, NULL);
}

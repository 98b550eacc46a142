/*
 * The program from outside. Goal: every mistake of the operator is one line on stderr, nothing on
 * stdout and memcached's exit code, never a core dump or EAL's own words; a program that starts
 * reports that it is ready, and SIGTERM, SIGINT and SIGUSR1 end it with 0. Method: run the built
 * program with a table of arguments; no case needs root, a NIC or hugepages.
 */
#include "support/test.h"
#include "name_claim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGS_MAX 12
#define OUT_MAX  4096
#define WAIT_MS  60000

/* The program's path, set once in main from the command line; cmocka hands tests no argv. */
static const char *program;

/* The prefix is unique to this run, so that two may run side by side. */
static char prefix[CONFIG_NAME_BYTES];

/* ---- processes left running ---- */

#define GUARD_TRIES   40
#define GUARD_TRY_US  50000
#define CMDLINE_BYTES 1024

/* True if we started this process: all have our prefix as an argument of its own. */
static bool
is_ours(const char *pid)
{
	char path[64], line[CMDLINE_BYTES] = {0};
	const size_t prefix_len = strlen(prefix);
	FILE *in;
	size_t len;

	snprintf(path, sizeof path, "/proc/%.20s/cmdline", pid);
	in = fopen(path, "r");
	if (in == NULL)
		return false;
	len = fread(line, 1, sizeof line - 1, in);
	fclose(in);
	for (const char *arg = line; arg < line + len; arg += strlen(arg) + 1)
		if (strlen(arg) == prefix_len && strcmp(arg, prefix) == 0)
			return true;
	return false;
}

static uint32_t
signal_ours(int number)
{
	DIR *all = opendir("/proc");
	uint32_t count = 0;

	for (struct dirent *d; all != NULL && (d = readdir(all)) != NULL;)
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9' && is_ours(d->d_name)) {
			kill((pid_t)atol(d->d_name), number);
			count++;
		}
	if (all != NULL)
		closedir(all);
	return count;
}

/* Starts a process that waits for our end, by any cause (kill -9, a time-out), and then ends the
 * processes that we left running: a daemon does not end with its parent. */
static void
guard_begin(void)
{
	int ends[2];
	char word;

	if (pipe2(ends, O_CLOEXEC) != 0 || fork() != 0)
		return;
	setsid();
	close(ends[1]);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		close(fd);
	while (read(ends[0], &word, 1) < 0 && errno == EINTR)
		;
	for (uint32_t i = 0; i < GUARD_TRIES && signal_ours(SIGTERM) != 0; i++)
		usleep(GUARD_TRY_US);
	signal_ours(SIGKILL);
	_exit(0);
}

struct run {
	pid_t pid;
	int out_fd, err_fd;
	char out[OUT_MAX], err[OUT_MAX];
};

static void
start(struct run *r, const char *const *args)
{
	static char name[] = "clockoo", option[] = "--file-prefix";
	static char config[] = "--config", none[] = "none"; /* not the file of this machine */
	char *argv[ARGS_MAX + 6] = {name, option, prefix, config, none};
	int out[2], err[2];

	for (int i = 0; i < ARGS_MAX && args[i] != NULL; i++)
		argv[i + 5] = (char *)(uintptr_t)args[i];
	check_eq(pipe(out), 0);
	check_eq(pipe(err), 0);
	r->pid = fork();
	if (r->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed check must leave nothing running */
		dup2(out[1], STDOUT_FILENO);
		dup2(err[1], STDERR_FILENO);
		for (int i = 0; i < 2; i++) {
			close(out[i]);
			close(err[i]);
		}
		execv(program, argv);
		_exit(127);
	}
	close(out[1]);
	close(err[1]);
	r->out_fd = out[0];
	r->err_fd = err[0];
}

/* Reads one line or, with until_end, all output. */
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

struct refusal {
	const char *args[ARGS_MAX];
	const char *line;
};

static void
check_refused(const struct refusal *refusal)
{
	struct run r;
	int status;

	start(&r, refusal->args);
	status = end(&r);
	check_one_line(r.err, refusal->line, refusal->args[0]);
	check_str(r.out, "");
	check(WIFEXITED(status));
	check_eq(WEXITSTATUS(status), 1);
}

static const struct refusal refused[] = {
	{{"--nonsense"}, "unknown option"},
	{{"-m", "0"}, "from 1 to 1048576"},
	{{"--no-huge"}, "needs --iface NAME"},
	{{"--no-huge", "--port", "nosuch"}, "no profile \"nosuch\""},
	{{"--no-huge", "--port", "null", "--data-dir", "no-dir"}, "no-dir/null.yaml"},
	{{"--no-huge", "--port", "null", "-t", "2", "--steering", "rss"},
	 "--steering: rss: port null cannot hash flows: use auto"},
	{{"--no-huge", "--port", "null", "--lcores", "0@127"}, "there is no CPU 127"},
	{{"--no-huge", "--port", "virtio_user", "--socket", "no-socket"}, "start the vhost side"},
	{{"--no-huge", "--port", "0000:ff:1f.7"}, "no PCI device"},
	/* Only DPDK can refuse these: its own words must be captured. */
	{{"--no-huge", "--port", "null", "--vdev-args", "wrong=1"}, "the driver did not start"},
	{{"--no-huge", "--port", "memif", "--socket", "no-dir/m.sock"}, "--port"},
};

TEST(what_the_operator_gets_wrong_is_one_line_and_exit_code_1)
{
	for (uint32_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
		check_refused(&refused[i]);
}

#define MOST_MB 1048576u /* the most that -m takes */

/* A host with that much memory would start. */
TEST(more_memory_than_the_host_has_is_one_line_and_exit_code_1)
{
	static const struct refusal rows[] = {
		{{"-m", "1048576", "--port", "null"}, "hugepages: "},
		{{"-m", "1048576", "--port", "null", "--no-huge"}, "memory: "},
	};
	const uint64_t host_mb =
		(uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) >> 20;

	if (host_mb >= MOST_MB) {
		print_message("skipped: this host has %u MB or more\n", MOST_MB);
		skip();
	}
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		check_refused(&rows[i]);
}

TEST(a_file_prefix_in_use_is_refused)
{
	const char *const args[] = {"--no-huge", "--port", "null", NULL};
	struct error f;
	struct run r;
	int fd;

	check(name_claim_prefix(prefix, &fd, &f));
	start(&r, args);
	check_eq(WEXITSTATUS(end(&r)), 1);
	check_one_line(r.err, " is in use", "--file-prefix");
	close(fd);
}

static const int stops[] = {SIGTERM, SIGINT, SIGUSR1};

TEST(it_says_when_it_is_ready_and_ends_with_0_when_told_to)
{
	/* This port does not use the interface, so it is not named. */
	const char *const args[] = {"--no-huge", "--port", "null", "--iface", "lo",
				    "-m",        "8",      "-U",   "11211",   NULL};

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

TEST(live_prints_a_line_of_figures_a_second)
{
	const char *const args[] = {"--no-huge", "--port", "null", "-m", "8", "--live", NULL};
	struct run r;

	start(&r, args);
	hear(r.out_fd, r.out, false);
	hear(r.out_fd, r.out, false);
	check_ptr(strstr(r.out, "% | items 0 memory 0.0 of 8 MB missed 0\n"));
	check_ptr(strstr(r.out, "get/s 0 set/s 0 other/s 0 hit - busy "));
	check_ptr(strstr(r.out, " busy "));
	kill(r.pid, SIGTERM);
	check_eq(end(&r), 0);
}

static const struct {
	const char *args[ARGS_MAX];
	int code;
	const char *line;
} codes[] = {
	{{"-I", "1"}, 64, "--max-item-size"},
	{{"-U", "1", "-Y", "users"}, 64, "no authentication over UDP"},
	{{"-s", "path"}, 64, "Unix domain sockets are not supported"},
	{{"-Y", "no-such-file"}, 1, "cannot read no-such-file"},
	{{"-S"}, 1, "MEMCACHED_SASL_PWDB"},
	{{"-d", "--no-huge", "--port", "nosuch"}, 1, "no profile \"nosuch\""},
};

TEST(a_refusal_ends_with_memcacheds_exit_code)
{
	for (uint32_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
		struct run r;
		int status;

		start(&r, codes[i].args);
		status = end(&r);
		check_one_line(r.err, codes[i].line, codes[i].args[0]);
		check(WIFEXITED(status));
		check_eq(WEXITSTATUS(status), codes[i].code);
	}
}

/* Only root may become another user, so only for root is the name looked up. */
TEST(a_user_that_is_not_there_is_exit_code_67)
{
	const char *const args[] = {"--no-huge", "--port", "null", "-u", "no such user", NULL};
	struct run r;

	if (geteuid() != 0)
		skip();
	start(&r, args);
	check_eq(WEXITSTATUS(end(&r)), 67);
	check_one_line(r.err, "no such user \"no such user\"", "-u");
}

TEST(what_has_no_meaning_is_a_warning_and_no_more)
{
	const char *const args[] = {"--no-huge", "--port", "null", "-m",     "8",
				    "-f",        "1.2",    "-o",   "modern", NULL};
	struct run r;

	start(&r, args);
	hear(r.out_fd, r.out, false);
	check_ptr(strstr(r.out, " ready: "));
	kill(r.pid, SIGTERM);
	check_eq(end(&r), 0);
	check_one_line(r.err, "warning: --slab-growth-factor is ignored", "-f");
}

/* Two cores share one queue; this port gives a whole burst each turn, so that both are busy. */
TEST(cores_that_must_share_a_queue_serve_and_say_so)
{
	const char *const args[] = {"--no-huge", "--port",  "null",    "-m", "8",
				    "--lcores",  "0@0,1@0", "--yield", NULL};
	struct run r;

	start(&r, args);
	hear(r.out_fd, r.out, false);
	check_ptr(strstr(r.out, " ready: "));
	kill(r.pid, SIGTERM);
	check_eq(end(&r), 0);
	check_one_line(r.err,
		       "steering: 1 queue, the port cannot spread flows; 2 cores hand frames "
		       "over to each other in software",
		       "--lcores");
}

static void
write_file(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	check_ptr(out);
	fputs(text, out);
	fclose(out);
	/* A file of users that others may read causes a warning. */
	chmod(path, S_IRUSR | S_IWUSR);
}

TEST(users_are_read_again_on_hup_and_a_bad_file_changes_nothing)
{
	char path[64];
	const char *const args[] = {"--no-huge", "--port", "null", "-m", "8", "-Y", path, NULL};
	struct run r;

	snprintf(path, sizeof path, "%s.users", prefix);
	write_file(path, "user:word\n");
	start(&r, args);
	hear(r.out_fd, r.out, false);
	write_file(path, "user:word\nsecret\n");
	kill(r.pid, SIGHUP);
	hear(r.err_fd, r.err, false);
	check_one_line(r.err, "line 2: expected user:password; the users are unchanged", "-Y");
	check_null(strstr(r.err, "secret"));
	write_file(path, "user:word\n");
	kill(r.pid, SIGHUP); /* a good file is read, and reported, before the USR1 is handled */
	kill(r.pid, SIGUSR1);
	check_eq(end(&r), 0);
	check_one_line(r.err, "users: 1 user", "-Y");
	unlink(path);
}

/* The name is a link, and its target is exchanged, as when an orchestrator renews a secret. */
TEST(users_are_read_again_through_a_link_that_was_exchanged)
{
	char path[64], old[64], new[64];
	const char *const args[] = {"--no-huge", "--port", "null", "-m", "8", "-Y", path, NULL};
	struct run r;

	snprintf(path, sizeof path, "%s.users", prefix);
	snprintf(old, sizeof old, "%s.old", prefix);
	snprintf(new, sizeof new, "%s.new", prefix);
	write_file(old, "user:word\n");
	write_file(new, "user:word\nwrong\n");
	check_eq(symlink(old, path), 0);
	start(&r, args);
	hear(r.out_fd, r.out, false);
	check_eq(unlink(path), 0);
	check_eq(symlink(new, path), 0);
	kill(r.pid, SIGHUP);
	hear(r.err_fd, r.err, false);
	check_one_line(r.err, "line 2: expected user:password; the users are unchanged", "-Y");
	kill(r.pid, SIGTERM);
	check_eq(end(&r), 0);
	unlink(path);
	unlink(old);
	unlink(new);
}

static long
number_in(const char *path)
{
	FILE *in = fopen(path, "r");
	long number = 0;

	if (in == NULL)
		return 0;
	if (fscanf(in, "%ld", &number) != 1)
		number = 0;
	fclose(in);
	return number;
}

TEST(a_daemon_returns_when_it_serves_and_leaves_its_number)
{
	char path[64];
	const char *const args[] = {"--no-huge", "--port", "null", "-m", "8",
				    "-d",        "-P",     path,   NULL};
	struct run r;
	long pid;

	snprintf(path, sizeof path, "%s.pid", prefix);
	start(&r, args);
	check_eq(end(&r), 0); /* no process holds our pipes any more */
	check_ptr(strstr(r.out, " ready: "));
	check_str(r.err, "");
	pid = number_in(path);
	check(pid > 1 && pid != r.pid);
	check_eq(kill((pid_t)pid, 0), 0);
	kill((pid_t)pid, SIGTERM);
	for (uint32_t i = 0; i < 200 && access(path, F_OK) == 0; i++)
		usleep(WAIT_MS * 1000 / 200);
	check_eq(access(path, F_OK), -1);
}

/* True if the process runs. A container's first process may wait for no child: one that has ended
 * keeps its number there. */
static bool
is_running(long pid)
{
	char path[64], state = 'Z';
	FILE *f;

	snprintf(path, sizeof path, "/proc/%ld/stat", pid);
	f = fopen(path, "r");
	if (f == NULL)
		return false;
	(void)!fscanf(f, "%*d (%*[^)]) %c", &state); /* it may end meanwhile */
	fclose(f);
	return state != 'Z';
}

/* guard_begin() ensures it. */
TEST(a_daemon_ends_with_a_test_that_is_killed)
{
	char path[64];
	const char *const args[] = {"--no-huge", "--port", "null", "-m", "8",
				    "-d",        "-P",     path,   NULL};
	bool lives = true;
	int number[2];
	pid_t test;
	long pid = 0;

	snprintf(path, sizeof path, "%s.pid", prefix);
	check_eq(pipe(number), 0);
	test = fork();
	if (test == 0) {
		struct run r;

		snprintf(prefix, sizeof prefix, "test_killed%d", (int)getpid());
		guard_begin();
		start(&r, args);
		end(&r);
		/* The daemon removes its file when it ends, perhaps before
		 * another process has read it. */
		pid = number_in(path);
		if (write(number[1], &pid, sizeof pid) != sizeof pid)
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	check_eq(waitpid(test, NULL, 0), test);
	check_eq(read(number[0], &pid, sizeof pid), sizeof pid);
	close(number[0]);
	close(number[1]);
	check(pid > 1);
	for (uint32_t i = 0; i < 200 && lives; i++) {
		usleep(WAIT_MS * 1000 / 200);
		lives = is_running(pid);
	}
	if (lives)
		kill((pid_t)pid, SIGKILL);
	check(!lives);
	check_eq(access(path, F_OK), -1);
}

int
main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	program = argv[1];
	snprintf(prefix, sizeof prefix, "test_program%d", (int)getpid());
	guard_begin();
	return tests_run(NULL, NULL);
}

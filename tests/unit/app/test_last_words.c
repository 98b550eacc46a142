/*
 * The report of a crash. Goal: it names the signal, the core, its stage, the commands before it,
 * its last busy turns, oldest last, and a backtrace; a crash while the report is written still
 * ends the process; a full pipe does not keep the process alive; the system log gets lines of its
 * own. Method: processes of ours that crash, with a core made by hand and a fake of the serving
 * room.
 */
#include "support/test.h"
#include "process/last_words.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_BYTES 65536u
#define NOW_NS     9000000000ull

static const char *const requests[] = {"get", "set", "get", "", "get"};
static bool requests_crash;

uint32_t
serve_pass_requests(const struct serve *sv)
{
	(void)sv;
	return requests_crash ? *(volatile uint32_t *)8 : 5;
}

const char *
serve_pass_request_name(const struct serve *sv, uint32_t i)
{
	(void)sv;
	return i == 2 ? requests[0] : requests[i];
}

uint64_t
tsc_clock_ns(const struct tsc_clock *clock)
{
	(void)clock;
	return NOW_NS;
}

void
memory_page_count_crash(struct memory_page *p, int signal_number)
{
	*(int *)p = signal_number;
}

static struct core core;
static int counted;

/* Makes a core in this stage, with this many busy turns. */
static void
core_make(uint32_t turns, uint8_t stage)
{
	core = (struct core){.stage = stage, .traced = turns};
	for (uint32_t i = 0; i < turns; i++)
		core.trace[i % CORE_TRACE_TURNS] = (struct core_trace){
			NOW_NS - (turns - i) * 10000ull, (uint16_t)(i % 32), (uint16_t)(i % 7)};
}

static __attribute__((noinline)) void
crash(int number)
{
	if (number == SIGSEGV)
		*(volatile int *)16 = 1;
	raise(number);
}

/* Returns how a process ends that crashes this way, and writes its output to text. */
static int
end_of(int number, uint32_t from_socket, char text[TEXT_BYTES])
{
	int ends[2], status, none = -1;
	size_t len = 0;
	ssize_t got;
	pid_t pid;

	if (from_socket)
		check_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
	else
		check_eq(pipe(ends), 0);
	pid = fork();
	check(pid >= 0);
	if (pid == 0) {
		if (!from_socket)
			dup2(ends[1], STDERR_FILENO);
		last_words_begin(from_socket ? &ends[1] : &none);
		last_words_count_in((struct memory_page *)(void *)&counted);
		if (core.traced != 0)
			last_words_core(3, &core, NULL);
		else
			last_words_thread("a test");
		crash(number);
		_exit(0);
	}
	check_eq(waitpid(pid, &status, 0), pid);
	close(ends[1]);
	while (len < TEXT_BYTES - 2 &&
	       (got = from_socket ? recv(ends[0], text + len, TEXT_BYTES - 2 - len, MSG_DONTWAIT)
				  : read(ends[0], text + len, TEXT_BYTES - 2 - len)) > 0) {
		len += (size_t)got;
		if (from_socket)
			text[len++] = '\n';
	}
	text[len] = '\0';
	close(ends[0]);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void
has(const char *text, const char *words)
{
	if (strstr(text, words) == NULL)
		fail_msg("\"%s\" is not in:\n%s", words, text);
}

TEST(a_core_tells_stage_requests_turns_and_backtrace)
{
	static char text[TEXT_BYTES];

	core_make(100, STAGE_EXECUTE);
	check_eq(end_of(SIGSEGV, false, text), SIGSEGV);
	has(text, "clockoo: crash: signal 11 (SIGSEGV) at address 0x10, in core 3, EXECUTE\n");
	has(text, "clockoo: crash: requests of its last pass: 5; 3 get, 1 set, 1 of none\n");
	has(text, "microseconds ago:frames in/out: 10:3/1 20:2/0 30:1/6 ");
	has(text, " 640:4/1\n");
	has(text, "PROGRAM OFFSET: clockoo+0x");
	core_make(1, STAGE_COUNT);
	check_eq(end_of(SIGFPE, false, text), SIGFPE);
	has(text, "(SIGFPE), in core 3, between two turns\n");
	has(text, "in/out: 10:0/0\n");
}

TEST(another_thread_tells_its_name)
{
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
	static char text[TEXT_BYTES];

	core = (struct core){0};
	for (uint32_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
		check_eq(end_of(numbers[i], false, text), numbers[i]);
		has(text, ", in a test\nclockoo: crash: backtrace");
		check(strstr(text, "requests") == NULL);
	}
}

TEST(a_crash_in_the_report_ends_the_report)
{
	static char text[TEXT_BYTES];

	core_make(3, STAGE_PARSE);
	requests_crash = true;
	check_eq(end_of(SIGABRT, false, text), SIGSEGV);
	requests_crash = false;
	has(text, "signal 6 (SIGABRT)");
	check(strstr(text, "crash: signal 11") == NULL);
}

TEST(the_system_log_gets_lines_of_its_own)
{
	static char text[TEXT_BYTES];

	core_make(3, STAGE_TX);
	check_eq(end_of(SIGSEGV, true, text), SIGSEGV);
	check(strncmp(text, "<26>clockoo[", 12) == 0);
	has(text, "]: crash: signal 11 (SIGSEGV) at address 0x10, in core 3, TX\n<26>clockoo[");
}

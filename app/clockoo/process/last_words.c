/*
 * last_words.c - the signal handler, its text without stdio or malloc, and the stacks on which it
 * runs.
 */
#include "last_words.h"

#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#define STACK_BYTES   65536u /* the kernel puts 11 KB at most on it, with all registers (AMX) */
#define LINE_BYTES    1500u
#define FRAMES_MAX    48
#define MODULES_MAX   64u
#define MODULE_NAME   32u
#define COMMANDS_MAX  16u
#define NUMBER_DIGITS 20u
#define US_NS         1000u

struct crash_signal {
	int number;
	const char *name;
};

/* The address range of the program or a library, as mapped at start. */
struct module {
	uintptr_t base, end;
	char name[MODULE_NAME];
};

struct line {
	size_t len;
	char text[LINE_BYTES];
};

static const struct crash_signal crash_signals[] = {{SIGSEGV, "SIGSEGV"},
						    {SIGBUS, "SIGBUS"},
						    {SIGILL, "SIGILL"},
						    {SIGFPE, "SIGFPE"},
						    {SIGABRT, "SIGABRT"}};
static const char *const stage_names[STAGE_COUNT + 1] = {
#define STAGE_NAME(stage) #stage,
	CORE_STAGES(STAGE_NAME) "between two turns"};

/* The inputs of the handler are static, since a signal handler has no argument for them. */
static _Atomic(struct memory_page *)
	crash_page;                          /* NULL: crashes are not counted, or one was counted */
static atomic_flag begun = ATOMIC_FLAG_INIT; /* the first thread that crashes sets it */
static const int *log_socket;
static struct module modules[MODULES_MAX];
static uint32_t module_count;
static _Thread_local uint8_t stack[STACK_BYTES];
static _Thread_local struct {
	const char *name;
	uint32_t number;
	const struct core *core; /* NULL: this thread runs no core */
	const struct tsc_clock *clock;
} mine;

/* ---- text ---- */

static void
put(struct line *l, const char *words)
{
	while (*words != '\0' && l->len < LINE_BYTES - 1)
		l->text[l->len++] = *words++;
}

static void
put_number(struct line *l, uint64_t n, uint32_t base)
{
	char digits[NUMBER_DIGITS + 1];
	uint32_t at = NUMBER_DIGITS;

	digits[at] = '\0';
	do
		digits[--at] = "0123456789abcdef"[n % base];
	while ((n /= base) != 0);
	put(l, base == 16 ? "0x" : "");
	put(l, digits + at);
}

static void
line_begin(struct line *l)
{
	l->len = 0;
	if (*log_socket >= 0) {
		put(l, "<");
		put_number(l, LOG_DAEMON | LOG_CRIT, 10);
		put(l, ">clockoo[");
		put_number(l, (uint64_t)getpid(), 10);
		put(l, "]: crash: ");
	} else {
		put(l, "clockoo: crash: ");
	}
}

/* Writes the line without waiting. If the reader has no room the line is lost: the process must end
 * in any case. */
static void
line_end(struct line *l)
{
	if (*log_socket >= 0) {
		(void)!send(*log_socket, l->text, l->len, MSG_DONTWAIT | MSG_NOSIGNAL);
		return;
	}
	l->text[l->len++] = '\n'; /* put() leaves one byte for it */
	(void)!write(STDERR_FILENO, l->text, l->len);
}

/* ---- the report ---- */

static const char *
signal_name(int number)
{
	for (size_t i = 0; i < sizeof crash_signals / sizeof crash_signals[0]; i++)
		if (crash_signals[i].number == number)
			return crash_signals[i].name;
	return "";
}

static void
tell_signal(struct line *l, const siginfo_t *info)
{
	line_begin(l);
	put(l, "signal ");
	put_number(l, (uint64_t)info->si_signo, 10);
	put(l, " (");
	put(l, signal_name(info->si_signo));
	put(l, ")");
	if (info->si_code > 0 && info->si_signo != SIGABRT) {
		put(l, " at address ");
		put_number(l, (uint64_t)(uintptr_t)info->si_addr, 16);
	} else if (info->si_pid != getpid()) {
		put(l, " from process ");
		put_number(l, (uint64_t)info->si_pid, 10);
	}
	put(l, ", in ");
	put(l, mine.name != NULL ? mine.name : "a thread without a name");
	if (mine.core != NULL) {
		put(l, " ");
		put_number(l, mine.number, 10);
		put(l, ", ");
		put(l,
		    stage_names[mine.core->stage < STAGE_COUNT ? mine.core->stage : STAGE_COUNT]);
	}
	line_end(l);
}

/* Reports the requests of the core's pass: each command and its number. */
static void
tell_requests(struct line *l, const struct serve *serve)
{
	const uint32_t n = serve_pass_requests(serve);
	const char *names[COMMANDS_MAX];
	uint32_t counts[COMMANDS_MAX], commands = 0;

	for (uint32_t i = 0; i < n; i++) {
		const char *name = serve_pass_request_name(serve, i);
		uint32_t k = 0;

		while (k < commands && names[k] != name)
			k++;
		if (k == commands && commands < COMMANDS_MAX) {
			names[commands] = name;
			counts[commands++] = 0;
		}
		if (k < commands)
			counts[k]++;
	}
	line_begin(l);
	put(l, "requests of its last pass: ");
	put_number(l, n, 10);
	for (uint32_t k = 0; k < commands; k++) {
		put(l, k == 0 ? "; " : ", ");
		put_number(l, counts[k], 10);
		put(l, " ");
		put(l, names[k][0] != '\0' ? names[k] : "of none");
	}
	line_end(l);
}

static void
tell_turns(struct line *l, const struct core *core, uint64_t now_ns)
{
	const uint32_t n = core->traced < CORE_TRACE_TURNS ? core->traced : CORE_TRACE_TURNS;

	line_begin(l);
	put(l, "busy turns before it, microseconds ago:frames in/out:");
	for (uint32_t i = 1; i <= n; i++) {
		const struct core_trace *t = &core->trace[(core->traced - i) % CORE_TRACE_TURNS];

		put(l, " ");
		put_number(l, now_ns > t->began_ns ? (now_ns - t->began_ns) / US_NS : 0, 10);
		put(l, ":");
		put_number(l, t->frames_in, 10);
		put(l, "/");
		put_number(l, t->frames_out, 10);
	}
	line_end(l);
}

static const struct module *
module_of(uintptr_t at)
{
	for (uint32_t i = 0; i < module_count; i++)
		if (at >= modules[i].base && at < modules[i].end)
			return &modules[i];
	return NULL;
}

/* Reports return addresses, each less one byte: addr2line then names the call. */
static void
tell_backtrace(struct line *l)
{
	void *frames[FRAMES_MAX];
	const int n = backtrace(frames, FRAMES_MAX);

	line_begin(l);
	put(l, "backtrace, for addr2line -Cfipe PROGRAM OFFSET:");
	for (int i = 0; i < n; i++) {
		const uintptr_t at = (uintptr_t)frames[i] - 1;
		const struct module *m = module_of(at);

		put(l, " ");
		put(l, m != NULL ? m->name : "?");
		put(l, "+");
		put_number(l, m != NULL ? at - m->base : at, 16);
	}
	line_end(l);
}

static void
tell(const siginfo_t *info)
{
	struct line l;

	tell_signal(&l, info);
	if (mine.core != NULL) {
		tell_requests(&l, mine.core->serve);
		tell_turns(&l, mine.core, tsc_clock_ns(mine.clock));
	}
	tell_backtrace(&l);
}

static void
default_and_unblocked(int number)
{
	sigset_t set;

	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* Reports the crash. Then raises the signal again: SA_RESETHAND has restored its default action,
 * which ends the process. */
static void
tell_and_die(int number, siginfo_t *info, void *context)
{
	struct memory_page *page = atomic_exchange(&crash_page, NULL);

	(void)context;
	if (page != NULL)
		memory_page_count_crash(page, number);
	/* A second crash, in this handler or in another thread, ends the process at once. */
	if (atomic_flag_test_and_set(&begun)) {
		default_and_unblocked(number);
		raise(number);
	}
	default_and_unblocked(SIGALRM);
	alarm(LAST_WORDS_LIMIT_S);
	tell(info);
	raise(number);
}

/* ---- set-up ---- */

static int
module_add(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *const slash = strrchr(info->dlpi_name, '/');
	const char *name = slash != NULL ? slash + 1 : info->dlpi_name;
	struct module *m = &modules[module_count];

	(void)size;
	(void)arg;
	if (module_count == MODULES_MAX)
		return 1;
	*m = (struct module){.base = info->dlpi_addr};
	for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *const p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && m->base + p->p_vaddr + p->p_memsz > m->end)
			m->end = m->base + p->p_vaddr + p->p_memsz;
	}
	/* the program is the first in the list, and has no name there */
	strncpy(m->name, name[0] != '\0' || module_count != 0 ? name : "clockoo",
		sizeof m->name - 1);
	module_count++;
	return 0;
}

void
last_words_thread(const char *name)
{
	mine.name = name;
	sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
}

void
last_words_core(uint32_t number, const struct core *core, const struct tsc_clock *clock)
{
	mine.number = number;
	mine.clock = clock;
	mine.core = core;
	last_words_thread("core");
}

void
last_words_begin(const int *log_fd)
{
	const struct sigaction how = {.sa_sigaction = tell_and_die,
				      .sa_flags = (int)SA_RESETHAND | SA_ONSTACK | SA_SIGINFO};
	void *frame;

	log_socket = log_fd;
	dl_iterate_phdr(module_add, NULL);
	backtrace(&frame, 1); /* the first call loads the unwinder, which allocates */
	for (size_t i = 0; i < sizeof crash_signals / sizeof crash_signals[0]; i++)
		sigaction(crash_signals[i].number, &how, NULL);
}

void
last_words_count_in(struct memory_page *page)
{
	atomic_store(&crash_page, page);
}

void
last_words_stop_counting(void)
{
	atomic_store(&crash_page, NULL);
}

/*
 * crash_count.c - the handler, and the stacks it runs on.
 */
#include "crash_count.h"

#include <signal.h>
#include <stddef.h>

#define STACK_BYTES 65536u /* the kernel's frame with all registers is 11 KB at most (AMX) */

static const int counted[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
/* A handler is given nothing of its program's. NULL: no crash counts, or one has been counted. */
static _Atomic(struct memory_page *) crash_page;
static _Thread_local uint8_t stack[STACK_BYTES];

/* Its action is the default again (SA_RESETHAND). Sent by another process, the signal would not
 * come again by itself. */
static void
count_and_die(int number)
{
	struct memory_page *page = atomic_exchange(&crash_page, NULL);

	if (page != NULL)
		memory_page_count_crash(page, number);
	raise(number);
}

void
crash_count_stack(void)
{
	sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
}

void
crash_count_begin(struct memory_page *page)
{
	const struct sigaction how = {.sa_handler = count_and_die,
				      .sa_flags = (int)SA_RESETHAND | SA_ONSTACK};

	atomic_store(&crash_page, page);
	for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++)
		sigaction(counted[i], &how, NULL);
}

void
crash_count_end(void)
{
	atomic_store(&crash_page, NULL);
}

/*
 * cut_catch.c - read-only pages, and the trap flag of x86.
 */
#include "cut_catch.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define CATCH_PAGES_MAX 4u /* listed; a repeated string instruction may store to more */
#define PAGE_BYTES      4096u
#define TRAP_FLAG       0x100

static struct {
	uint8_t *memory;
	size_t bytes;
	catch_fn *fn;
	void *arg;
	uint8_t *open[CATCH_PAGES_MAX]; /* pages opened for the instruction under way */
	uint32_t open_count;
	bool all;  /* they are more than these */
	greg_t at; /* that instruction */
} caught;

static void
protect(void *at, size_t bytes, int how)
{
	if (bytes != 0 && mprotect(at, bytes, how) != 0) {
		perror("mprotect");
		_exit(3);
	}
}

static void
end_by_default(int number)
{
	signal(number, SIG_DFL);
}

static void
on_store(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	uint8_t *page = (uint8_t *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE_BYTES - 1));

	if (page < caught.memory || page >= caught.memory + caught.bytes) {
		end_by_default(number);
		return;
	}
	if (caught.open_count < CATCH_PAGES_MAX) {
		protect(page, PAGE_BYTES, PROT_READ | PROT_WRITE);
		caught.open[caught.open_count++] = page;
	} else { /* a repeated string instruction */
		catch_open();
		caught.all = true;
	}
	caught.at = uc->uc_mcontext.gregs[REG_RIP];
	uc->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void
on_trap(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)info;
	if (caught.open_count == 0) {
		end_by_default(number);
		return;
	}
	/* A repeated string instruction is at its next iteration: no item is published by one, so
	 * the cut after its last one stands for all. */
	if (uc->uc_mcontext.gregs[REG_RIP] == caught.at)
		return;
	uc->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
	if (caught.all)
		catch_close();
	for (uint32_t i = 0; i < caught.open_count; i++)
		protect(caught.open[i], PAGE_BYTES, PROT_READ);
	caught.open_count = 0;
	caught.all = false;
	caught.fn(caught.arg);
}

static void
handle(int number, void (*fn)(int, siginfo_t *, void *))
{
	struct sigaction action = {.sa_sigaction = fn, .sa_flags = SA_SIGINFO | SA_NODEFER};

	if (sigaction(number, &action, NULL) != 0)
		abort();
}

void
catch_stores(void *memory, size_t bytes, catch_fn *fn, void *arg)
{
	caught.memory = memory;
	caught.bytes = bytes;
	caught.fn = fn;
	caught.arg = arg;
	handle(SIGSEGV, on_store);
	handle(SIGTRAP, on_trap);
}

void
catch_close(void)
{
	protect(caught.memory, caught.bytes, PROT_READ);
}

void
catch_open(void)
{
	protect(caught.memory, caught.bytes, PROT_READ | PROT_WRITE);
}

void
catch_end(void)
{
	catch_open();
	caught.bytes = 0;
	end_by_default(SIGSEGV);
	end_by_default(SIGTRAP);
}

/*
 * cut_catch.c - read-only pages, and the trap flag of x86.
 */
#include "cut_catch.h"

#include "base/check.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define CATCH_PAGES_MAX 4u /* most pages that one instruction stores to */
#define PAGE_BYTES      4096u
#define TRAP_FLAG       0x100

/* Opcodes of x86's string instructions. With the prefix REX_W they move eight bytes at a time. */
#define REP   0xf3
#define REX_W 0x48
#define MOVSB 0xa4
#define MOVSQ 0xa5
#define STOSB 0xaa
#define STOSQ 0xab

static struct {
	uint8_t *memory;
	size_t bytes;
	catch_fn *fn;
	void *arg;
	uint8_t *open[CATCH_PAGES_MAX]; /* pages opened for the instruction under way */
	uint32_t open_count;
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

/* Carries out a repeated string instruction, after each of whose bytes the processor would trap.
 * Such instructions publish no item, so one cut after the last byte is enough. */
static bool
repeat(greg_t *regs)
{
	const uint8_t *at = (const uint8_t *)regs[REG_RIP];
	const bool quads = at[1] == REX_W;
	const uint8_t what = at[1 + quads];
	const size_t bytes = (size_t)regs[REG_RCX] * (quads ? 8 : 1);
	const bool stores = what == (quads ? STOSQ : STOSB);
	const uint8_t *from = (const uint8_t *)regs[REG_RSI];
	uint8_t *to = (uint8_t *)regs[REG_RDI];

	if (at[0] != REP || (!stores && what != (quads ? MOVSQ : MOVSB)))
		return false;
	catch_open();
	for (size_t i = 0; i < bytes; i++)
		to[i] = stores ? (uint8_t)(regs[REG_RAX] >> (quads ? 8 * (i % 8) : 0)) : from[i];
	regs[REG_RSI] += stores ? 0 : (greg_t)bytes;
	regs[REG_RDI] += (greg_t)bytes;
	regs[REG_RCX] = 0;
	regs[REG_RIP] += 2 + quads;
	catch_close();
	return true;
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
	if (caught.open_count == 0 && repeat(uc->uc_mcontext.gregs)) {
		caught.fn(caught.arg);
		return;
	}
	ensure(caught.open_count < CATCH_PAGES_MAX);
	protect(page, PAGE_BYTES, PROT_READ | PROT_WRITE);
	caught.open[caught.open_count++] = page;
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
	uc->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
	for (uint32_t i = 0; i < caught.open_count; i++)
		protect(caught.open[i], PAGE_BYTES, PROT_READ);
	caught.open_count = 0;
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

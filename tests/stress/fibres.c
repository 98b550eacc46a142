/*
 * fibres.c - contexts of their own stacks, and the main one that chooses among them.
 */
#include "fibres.h"

#include "base/check.h"

#include <stddef.h>
#include <ucontext.h>

static struct {
	ucontext_t context;
	fibre_fn *fn;
	void *arg;
	uint32_t gaps; /* gaps until the running fibre stops */
	bool busy;
	_Alignas(64) uint8_t stack[FIBRE_STACK];
} fibres[FIBRES_MAX];
static ucontext_t chooser;
static uint32_t running = FIBRES_MAX;

void stress_gap(void);

static void
begin(void)
{
	const uint32_t me = running;

	fibres[me].fn(fibres[me].arg);
	fibres[me].busy = false;
	swapcontext(&fibres[me].context, &chooser);
}

void
fibre_begin(uint32_t fibre, fibre_fn *fn, void *arg)
{
	ensure(!fibres[fibre].busy && getcontext(&fibres[fibre].context) == 0);
	fibres[fibre].fn = fn;
	fibres[fibre].arg = arg;
	fibres[fibre].busy = true;
	fibres[fibre].context.uc_stack.ss_sp = fibres[fibre].stack;
	fibres[fibre].context.uc_stack.ss_size = FIBRE_STACK;
	fibres[fibre].context.uc_link = NULL;
	makecontext(&fibres[fibre].context, begin, 0);
}

bool
fibre_is_idle(uint32_t fibre)
{
	return !fibres[fibre].busy;
}

void
fibre_run(uint32_t fibre, uint32_t gaps)
{
	fibres[fibre].gaps = gaps;
	running = fibre;
	ensure(swapcontext(&chooser, &fibres[fibre].context) == 0);
	running = FIBRES_MAX;
}

void
fibre_kill(uint32_t fibre)
{
	fibres[fibre].busy = false;
}

void
fibre_gap(void)
{
	if (running < FIBRES_MAX && --fibres[running].gaps == 0)
		swapcontext(&fibres[running].context, &chooser);
}

void
stress_gap(void)
{
	fibre_gap();
}

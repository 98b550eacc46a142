/*
 * traced_cores.c - runs cores in turns, with stacks of their own, in one thread.
 */
#include "traced_cores.h"

#include "bench_load.h"
#include "traced.h"

#include "base/check.h"

#include <string.h>
#include <ucontext.h>

#define STACK_BYTES (1u << 18)
#define QUANTUM     16u /* accesses by which a core may be ahead */

struct traced_core {
	ucontext_t context;
	uint8_t *stack;
	uint64_t clock;
	bool done;
};

static struct {
	bool counts; /* accesses are counted */
	uint32_t now;
	uint64_t until; /* the clock of the running core at which another one continues */
	struct traced_core cores[LINE_CORES_MAX];
	ucontext_t main;
	void (*work)(uint32_t core);
	struct line_model model;
} t;

/* Returns the core that is furthest behind, except the running one; cores if there is none. */
static uint32_t
furthest_behind(void)
{
	uint32_t least = t.model.cores;

	for (uint32_t i = 0; i < t.model.cores; i++) {
		if (i == t.now || t.cores[i].done)
			continue;
		if (least == t.model.cores || t.cores[i].clock < t.cores[least].clock)
			least = i;
	}
	return least;
}

/* Sets the clock until which this core runs. The clocks of the others stand still meanwhile. */
static void
choose_until(void)
{
	const uint32_t next = furthest_behind();

	t.until = next == t.model.cores ? UINT64_MAX : t.cores[next].clock + QUANTUM;
}

static void
switch_to(uint32_t core)
{
	const uint32_t from = t.now;

	t.now = core;
	choose_until();
	swapcontext(&t.cores[from].context, &t.cores[core].context);
}

void
traced_access(uintptr_t at, uint32_t bytes, bool is_write, const void *from)
{
	struct traced_core *me = &t.cores[t.now];

	if (!t.counts)
		return;
	for (uintptr_t line = at >> LINE_SHIFT; line <= (at + bytes - 1) >> LINE_SHIFT; line++) {
		const enum line_move how = line_access(&t.model, t.now, line, is_write);

		me->clock++;
		if (how == LINE_HELD)
			continue;
		traced_line(t.now, line, how, from);
		if (how == LINE_FETCHED || how == LINE_TAKEN)
			me->clock += TRACED_LINE_COST;
	}
	if (me->clock > t.until)
		switch_to(furthest_behind());
}

/* Runs one core until its work is done; then the others continue. */
static void
run_one(void)
{
	uint32_t next;

	t.work(t.now);
	t.cores[t.now].done = true;
	next = furthest_behind();
	if (next != t.model.cores)
		switch_to(next);
	setcontext(&t.main);
}

static void
begin_core(struct traced_core *c)
{
	ensure(getcontext(&c->context) == 0);
	if (c->stack == NULL)
		c->stack = bench_map(STACK_BYTES);
	c->context.uc_stack.ss_sp = c->stack;
	c->context.uc_stack.ss_size = STACK_BYTES;
	c->clock = 0;
	c->done = false;
	makecontext(&c->context, run_one, 0);
}

void
traced_cores_begin(uint32_t cores, uint32_t sets)
{
	ensure(cores >= 1 && cores <= LINE_CORES_MAX && sets <= LINE_SETS_MAX);
	memset(&t.model, 0, sizeof t.model);
	t.model.cores = cores;
	t.model.sets = sets;
}

void
traced_cores_run(void (*work)(uint32_t core))
{
	t.work = work;
	for (uint32_t i = 0; i < t.model.cores; i++)
		begin_core(&t.cores[i]);
	t.now = 0;
	choose_until();
	t.counts = true;
	swapcontext(&t.main, &t.cores[0].context);
	t.counts = false;
}

uint64_t
traced_cores_clocks(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < t.model.cores; i++)
		sum += t.cores[i].clock;
	return sum;
}

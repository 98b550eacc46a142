/*
 * cut_two.c - two writers of one thread: at a gap of the store the other one continues, and the
 * first is parked with the locks that it holds.
 */
#include "cut_run.h"
#include "gaps.h"

#include <ucontext.h>

#define STACK_BYTES (4u << 20)
#define SWITCH_OF   4u /* one gap in this many is used */
#define REST_OF     2u /* of the moments between calls, one in this many is used */

static struct {
	struct run *run;
	uint32_t calls; /* number of calls after which the writers end */
	struct {
		ucontext_t at;
		bool done;
	} each[CUT_WRITERS_MAX];
	ucontext_t back;
} turns;

/* Switches to the next writer that has calls to make. */
static void
let_other(void)
{
	struct run *r = turns.run;
	const uint32_t me = (uint32_t)(r->w - r->writers), other = (me + 1) % writers_of(r);

	if (other == me || turns.each[other].done)
		return;
	r->switches++;
	r->w = &r->writers[other];
	swapcontext(&turns.each[me].at, &turns.each[other].at);
}

static void
on_gap(void)
{
	struct run *r = turns.run;

	if (r->alone == 0 && roll(r, SWITCH_OF) == 0)
		let_other();
}

static void
be_writer(void)
{
	struct run *r = turns.run;

	while (r->call < turns.calls) {
		r->call++;
		r->amid++;
		one_call(r);
		r->amid--;
		if (roll(r, REST_OF) == 0)
			let_other();
	}
	turns.each[r->w - r->writers].done = true;
	let_other();
	setcontext(&turns.back);
}

static void
prepare(ucontext_t *at)
{
	void *const stack =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ensure(stack != MAP_FAILED && getcontext(at) == 0);
	at->uc_stack.ss_sp = stack;
	at->uc_stack.ss_size = STACK_BYTES;
	makecontext(at, be_writer, 0);
}

void
take_turns(struct run *r, uint32_t calls)
{
	turns.run = r;
	turns.calls = calls;
	for (uint32_t i = 0; i < writers_of(r); i++)
		prepare(&turns.each[i].at);
	r->w = &r->writers[0];
	gaps_call(on_gap);
	swapcontext(&turns.back, &turns.each[0].at);
	r->alone++; /* one writer has ended: the other makes its calls alone */
}

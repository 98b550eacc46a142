/*
 * weak.c - the executions of a case, one after the other: depth first, over a stack of choices.
 *
 * After an execution all its writes are undone, so each execution begins in the same state.
 */
#include "weak_internal.h"

#include "base/check.h"

#include <stdio.h>
#include <string.h>

#define CHOICES_MAX 8192u
#define STEPS_MAX   20000u /* most steps: with more, threads wait for each other */
#define TRACE_MAX   256u

struct weak_thread weak_threads[WEAK_THREADS_MAX];
uint32_t weak_thread_count, weak_running = WEAK_MAIN;
bool weak_failed;

static struct {
	uint16_t taken, count;
} choices[CHOICES_MAX];
static uint32_t choice_count, choice_at, steps, switches_left;
static uint64_t switches_cut;
static uint32_t next = WEAK_MAIN; /* the thread that the last switch has chosen */
static const struct weak_case *now;
static ucontext_t chooser;
static char failure[512];

static struct {
	uint32_t thread;
	uintptr_t from, at;
	uint64_t value;
	char what;
} trace[TRACE_MAX];
static uint32_t trace_count;

/* ---- choices ---- */

/* Returns 0 to count - 1: the same number as in the execution before, up to the last choice with
 * numbers left, which gets its next one. */
uint32_t
weak_choose(uint32_t count)
{
	if (count == 1)
		return 0;
	if (choice_at == choice_count) {
		ensure(choice_count < CHOICES_MAX);
		choices[choice_count].taken = 0;
		choices[choice_count++].count = (uint16_t)count;
	}
	ensure(choices[choice_at].count == count);
	return choices[choice_at++].taken;
}

static bool
next_choices(void)
{
	while (choice_count > 0) {
		if (++choices[choice_count - 1].taken < choices[choice_count - 1].count)
			return true;
		choice_count--;
	}
	return false;
}

/* ---- failures ---- */

static void
leave(void)
{
	ensure(weak_running != WEAK_MAIN);
	swapcontext(&weak_threads[weak_running].context, &chooser);
}

void
weak_fail(const char *what)
{
	if (!weak_failed)
		snprintf(failure, sizeof failure, "%s", what);
	weak_failed = true;
	if (weak_running != WEAK_MAIN)
		leave(); /* the failed thread is not resumed */
}

void
weak_note(char what, const void *p, uint64_t value, uintptr_t from)
{
	const uint32_t i = trace_count++ % TRACE_MAX;

	trace[i].thread = weak_running;
	trace[i].from = from;
	trace[i].at = (uintptr_t)p;
	trace[i].value = value;
	trace[i].what = what;
}

/* ---- switches ---- */

void
weak_may_switch(uintptr_t at)
{
	uint32_t others[WEAK_THREADS_MAX], count = 0;

	if (++steps > STEPS_MAX)
		weak_fail("no thread gets on");
	if (!weak_is_shared(at))
		return;
	for (uint32_t t = 0; t < weak_thread_count; t++)
		if (t != weak_running && weak_threads[t].state == WEAK_READY)
			others[count++] = t;
	if (switches_left == 0) {
		switches_cut += count != 0;
		return;
	}

	const uint32_t taken = weak_choose(count + 1);

	if (taken == 0)
		return;
	switches_left--;
	next = others[taken - 1];
	leave();
}

/* ---- an execution ---- */

static void
thread_main(void)
{
	const uint32_t me = weak_running;

	now->thread[me]();
	weak_threads[me].state = WEAK_ENDED;
	swapcontext(&weak_threads[me].context, &chooser);
}

void
weak_pause(void)
{
	if (weak_running == WEAK_MAIN || weak_failed)
		return;
	weak_threads[weak_running].state = WEAK_PAUSED;
	if (++steps > STEPS_MAX)
		weak_fail("no thread gets on");
	swapcontext(&weak_threads[weak_running].context, &chooser);
}

/* Returns a thread that may run, or WEAK_MAIN when all have ended. */
static uint32_t
next_thread(void)
{
	uint32_t ready[WEAK_THREADS_MAX], count = 0;
	const uint32_t chosen = next;

	next = WEAK_MAIN;
	if (chosen != WEAK_MAIN)
		return chosen;
	for (uint32_t t = 0; t < weak_thread_count; t++)
		if (weak_threads[t].state == WEAK_READY)
			ready[count++] = t;
	for (uint32_t t = 0; t < weak_thread_count && count == 0; t++)
		if (weak_threads[t].state == WEAK_PAUSED) {
			weak_threads[t].state = WEAK_READY; /* all wait: each may try again */
			return t;
		}
	return count == 0 ? WEAK_MAIN : ready[weak_choose(count)];
}

static void
reset(void)
{
	weak_memory_begin(now->stale);
	choice_at = steps = trace_count = 0;
	switches_left = now->switches;
	next = WEAK_MAIN;
	for (uint32_t t = 0; t < weak_thread_count; t++) {
		ucontext_t *c = &weak_threads[t].context;

		memset(&weak_threads[t].view, 0, sizeof weak_threads[t].view);
		memset(&weak_threads[t].acquired, 0, sizeof weak_threads[t].acquired);
		memset(&weak_threads[t].released, 0, sizeof weak_threads[t].released);
		weak_threads[t].state = WEAK_READY;
		ensure(getcontext(c) == 0);
		c->uc_stack.ss_sp = weak_threads[t].stack;
		c->uc_stack.ss_size = WEAK_STACK_BYTES;
		c->uc_link = NULL;
		makecontext(c, thread_main, 0);
	}
}

static void
execute(void)
{
	reset();
	for (uint32_t t = next_thread(); t != WEAK_MAIN && !weak_failed; t = next_thread()) {
		weak_running = t;
		ensure(swapcontext(&chooser, &weak_threads[t].context) == 0);
		weak_running = WEAK_MAIN;
	}
	if (!weak_failed)
		now->end();
}

static void
print_failure(uint64_t executions)
{
	const uint32_t first = trace_count > TRACE_MAX ? trace_count - TRACE_MAX : 0;

	printf("%s: execution %lu: %s\n", now->name, (unsigned long)executions, failure);
	for (uint32_t i = first; i < trace_count; i++)
		printf("  %u %c %#lx %#lx at %#lx\n", trace[i % TRACE_MAX].thread,
		       trace[i % TRACE_MAX].what, (unsigned long)trace[i % TRACE_MAX].at,
		       (unsigned long)trace[i % TRACE_MAX].value,
		       (unsigned long)trace[i % TRACE_MAX].from);
}

static void
print_bounds(uint64_t executions)
{
	printf("%s: %u threads, %u switches and %u stale values at most, %u words: %lu executions; "
	       "cut: a switch %lu times, a stale value %lu times\n",
	       now->name, weak_thread_count, now->switches, now->stale, weak_word_count(),
	       (unsigned long)executions, (unsigned long)switches_cut,
	       (unsigned long)weak_stale_cut());
}

bool
weak_try(const struct weak_case *c)
{
	uint64_t executions = 0;

	weak_take_back();
	now = c;
	weak_failed = false;
	weak_thread_count = 0;
	while (weak_thread_count < WEAK_THREADS_MAX && c->thread[weak_thread_count] != NULL)
		weak_thread_count++;
	weak_memory_forget();
	switches_cut = 0;
	c->begin();
	do { /* again, until all words that two threads use were known from the first execution on
	      */
		weak_shared_grew = false;
		choice_count = 0;
		do {
			execute();
			executions++;
		} while (!weak_failed && !weak_shared_grew && next_choices());
	} while (!weak_failed && weak_shared_grew);
	if (weak_failed)
		print_failure(executions);
	else
		print_bounds(executions);
	return !weak_failed;
}

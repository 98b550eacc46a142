/*
 * weak_internal.h - between executions (weak.c), what they do to memory (weak_memory.c) and the
 * functions that gcc calls (weak_calls.c).
 *
 * Thread: one; weak_running is the fibre that runs, or WEAK_MAIN.
 */
#ifndef CLOCKOO_WEAK_INTERNAL_H
#define CLOCKOO_WEAK_INTERNAL_H

#include "weak.h"

#include <ucontext.h>

#define WEAK_MAIN        WEAK_THREADS_MAX
#define WEAK_WORDS_MAX   1536u /* atomic words in an execution */
#define WEAK_STACK_BYTES (256u << 10)

/* The stores that a thread has seen: the latest one of each word; and each thread's time. */
struct weak_view {
	uint32_t time[WEAK_THREADS_MAX];
	uint16_t seen[WEAK_WORDS_MAX];
};

enum weak_state { WEAK_READY, WEAK_PAUSED, WEAK_ENDED };

struct weak_thread {
	ucontext_t context;
	enum weak_state state;
	struct weak_view view;     /* all that happens before the thread's next access */
	struct weak_view acquired; /* added to view by an acquire fence */
	struct weak_view
		released; /* the view at the last release fence, which relaxed stores pass on */
	_Alignas(64) uint8_t stack[WEAK_STACK_BYTES];
};

/* ---- weak.c ---- */

extern struct weak_thread weak_threads[WEAK_THREADS_MAX];
extern uint32_t weak_thread_count, weak_running;
extern bool weak_failed;

/* Returns 0 to count - 1: the choice at this point of the execution. */
uint32_t weak_choose(uint32_t count);
/* Lets another thread run before an access to that address, if the bound allows it. */
void weak_may_switch(uintptr_t at);
/* Notes a step for the report of a failure. */
void weak_note(char what, const void *p, uint64_t value, uintptr_t from);

/* ---- weak_memory.c ---- */

extern bool weak_shared_grew; /* a word turned out to be used by two threads */

/* weak_memory_begin begins an execution with at most `stale` loads of values that are not the
 * latest. weak_memory_forget also forgets the words that two threads use. */
void weak_memory_begin(uint32_t stale);
void weak_memory_forget(void);
/* Undoes all writes of the execution, newest first. */
void weak_take_back(void);
bool weak_is_shared(uintptr_t at);
uint32_t weak_word_count(void);
/* Returns how often the bound has withheld a choice from a load or a store, since
 * weak_memory_forget. */
uint64_t weak_stale_cut(void);

enum weak_change { WEAK_EXCHANGE, WEAK_ADD, WEAK_SUB, WEAK_AND, WEAK_OR, WEAK_XOR };

/* from: the address in the product that the access returns to; order: gcc's. */
void weak_plain(uintptr_t at, uint32_t bytes, bool write, uintptr_t from);
uint64_t weak_read(const volatile void *p, uint32_t bytes, int order, uintptr_t from);
void weak_write(volatile void *p, uint64_t value, uint32_t bytes, int order, uintptr_t from);
uint64_t weak_change_word(volatile void *p, enum weak_change how, uint64_t v, uint32_t bytes,
			  int order, uintptr_t from);
bool weak_compare(volatile void *p, void *want, uint64_t v, uint32_t bytes, int order,
		  int order_failed, uintptr_t from);
void weak_fence(int order, uintptr_t from);

#endif

/*
 * weak.h - runs a few threads of the product's own functions in every order, and with every value
 * that C11's memory order lets their loads read, within bounds.
 *
 * Shape:  a case has a beginning, which runs once, 2 to 4 threads, and an end that judges. The
 *         product is compiled with -fsanitize=thread, and weak.c implements the functions that it
 *         calls: it keeps all values of each atomic word, and a view of them for each thread (Kang
 *         et al., POPL 2017, without promises; fences of seq_cst as there). A load reads any value
 *         that its thread has not seen overwritten. Plain accesses that no order separates are a
 *         race, which fails.
 *
 * Bounds: stores to one word are ordered as they are executed, and no load reads what is stored
 *         later in its own thread's future. At most `switches` switches away from a thread that
 *         could go on, and `stale` loads of a value that is not the latest. A switch is tried
 *         before each access to a word that two threads use.
 *
 * Thread: one; the threads of a case are fibres.
 */
#ifndef CLOCKOO_WEAK_H
#define CLOCKOO_WEAK_H

#include <stdbool.h>
#include <stdint.h>

#define WEAK_THREADS_MAX 4u

struct weak_case {
	const char *name;
	void (*begin)(void);
	void (*thread[WEAK_THREADS_MAX])(void);
	void (*end)(void);
	uint32_t switches, stale;
};

/* Weakens the orders at a return address: by their acquiring or releasing half, or by what seq_cst
 * adds to both. */
enum weak_part { WEAK_ACQUIRE, WEAK_RELEASE, WEAK_SEQ_CST, WEAK_PARTS };
void weak_relax(uintptr_t from, enum weak_part part);

/* Tries all executions. Returns false after the first that fails, having printed it. */
bool weak_try(const struct weak_case *c);

/* Fails the execution, in a thread or at the end. */
void weak_fail(const char *words);
static inline void
weak_check(bool holds, const char *words)
{
	if (!holds)
		weak_fail(words);
}

/* Addresses in the product with an order stronger than relaxed, as found in all executions so
 * far. */
struct weak_site {
	uintptr_t from;
	bool acquires, releases, seq_cst;
};
uint32_t weak_sites(const struct weak_site **sites);

/* In place of cpu_pause(): lets another thread run. */
void weak_pause(void);

#endif

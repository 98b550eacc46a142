/*
 * crash_count.h - a crash is counted in the memory that outlives it, once a life.
 *
 * A signal handler for SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT. It counts, and the signal then
 * does what it does without: a core file shows the place of the crash.
 *
 * Shape:  one for the process. Each thread has a stack of its own for it: one that overflowed its
 *         stack has none left.
 * Owner:  the page is the caller's until crash_count_end.
 * Thread: begin and end by main; crash_count_stack by each thread for itself.
 * Errors: none: a crash that is not counted is a crash.
 */
#ifndef CLOCKOO_CRASH_COUNT_H
#define CLOCKOO_CRASH_COUNT_H

#include "memfile/memory_page.h"

void crash_count_begin(struct memory_page *page);
void crash_count_end(void);
void crash_count_stack(void);

#endif

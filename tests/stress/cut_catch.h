/*
 * cut_catch.h - a watcher is called for every store into some memory, right after the instruction
 * that made it.
 *
 * Shape:  the memory is read-only. A store faults; the handler of SIGSEGV opens its page and sets
 *         the trap flag; the instruction runs; the handler of SIGTRAP closes the page and calls
 *         the watcher: that is a cut. So cuts come in the compiled order of the program under
 *         test, which has no hook.
 *
 * Owner:  the caller's memory stays as long as it is watched.
 *
 * Thread: one; the watcher runs in a signal handler, and writes to none of that memory.
 *
 * Errors: a system call that fails, or a fault elsewhere, ends the program.
 *
 * Bounds: one memory at a time.
 */
#ifndef CLOCKOO_CUT_CATCH_H
#define CLOCKOO_CUT_CATCH_H

#include <stddef.h>

typedef void catch_fn(void *arg);

/* Watches memory of whole pages: the watcher is called after each store into
 * it while it is closed. */
void catch_stores(void *memory, size_t bytes, catch_fn *fn, void *arg);
/* Closed: stores are caught from now on. Open: they are not, and cost nothing. */
void catch_close(void);
void catch_open(void);
/* Ends the watch. */
void catch_end(void);

#endif

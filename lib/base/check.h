/*
 * check.h - assertions at compile time and at run time.
 *
 * ensure() is for invariants of our own code and stays in release builds. It never depends on
 * bytes from the network: bad input is a result and a counter.
 * Errors: a broken invariant prints one line to stderr and aborts.
 */
#ifndef CLOCKOO_CHECK_H
#define CLOCKOO_CHECK_H

#include <assert.h> /* static_assert */

#define CACHE_LINE_BYTES 64

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* For loops over a batch. gcc, when it links the whole program, considers the functions that they
 * call for each key too large to inline, which costs a tenth (measured: gcc 12). NOT_FLAT excludes
 * the rare parts. */
#define FLAT     __attribute__((flatten))
#define NOT_FLAT __attribute__((noinline))

#define ensure(cond)                                                                               \
	do {                                                                                       \
		if (unlikely(!(cond)))                                                             \
			ensure_failed(__FILE__, __LINE__, #cond);                                  \
	} while (0)

/* Prints one line to stderr and aborts. */
_Noreturn void ensure_failed(const char *file, int line, const char *cond);

#endif

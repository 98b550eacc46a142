/*
 * traced.h - reports every memory access of code compiled with -fsanitize=thread.
 *
 * gcc inserts a call of ThreadSanitizer's library before each access. traced.c replaces that
 * library and passes each access to traced_access. Copies by libc are not seen.
 *
 * Thread: one.
 */
#ifndef CLOCKOO_TRACED_H
#define CLOCKOO_TRACED_H

#include <stdbool.h>
#include <stdint.h>

/* Defined by the program and called before each access: its address, and the code address
 * from. */
void traced_access(uintptr_t at, uint32_t bytes, bool is_write, const void *from);

#endif

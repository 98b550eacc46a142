/*
 * traced.h - every access to memory that code compiled with -fsanitize=thread makes.
 *
 * gcc puts a call before each such access, for ThreadSanitizer's library. traced.c stands in for
 * that library: it hands each access to traced_access, and nothing else. What libc copies is not
 * seen.
 *
 * Thread: one.
 */
#ifndef CLOCKOO_TRACED_H
#define CLOCKOO_TRACED_H

#include <stdbool.h>
#include <stdint.h>

/* The program's: at is the access's address, from where it is made. Called before the access. */
void traced_access(uintptr_t at, uint32_t bytes, bool is_write, const void *from);

#endif

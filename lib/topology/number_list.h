/*
 * number_list.h - the kernel's lists of numbers: "0-7,16-23".
 *
 * Shape:  text of len bytes; entry i is the i-th number it names, in the order written.
 * Thread: pure functions.
 * Errors: what is no list ends it.
 * Bounds: a range counts at most NUMBER_RANGE_MAX numbers.
 */
#ifndef CLOCKOO_NUMBER_LIST_H
#define CLOCKOO_NUMBER_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBER_RANGE_MAX 65536u

/* Entry i of the list; false: it has no more. */
bool number_list_at(const char *text, size_t len, uint32_t i, uint32_t *n);

/* Which entry n is; false: none. */
bool number_list_find(const char *text, size_t len, uint32_t n, uint32_t *i);

/* The set as the kernel would write it: runs of neighbours become ranges. has[i] for i < end. */
void number_list_write(char *text, size_t size, const bool *has, uint32_t end);

#endif

/*
 * number_list.h - the kernel's lists of numbers: "0-7,16-23".
 *
 * Shape:  text of len bytes; entry i is the i-th number in it, in the written order.
 * Thread: pure functions.
 * Errors: anything else ends the list.
 * Bounds: a range has at most NUMBER_RANGE_MAX numbers.
 */
#ifndef CLOCKOO_NUMBER_LIST_H
#define CLOCKOO_NUMBER_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBER_RANGE_MAX 65536u

/* Returns entry i of the list in *n. False: the list is shorter. */
bool number_list_at(const char *text, size_t len, uint32_t i, uint32_t *n);

/* Returns the position of n in *i. False: n is not in the list. */
bool number_list_find(const char *text, size_t len, uint32_t n, uint32_t *i);

/* Writes the set, has[i] for i < end, as the kernel does: neighbours become ranges. */
void number_list_write(char *text, size_t size, const bool *has, uint32_t end);

#endif

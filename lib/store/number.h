/*
 * number.h - decimal numbers as memcached's incr and decr read and write them.
 *
 * Thread: pure functions.
 * Bounds: the value's length; NUMBER_DIGITS_MAX digits are printed, those of 64 bits.
 */
#ifndef CLOCKOO_NUMBER_H
#define CLOCKOO_NUMBER_H

#include "base/bytes.h"

#include <stdbool.h>

#define NUMBER_DIGITS_MAX 20u

/* The number that bytes start with, as strtoull reads it: up to the first space, a zero byte, as
 * which memcached's string ends, or the end. */
bool number_parse(struct view bytes, uint64_t *number);
/* Returns how many digits were written. */
uint32_t number_print(uint8_t *to, uint64_t n);

#endif

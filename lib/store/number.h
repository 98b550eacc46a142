/*
 * number.h - reads and prints decimal numbers as memcached's incr and decr do.
 *
 * Thread: pure functions.
 * Bounds: the value's length; NUMBER_DIGITS_MAX digits, enough for 64 bits, are printed.
 */
#ifndef CLOCKOO_NUMBER_H
#define CLOCKOO_NUMBER_H

#include "base/bytes.h"

#include <stdbool.h>

#define NUMBER_DIGITS_MAX 20u

/* Reads the number at the start of bytes, as strtoull does. The number ends at the first space, at
 * a zero byte (the end of memcached's string), or with the bytes. */
bool number_parse(struct view bytes, uint64_t *number);
/* Returns how many digits were written. */
uint32_t number_print(uint8_t *to, uint64_t n);

#endif

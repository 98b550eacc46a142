/*
 * filter_codes.h - codes four digits below 68 without their order, in 20 bits instead of 24.3.
 *
 * Shape:  a code of ascending digits; four zeros have the code 0.
 * Thread: pure functions over constants.
 */
#ifndef CLOCKOO_FILTER_CODES_H
#define CLOCKOO_FILTER_CODES_H

#include <stdint.h>

#define FILTER_DIGITS    68u
#define FILTER_QUAD      4u
#define FILTER_CODE_BITS 20u
#define FILTER_CODES     1041930u /* every code is below it; some numbers below it are no codes */

/* Returns the code of digits in ascending order. */
uint32_t filter_code(const uint8_t digits[FILTER_QUAD]);

/* Returns the digits of a code; of another number below FILTER_CODES, any digits. */
void filter_digits(uint32_t code, uint8_t digits[FILTER_QUAD]);

#endif

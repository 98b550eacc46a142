/*
 * filter_codes.h - four digits below 68 whose order says nothing, in 20 bits instead of 24.3.
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
#define FILTER_CODES     1041930u /* a code is below; below it are some that are none */

/* Of digits in ascending order. */
uint32_t filter_code(const uint8_t digits[FILTER_QUAD]);

/* The digits of such a code; any, of another number below FILTER_CODES. */
void filter_digits(uint32_t code, uint8_t digits[FILTER_QUAD]);

#endif

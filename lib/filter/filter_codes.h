/*
 * filter_codes.h - four nibbles whose order says nothing, in 12 bits instead of 16.
 *
 * Shape:  a code is the rank of a sorted quadruple among all 3,876.
 * Thread: pure functions over constants.
 */
#ifndef CLOCKOO_FILTER_CODES_H
#define CLOCKOO_FILTER_CODES_H

#include <stdint.h>

#define FILTER_CODES     3876u
#define FILTER_CODE_BITS 12u

/* Of nibbles in ascending order, the lowest in the lowest bits. */
uint32_t filter_code(uint32_t nibbles);

/* The nibbles of a code below FILTER_CODES. */
uint32_t filter_nibbles(uint32_t code);

#endif

/*
 * filter_codes.c - computes codes: a code is the first code of its two highest digits plus the
 * rank of the other two. digit_tables.py makes the tables.
 */
#include "filter_codes.h"

#define QUAD_SHIFT   10u /* QUAD_STEP and TRIPLE_STEP of digit_tables.py */
#define TRIPLE_SHIFT 5u

extern const uint16_t filter_pairs[];
extern const uint8_t filter_triple_digits[], filter_quad_digits[];
extern const uint32_t filter_triple_starts[], filter_quad_starts[];

uint32_t
filter_code(const uint8_t digits[FILTER_QUAD])
{
	const uint32_t high = digits[1], pair = high * (high + 1) / 2 + digits[0];

	return filter_quad_starts[digits[3]] + filter_triple_starts[digits[2]] + pair;
}

void
filter_digits(uint32_t code, uint8_t digits[FILTER_QUAD])
{
	uint32_t pair;

	digits[3] = filter_quad_digits[code >> QUAD_SHIFT];
	code -= filter_quad_starts[digits[3]];
	digits[2] = filter_triple_digits[code >> TRIPLE_SHIFT];
	pair = filter_pairs[code - filter_triple_starts[digits[2]]];
	digits[1] = (uint8_t)(pair >> 8);
	digits[0] = (uint8_t)pair;
}

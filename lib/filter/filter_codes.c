/*
 * filter_codes.c - ranks by the combinatorial number system; their table is made by
 * nibble_table.py.
 */
#include "filter_codes.h"

extern const uint16_t filter_nibble_table[FILTER_CODES];

/* Quadruples that come before all whose nibble of that place is this one. */
static uint32_t
before(uint32_t nibble, uint32_t place)
{
	switch (place) {
	case 0:
		return nibble;
	case 1:
		return nibble * (nibble + 1) / 2;
	case 2:
		return nibble * (nibble + 1) * (nibble + 2) / 6;
	default:
		return nibble * (nibble + 1) * (nibble + 2) * (nibble + 3) / 24;
	}
}

uint32_t
filter_code(uint32_t nibbles)
{
	uint32_t code = 0;

	for (uint32_t place = 0; place < 4; place++)
		code += before(nibbles >> 4 * place & 15, place);
	return code;
}

uint32_t
filter_nibbles(uint32_t code)
{
	return filter_nibble_table[code];
}

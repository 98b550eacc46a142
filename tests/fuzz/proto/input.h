/*
 * input.h - a fuzzer's bytes, taken one decision at a time.
 *
 * Bounds: bytes past the end are zeros.
 */
#ifndef CLOCKOO_INPUT_H
#define CLOCKOO_INPUT_H

#include <stddef.h>
#include <stdint.h>

struct input {
	const uint8_t *data;
	size_t left;
};

static inline uint8_t
take_u8(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->data++;
}

/* Returns a number. Few bytes make the important ones: small ones and those
 * at the ends of a range. */
static inline uint64_t
take_number(struct input *in)
{
	const uint8_t kind = take_u8(in);
	uint64_t v = 0;

	for (uint32_t i = 0; i < (kind & 7u) + 1; i++)
		v = v << 8 | take_u8(in);
	return kind & 0x80 ? ~v : v;
}

#endif

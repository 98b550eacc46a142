/*
 * toeplitz.h - the hash of receive-side scaling as Microsoft defines it, bit by bit: slow, and
 * plain enough to judge others by.
 *
 * Shape:  for each bit of the input that is set, 32 bits of the key from there on.
 * Bounds: key has len + 4 bytes.
 * Thread: any.
 */
#ifndef CLOCKOO_TESTS_TOEPLITZ_H
#define CLOCKOO_TESTS_TOEPLITZ_H

#include <stdint.h>

static inline uint32_t
toeplitz(const uint8_t *key, const uint8_t *input, uint32_t len)
{
	uint32_t hash = 0;

	for (uint32_t bit = 0; bit < len * 8; bit++)
		for (uint32_t k = 0; k < 32 && (input[bit / 8] >> (7 - bit % 8) & 1); k++)
			hash ^= (uint32_t)(key[(bit + k) / 8] >> (7 - (bit + k) % 8) & 1)
				<< (31 - k);
	return hash;
}

#endif

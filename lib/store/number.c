/*
 * number.c - reads decimal numbers as strtoull does, and prints them.
 */
#include "number.h"

#include <string.h>

/* Spaces and leading zeros are skipped in blocks: an incr of 15 bytes may name a value with 64 KB
 * of them. Skipping those takes no longer than copying them. */
#define BLOCK_BYTES 16u

static bool
is_space(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool
block_is_space(const uint8_t *at)
{
	uint8_t block __attribute__((vector_size(BLOCK_BYTES)));
	uint64_t others[2];

	memcpy(&block, at, sizeof block);
	block = (block != ' ') & (block - '\t' > '\r' - '\t');
	memcpy(others, &block, sizeof others);
	return (others[0] | others[1]) == 0;
}

static bool
block_is_zeros(const uint8_t *at)
{
	return memcmp(at, "0000000000000000", BLOCK_BYTES) == 0;
}

bool
number_parse(struct view bytes, uint64_t *number)
{
	uint32_t i = 0, first;
	uint64_t n = 0;

	while (bytes.len - i >= BLOCK_BYTES && block_is_space(bytes.data + i))
		i += BLOCK_BYTES;
	while (i < bytes.len && is_space(bytes.data[i]))
		i++;
	if (i < bytes.len && bytes.data[i] == '+')
		i++;
	/* Any number of leading zeros may be skipped; after them an overflow ends the loop. */
	first = i;
	while (bytes.len - i >= BLOCK_BYTES && block_is_zeros(bytes.data + i))
		i += BLOCK_BYTES;
	for (; i < bytes.len && bytes.data[i] >= '0' && bytes.data[i] <= '9'; i++)
		if (__builtin_mul_overflow(n, 10u, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(bytes.data[i] - '0'), &n))
			return false;
	*number = n;
	return i != first && (i == bytes.len || is_space(bytes.data[i]) || bytes.data[i] == '\0');
}

uint32_t
number_print(uint8_t *to, uint64_t n)
{
	uint8_t digits[NUMBER_DIGITS_MAX];
	uint32_t len = 0;

	do {
		digits[NUMBER_DIGITS_MAX - ++len] = (uint8_t)('0' + n % 10);
		n /= 10;
	} while (n != 0);
	memcpy(to, digits + NUMBER_DIGITS_MAX - len, len);
	return len;
}

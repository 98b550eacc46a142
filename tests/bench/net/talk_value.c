/*
 * talk_value.c - makes and compares the bytes of a value from any offset.
 */
#include "talk_value.h"

#include "bench_load.h"

#include <string.h>

#define WORD_BYTES  8u
#define STEP        0x9e3779b97f4a7c15ull /* odd: n * STEP differs for every n */
#define BLOCK_BYTES 4096u

uint64_t
value_seed(uint64_t key, uint32_t version)
{
	return bench_mix(key * STEP + version);
}

void
value_write(uint64_t seed, uint32_t at, uint8_t *to, uint32_t len)
{
	uint64_t word = seed + at / WORD_BYTES * STEP;
	uint32_t skip = at % WORD_BYTES;

	while (len != 0) {
		const uint64_t bytes = bench_mix(word);
		const uint32_t n = len < WORD_BYTES - skip ? len : WORD_BYTES - skip;

		if (n == WORD_BYTES)
			memcpy(to, &bytes, WORD_BYTES);
		else
			memcpy(to, (const uint8_t *)&bytes + skip, n);
		word += STEP;
		to += n;
		len -= n;
		skip = 0;
	}
}

uint32_t
value_wrong(uint64_t seed, uint32_t at, const uint8_t *bytes, uint32_t len)
{
	uint8_t want[BLOCK_BYTES];
	uint32_t wrong = 0;

	while (len != 0) {
		const uint32_t n = len < BLOCK_BYTES ? len : BLOCK_BYTES;

		value_write(seed, at, want, n);
		if (memcmp(want, bytes, n) != 0)
			for (uint32_t i = 0; i < n; i++)
				wrong += want[i] != bytes[i];
		at += n;
		bytes += n;
		len -= n;
	}
	return wrong;
}

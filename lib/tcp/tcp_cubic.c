/*
 * tcp_cubic.c - CUBIC's window and K (RFC 9438 section 4.2) in integer arithmetic.
 */
#include "tcp_cubic.h"

/* C = 2 / 5 */
#define C_TIMES 2
#define C_PARTS 5
/* ms cubed in a second cubed */
#define MS3_PER_S3 1000000000ll

/* Computes the root bit by bit from the top; 2^21 cubed is 2^63. */
uint32_t
cubic_root(uint64_t n)
{
	uint64_t root = 0;

	for (int bit = 21; bit >= 0; bit--) {
		const uint64_t more = root | 1ull << bit;

		/* more < 2^22, so the square fits. The cube itself is not computed. */
		if (more * more <= n / more)
			root = more;
	}
	return (uint32_t)root;
}

uint32_t
cubic_k_ms(uint32_t bytes, uint32_t mss)
{
	const uint64_t parts = (uint64_t)bytes * C_PARTS * (MS3_PER_S3 / C_TIMES / 64);

	/* 64 is 4 cubed; it is taken out so that nothing overflows. */
	return 4 * cubic_root(parts / mss);
}

uint32_t
cubic_window(uint32_t origin, uint32_t mss, uint32_t t_ms, uint32_t k_ms)
{
	int64_t dt_ms = (int64_t)t_ms - k_ms, grown;

	if (dt_ms > (int64_t)CUBIC_MS_MAX)
		dt_ms = CUBIC_MS_MAX;
	if (dt_ms < -(int64_t)CUBIC_MS_MAX)
		dt_ms = -(int64_t)CUBIC_MS_MAX;
	/* At most 5.12e14 * 2^14 = 8.4e18 < 2^63. */
	grown = dt_ms * dt_ms * dt_ms * mss / (C_PARTS * MS3_PER_S3 / C_TIMES) + origin;
	if (grown < 0)
		return 0;
	return grown < UINT32_MAX ? (uint32_t)grown : UINT32_MAX;
}

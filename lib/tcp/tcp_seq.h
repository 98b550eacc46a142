/*
 * tcp_seq.h - sequence numbers and times that wrap (RFC 9293 section 3.4), and the lesser of two.
 *
 * Thread: pure functions.
 * Bounds: two numbers compare right if they lie less than 2^31 apart.
 */
#ifndef CLOCKOO_TCP_SEQ_H
#define CLOCKOO_TCP_SEQ_H

#include <stdbool.h>
#include <stdint.h>

static inline bool
seq_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static inline bool
seq_after(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

static inline uint32_t
min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint32_t
max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

#endif

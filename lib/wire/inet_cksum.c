/*
 * inet_cksum.c - sums bytes, 64 bits at a time.
 */
#include "inet_cksum.h"

/* Adds two halves, without an add with carry: the sum is wide enough, and so the compiler may use
 * vector registers. */
static inline uint64_t
halves(uint64_t v)
{
	return (v & 0xffffffff) + (v >> 32);
}

uint64_t
inet_sum(uint64_t sum, const void *p, uint32_t len)
{
	const uint8_t *at = p;

	for (; len >= 8; len -= 8, at += 8)
		sum += halves(load_u64(at));
	if (len & 4) {
		sum += load_u32(at);
		at += 4;
	}
	if (len & 2) {
		sum += load_u16(at);
		at += 2;
	}
	/* An odd last byte is the first one of a word padded with zero, so on a little-endian
	 * machine its low half. As one conditional expression, gcc 14 reads the byte for any
	 * length. */
	if (len & 1)
		sum += *at;
	return sum;
}

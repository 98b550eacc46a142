#include "inet_cksum.h"

/* Two halves instead of an add with carry: the sum is wide enough, and the compiler may use
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
	uint64_t tail = 0;

	for (; len >= 8; len -= 8, at += 8)
		sum += halves(load_u64(at));
	/* Little-endian: a byte copied to the front of a zero word is padded as the RFC wants. */
	memcpy(&tail, at, len);
	return sum + halves(tail);
}

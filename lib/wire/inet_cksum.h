/*
 * inet_cksum.h - the Internet checksum of RFC 1071: sum, fold, finish, update.
 *
 * One's complement addition is independent of byte order (RFC 1071 section 2 B), so words are
 * summed as the machine loads them, and the folded sum, stored in the same way, is in network order
 * on the wire.
 *
 * Shape:  a running sum is 64 bits wide and not folded until the end. Pieces may be added in
 *         any order if all but the last have an even length.
 * Units:  lengths in bytes.
 * Thread: pure functions.
 * Bounds: fewer than 2^31 bytes for a sum, since otherwise carries would be lost.
 */
#ifndef CLOCKOO_INET_CKSUM_H
#define CLOCKOO_INET_CKSUM_H

#include "base/bytes.h"

/* Returns sum plus the len bytes at p, at any alignment; an odd last byte is padded with zero. */
uint64_t inet_sum(uint64_t sum, const void *p, uint32_t len);

static inline uint64_t
inet_sum_be16(uint64_t sum, uint16_t v)
{
	return sum + load_u16(be16_of(v).b);
}

static inline uint64_t
inet_sum_be32(uint64_t sum, uint32_t v)
{
	return sum + load_u32(be32_of(v).b);
}

/* Returns the 16-bit one's complement sum, which is zero only if every summed word was zero. Adding
 * a number to itself with swapped halves leaves the folded sum, end-around carry included, in the
 * upper half. */
static inline uint16_t
inet_fold(uint64_t sum)
{
	sum += sum << 32 | sum >> 32;

	const uint32_t half = (uint32_t)(sum >> 32);

	return (uint16_t)((half + (half << 16 | half >> 16)) >> 16);
}

/* Returns the sum as a wire field, as a port that fills checksums expects it. */
static inline struct be16
inet_sum_field(uint64_t sum)
{
	const uint16_t folded = inet_fold(sum);
	struct be16 f;

	memcpy(f.b, &folded, sizeof folded);
	return f;
}

/* Returns the checksum field for a sum over everything else. */
static inline struct be16
inet_cksum(uint64_t sum)
{
	const uint16_t folded = (uint16_t)~inet_fold(sum);
	struct be16 f;

	memcpy(f.b, &folded, sizeof folded);
	return f;
}

/* True if a sum that includes the checksum field verifies (RFC 1071 section 1 (3)). */
static inline bool
inet_sum_good(uint64_t sum)
{
	return inet_fold(sum) == 0xffff;
}

/* Returns the sum of the pseudo header of TCP and UDP (RFC 9293 section 3.1, RFC 768). */
static inline uint64_t
inet_sum_pseudo(uint32_t src_ip, uint32_t dst_ip, uint8_t protocol, uint16_t l4_len)
{
	const uint64_t addresses = inet_sum_be32(inet_sum_be32(0, src_ip), dst_ip);

	return inet_sum_be16(inet_sum_be16(addresses, protocol), l4_len);
}

/* Returns the sum of IPv6's pseudo header (RFC 8200 section 8.1); src and dst are 16 bytes
 * each. */
static inline uint64_t
inet_sum_pseudo6(const void *src, const void *dst, uint8_t next, uint16_t l4_len)
{
	const uint64_t addresses = inet_sum(inet_sum(0, src, 16), dst, 16);

	return inet_sum_be16(inet_sum_be16(addresses, next), l4_len);
}

/* Returns the checksum after a change of one 16-bit field, by equation 3 of RFC 1624 section 3;
 * equation 2 would turn a sum of zero into the other zero. */
static inline struct be16
inet_cksum_update(struct be16 cksum, struct be16 was, struct be16 is)
{
	return inet_cksum((uint64_t)(uint16_t)~load_u16(cksum.b) + (uint16_t)~load_u16(was.b) +
			  load_u16(is.b));
}

#endif

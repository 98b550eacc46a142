/*
 * ip_addr.h - an IPv6 address, or an IPv4 address mapped into one (RFC 4291 2.5.5.2).
 *
 * One type for both families: 16 bytes in network order; 1.2.3.4 is ::ffff:1.2.3.4. IPv6 headers
 * with an address of that prefix are dropped, so the prefix identifies the family.
 *
 * Units:  prefix lengths in bits of the 128: an IPv4 prefix of 24 is 120 (IP_ADDR_V4_BITS more).
 * Thread: pure functions.
 */
#ifndef CLOCKOO_IP_ADDR_H
#define CLOCKOO_IP_ADDR_H

#include "bytes.h"

#define IP_ADDR_BYTES    16u
#define IP_ADDR_BITS     128u
#define IP_ADDR_V4_BITS  96u /* length of the prefix that marks an IPv4 address */
#define IP_ADDR_TEXT_MAX 39u /* eight groups of four and what stands between */

struct ip_addr {
	uint8_t b[IP_ADDR_BYTES];
};

/* Bytes 8 to 11 of an IPv4 address, as the machine loads them; 0 to 7 are zero. */
#define IP_ADDR_V4_MARK 0xffff0000u

/* Writes the address in place, by words. A struct that is built elsewhere, and copied as a whole,
 * would wait for the stores of its parts. */
static inline void
ip_addr_set_v4(struct ip_addr *a, uint32_t ip)
{
	const uint64_t zero = 0, rest = (uint64_t)__builtin_bswap32(ip) << 32 | IP_ADDR_V4_MARK;

	memcpy(a->b, &zero, sizeof zero);
	memcpy(a->b + 8, &rest, sizeof rest);
}

static inline struct ip_addr
ip_addr_v4(uint32_t ip)
{
	struct ip_addr a;

	ip_addr_set_v4(&a, ip);
	return a;
}

static inline bool
ip_addr_is_v4(const struct ip_addr *a)
{
	return load_u64(a->b) == 0 && load_u32(a->b + 8) == IP_ADDR_V4_MARK;
}

/* Returns the IPv4 address in host order; for an IPv6 address, its last 32 bits. */
static inline uint32_t
ip_addr_v4_get(const struct ip_addr *a)
{
	return __builtin_bswap32(load_u32(a->b + 12));
}

static inline bool
ip_addr_equal(const struct ip_addr *a, const struct ip_addr *b)
{
	return ((load_u64(a->b) ^ load_u64(b->b)) | (load_u64(a->b + 8) ^ load_u64(b->b + 8))) == 0;
}

/* True for ::, the unspecified address. */
static inline bool
ip_addr_is_zero(const struct ip_addr *a)
{
	return (load_u64(a->b) | load_u64(a->b + 8)) == 0;
}

/* True for fe80::/10 (RFC 4291 section 2.5.6). */
static inline bool
ip_addr_is_link_local(const struct ip_addr *a)
{
	return a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80;
}

/* True if a host can have the address: it is no group, loopback or unspecified address (RFC 1122
 * section 3.2.1.3, RFC 4291 section 2.4). */
bool ip_addr_is_host(const struct ip_addr *a);

/* True for an IPv4 address with a host part of only zeros or ones, except on a link of two hosts
 * (RFC 3021). prefix_len counts in the 128 bits. */
bool ip_addr_is_network_or_broadcast(const struct ip_addr *a, uint32_t prefix_len);

/* True if the first `bits` bits of both are equal. bits <= IP_ADDR_BITS. */
bool ip_addr_same_prefix(const struct ip_addr *a, const struct ip_addr *b, uint32_t bits);

/* Writes "1.2.3.4" or "2001:db8::1" (RFC 5952), at most IP_ADDR_TEXT_MAX characters and no zero
 * byte. Returns the end. */
char *ip_addr_text(char *at, const struct ip_addr *a);

#endif

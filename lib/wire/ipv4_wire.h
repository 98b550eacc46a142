/*
 * ipv4_wire.h - the IPv4 header (RFC 791 section 3.1).
 *
 * Shape:  ipv4_parse parses one packet in len bytes; bytes after its total length are Ethernet
 *         padding. Options are skipped unread; header_len includes them.
 * Units:  lengths in bytes; addresses in host order.
 * Thread: pure functions.
 * Errors: enum ipv4_parse_result. The caller checks the header checksum, which the port may have
 *         verified.
 */
#ifndef CLOCKOO_IPV4_WIRE_H
#define CLOCKOO_IPV4_WIRE_H

#include "inet_cksum.h"
#include "base/check.h"

#define IPV4_HEADER_BYTES     20u
#define IPV4_MTU_MIN          68u /* RFC 791: every link carries that much */
#define IPV4_TTL              64u
#define IPV4_DF               0x4000u
#define IPV4_FRAG_MASK        0x3fffu /* more fragments and offset: 0 in a whole packet */
#define IPV4_MF               0x2000u
#define IPV4_FRAG_OFFSET_MASK 0x1fffu /* the offset, in units of 8 bytes */

enum ipv4_protocol {
	IPV4_ICMP = 1,
	IPV4_TCP = 6,
	IPV4_UDP = 17,
};

struct ipv4_header {
	uint8_t version_ihl; /* 4, and the header's length in 32-bit words */
	uint8_t tos;
	struct be16 total_len, id, fragment;
	uint8_t ttl, protocol;
	struct be16 cksum;
	struct be32 src, dst;
};
static_assert(sizeof(struct ipv4_header) == IPV4_HEADER_BYTES, "RFC 791 figure 4");

struct ipv4_packet {
	uint32_t src, dst;
	uint16_t header_len, total_len;
	uint8_t protocol;
};

enum ipv4_parse_result {
	IPV4_WIRE_OK,
	IPV4_WIRE_TRUNCATED, /* fewer than 20 bytes, or fewer than the total length */
	IPV4_WIRE_VERSION,   /* not 4 */
	IPV4_WIRE_IHL,       /* a header of less than 20 bytes, or longer than the packet */
	IPV4_WIRE_FRAGMENT,  /* the packet is a fragment; all fields are set */
};

static inline enum ipv4_parse_result
ipv4_parse(struct ipv4_packet *ip, const uint8_t *p, uint32_t len)
{
	const struct ipv4_header *h = (const struct ipv4_header *)p;

	if (len < IPV4_HEADER_BYTES)
		return IPV4_WIRE_TRUNCATED;
	if (h->version_ihl >> 4 != 4)
		return IPV4_WIRE_VERSION;
	ip->header_len = (uint16_t)((h->version_ihl & 0xf) * 4);
	ip->total_len = be16_get(h->total_len);
	if (ip->header_len < IPV4_HEADER_BYTES || ip->header_len > ip->total_len)
		return IPV4_WIRE_IHL;
	if (ip->total_len > len)
		return IPV4_WIRE_TRUNCATED;
	ip->src = be32_get(h->src);
	ip->dst = be32_get(h->dst);
	ip->protocol = h->protocol;
	return (be16_get(h->fragment) & IPV4_FRAG_MASK) == 0 ? IPV4_WIRE_OK : IPV4_WIRE_FRAGMENT;
}

/* True if the checksum of the header is right. header_len: from ipv4_parse. */
static inline bool
ipv4_cksum_good(const uint8_t *p, uint32_t header_len)
{
	return inet_sum_good(inet_sum(0, p, header_len));
}

/* Returns the sum of a header without options, unrolled: five words. */
static inline uint64_t
ipv4_header_sum(const uint8_t *p)
{
	return (uint64_t)load_u32(p) + load_u32(p + 4) + load_u32(p + 8) + load_u32(p + 12) +
	       load_u32(p + 16);
}

/* Writes a header without options: a whole packet, don't fragment, IPV4_TTL; checksum zero. The
 * identification is zero, as RFC 6864 section 4.1 allows for packets that cannot be fragmented. */
static inline void
ipv4_emit(uint8_t *p, uint32_t src, uint32_t dst, uint8_t protocol, uint16_t total_len)
{
	struct ipv4_header *h = (struct ipv4_header *)p;

	*h = (struct ipv4_header){
		.version_ihl = 0x45,
		.total_len = be16_of(total_len),
		.fragment = be16_of(IPV4_DF),
		.ttl = IPV4_TTL,
		.protocol = protocol,
		.src = be32_of(src),
		.dst = be32_of(dst),
	};
}

#endif

/*
 * ipv6_wire.h - the IPv6 header and the extension headers after it (RFC 8200).
 *
 * Shape:  ipv6_parse parses one packet in len bytes; bytes after its payload length are Ethernet
 *         padding. Extension headers are skipped: l4_at is after the last of them.
 * Units:  lengths and offsets in bytes, from the IPv6 header; addresses as on the wire.
 * Thread: pure functions.
 * Errors: enum ipv6_parse_result.
 * Bounds: IPV6_EXT_MAX extension headers of IPV6_EXT_BYTES_MAX bytes together (RFC 8504 section
 *         5.3 lets a host set such limits); every iteration of the option loop takes at least one
 *         byte.
 */
#ifndef CLOCKOO_IPV6_WIRE_H
#define CLOCKOO_IPV6_WIRE_H

#include "base/check.h"
#include "base/ip_addr.h"

#define IPV6_HEADER_BYTES   40u
#define IPV6_FRAGMENT_BYTES 8u
#define IPV6_MTU_MIN        1280u /* RFC 8200 section 5: every link carries that much */
#define IPV6_HOP_LIMIT      64u
#define IPV6_EXT_MAX        8u
/* Unit of an extension header's length, which does not count the first unit. */
#define IPV6_EXT_UNIT             8u
#define IPV6_EXT_BYTES_MAX        256u
#define IPV6_MORE_FRAGMENTS       0x0001u
#define IPV6_FRAGMENT_OFFSET_MASK 0xfff8u /* mask of the offset, which is then in bytes */

enum ipv6_next {
	IPV6_HOP_BY_HOP = 0,
	IPV6_TCP = 6,
	IPV6_UDP = 17,
	IPV6_ROUTING = 43,
	IPV6_FRAGMENT = 44,
	IPV6_ICMP = 58,
	IPV6_DESTINATION = 60,
};

struct ipv6_header {
	uint8_t version_class; /* 6 in the high four bits */
	uint8_t class_flow, flow[2];
	struct be16 payload_len;
	uint8_t next, hop_limit;
	struct ip_addr src, dst;
};
static_assert(sizeof(struct ipv6_header) == IPV6_HEADER_BYTES, "RFC 8200 section 3");

struct ipv6_fragment {
	uint8_t next, reserved;
	struct be16 offset_more;
	struct be32 id;
};
static_assert(sizeof(struct ipv6_fragment) == IPV6_FRAGMENT_BYTES, "RFC 8200 section 4.5");

struct ipv6_packet {
	uint8_t next; /* protocol of the header at l4_at */
	uint8_t hop_limit;
	uint16_t l4_at, l4_len;
};

enum ipv6_parse_result {
	IPV6_WIRE_OK,
	IPV6_WIRE_TRUNCATED,   /* fewer than 40 bytes, or fewer than the payload length */
	IPV6_WIRE_VERSION,     /* not 6 */
	IPV6_WIRE_EXT_HEADERS, /* extension headers cut, out of order, too many or too long */
	IPV6_WIRE_OPTION,      /* an unknown option that requires a discard (section 4.2) */
	IPV6_WIRE_ROUTING,     /* a routing header with segments left: only routers forward it */
	IPV6_WIRE_FRAGMENT,    /* the packet is a fragment; its fragment header ends at l4_at */
};

/* Parses the chain of headers after the fixed one; for ipv6_parse. */
enum ipv6_parse_result ipv6_parse_extensions(struct ipv6_packet *ip, const uint8_t *p);

static inline enum ipv6_parse_result
ipv6_parse(struct ipv6_packet *ip, const uint8_t *p, uint32_t len)
{
	const struct ipv6_header *h = (const struct ipv6_header *)p;

	if (len < IPV6_HEADER_BYTES)
		return IPV6_WIRE_TRUNCATED;
	if (h->version_class >> 4 != 6)
		return IPV6_WIRE_VERSION;
	ip->l4_len = be16_get(h->payload_len);
	if (IPV6_HEADER_BYTES + ip->l4_len > len)
		return IPV6_WIRE_TRUNCATED;
	ip->next = h->next;
	ip->hop_limit = h->hop_limit;
	ip->l4_at = IPV6_HEADER_BYTES;
	if (likely(h->next == IPV6_UDP || h->next == IPV6_TCP))
		return IPV6_WIRE_OK;
	return ipv6_parse_extensions(ip, p);
}

/* Writes a header without extensions, with class and flow label zero. */
static inline void
ipv6_emit(uint8_t *p, const struct ip_addr *src, const struct ip_addr *dst, uint8_t next,
	  uint16_t payload_len)
{
	struct ipv6_header *h = (struct ipv6_header *)p;

	h->version_class = 6 << 4;
	h->class_flow = h->flow[0] = h->flow[1] = 0;
	h->payload_len = be16_of(payload_len);
	h->next = next;
	h->hop_limit = IPV6_HOP_LIMIT;
	h->src = *src;
	h->dst = *dst;
}

/* ---- addresses (RFC 4291) ---- */

static inline bool
ipv6_is_group(const struct ip_addr *a)
{
	return a->b[0] == 0xff;
}

static inline bool
ipv6_is_loopback(const struct ip_addr *a)
{
	return load_u64(a->b) == 0 && be32_get(*(const struct be32 *)(a->b + 8)) == 0 &&
	       be32_get(*(const struct be32 *)(a->b + 12)) == 1;
}

/* Returns ff02::1. */
struct ip_addr ipv6_all_nodes(void);
struct ip_addr ipv6_all_routers(void);
/* Returns ff02::1:ffxx:xxxx, the group to which neighbours send solicitations for a (section
 * 2.7.1). */
struct ip_addr ipv6_solicited_node(const struct ip_addr *a);
/* Returns fe80:: with the interface identifier made from the MAC (section 2.5.6, appendix A). */
struct ip_addr ipv6_link_local(const uint8_t mac[6]);
/* Writes 33:33 and the last 32 bits of a group (RFC 2464 section 7). */
void ipv6_group_mac(const struct ip_addr *group, uint8_t mac[6]);

#endif

/*
 * ipv6_wire.c - a bounded walk over IPv6 extension headers, and derived addresses.
 */
#include "ipv6_wire.h"

#define OPTION_PAD_1   0u
#define OPTION_DISCARD 0xc0u /* not zero: not to be skipped if unknown (section 4.2) \ */

/* Skips hop-by-hop or destination options: padding, and all others that may be skipped. */
static enum ipv6_parse_result
parse_ext_options(const uint8_t *p, uint32_t len)
{
	uint32_t at = 2;

	while (at < len) {
		if (p[at] == OPTION_PAD_1) {
			at++;
			continue;
		}
		if (len - at < 2 || p[at + 1] > len - at - 2)
			return IPV6_WIRE_EXT_HEADERS;
		if (p[at] & OPTION_DISCARD)
			return IPV6_WIRE_OPTION;
		at += 2u + p[at + 1];
	}
	return IPV6_WIRE_OK;
}

/* Checks one extension header of a kind that carries its length, and sets *len. */
static enum ipv6_parse_result
parse_extension(uint8_t kind, const uint8_t *p, uint32_t left, uint32_t *len)
{
	if (left < IPV6_EXT_UNIT)
		return IPV6_WIRE_EXT_HEADERS;
	*len = kind == IPV6_FRAGMENT ? IPV6_FRAGMENT_BYTES : (p[1] + 1u) * IPV6_EXT_UNIT;
	if (*len > left)
		return IPV6_WIRE_EXT_HEADERS;
	if (kind == IPV6_ROUTING && p[3] != 0)
		return IPV6_WIRE_ROUTING;
	if (kind == IPV6_HOP_BY_HOP || kind == IPV6_DESTINATION)
		return parse_ext_options(p, *len);
	return IPV6_WIRE_OK;
}

static bool
is_extension(uint8_t next)
{
	return next == IPV6_HOP_BY_HOP || next == IPV6_ROUTING || next == IPV6_FRAGMENT ||
	       next == IPV6_DESTINATION;
}

/* True if the packet is a fragment. With offset zero and no more fragments it is a whole packet
 * (RFC 6946). */
static bool
is_fragment(const uint8_t *p)
{
	const struct ipv6_fragment *f = (const struct ipv6_fragment *)p;

	return (be16_get(f->offset_more) & (IPV6_FRAGMENT_OFFSET_MASK | IPV6_MORE_FRAGMENTS)) != 0;
}

enum ipv6_parse_result
ipv6_parse_extensions(struct ipv6_packet *ip, const uint8_t *p)
{
	for (uint32_t n = 0; n < IPV6_EXT_MAX && is_extension(ip->next); n++) {
		const uint8_t *ext = p + ip->l4_at;
		const uint8_t kind = ip->next;
		enum ipv6_parse_result verdict;
		uint32_t len = 0;

		if (kind == IPV6_HOP_BY_HOP && n != 0)
			return IPV6_WIRE_EXT_HEADERS; /* section 4.1: only the first header may be
							 this one */
		verdict = parse_extension(kind, ext, ip->l4_len, &len);
		if (verdict != IPV6_WIRE_OK)
			return verdict;
		ip->next = ext[0];
		ip->l4_at = (uint16_t)(ip->l4_at + len);
		ip->l4_len = (uint16_t)(ip->l4_len - len);
		if (ip->l4_at > IPV6_HEADER_BYTES + IPV6_EXT_BYTES_MAX)
			return IPV6_WIRE_EXT_HEADERS;
		if (kind == IPV6_FRAGMENT && is_fragment(ext))
			return IPV6_WIRE_FRAGMENT;
	}
	return is_extension(ip->next) ? IPV6_WIRE_EXT_HEADERS : IPV6_WIRE_OK;
}

struct ip_addr
ipv6_all_nodes(void)
{
	return (struct ip_addr){{0xff, 0x02, [15] = 1}};
}

struct ip_addr
ipv6_all_routers(void)
{
	return (struct ip_addr){{0xff, 0x02, [15] = 2}};
}

struct ip_addr
ipv6_solicited_node(const struct ip_addr *a)
{
	return (struct ip_addr){
		{0xff, 0x02, [11] = 1, [12] = 0xff, [13] = a->b[13], a->b[14], a->b[15]}};
}

struct ip_addr
ipv6_link_local(const uint8_t mac[6])
{
	/* The identifier has the MAC's universal bit inverted. */
	return (struct ip_addr){
		{0xfe, 0x80, [8] = mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]}};
}

void
ipv6_group_mac(const struct ip_addr *group, uint8_t mac[6])
{
	mac[0] = mac[1] = 0x33;
	memcpy(mac + 2, group->b + 12, 4);
}

/*
 * filled_cksum.c - computes the checksums of IPv4, TCP and UDP that a frame leaves to the port.
 */
#include "filled_cksum.h"
#include "port.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/ipv6_wire.h"

#define TCP_CKSUM_AT 16u /* RFC 9293 section 3.1 */
#define UDP_CKSUM_AT 6u  /* RFC 768 */

static void
fill_l4(uint8_t *l4, uint32_t len, bool tcp)
{
	const uint32_t at = tcp ? TCP_CKSUM_AT : UDP_CKSUM_AT;
	struct be16 cksum;

	if (len < at + sizeof cksum)
		return;
	cksum = inet_cksum(inet_sum(0, l4, len));
	/* A checksum of zero would mean that there is none (RFC 768). */
	if (!tcp && load_u16(cksum.b) == 0)
		cksum = be16_of(UINT16_MAX);
	memcpy(l4 + at, &cksum, sizeof cksum);
}

static void
fill_ipv4(uint8_t *p, uint32_t len, uint32_t ol_flags)
{
	struct ipv4_header *h = (struct ipv4_header *)p;
	struct ipv4_packet ip;
	const enum ipv4_parse_result verdict = ipv4_parse(&ip, p, len);

	if (verdict != IPV4_WIRE_OK && verdict != IPV4_WIRE_FRAGMENT)
		return;
	if (ol_flags & FRAME_IP_CKSUM_FILL)
		h->cksum = inet_cksum(inet_sum(0, p, ip.header_len));
	if ((ol_flags & FRAME_L4_CKSUM_FILL) && verdict == IPV4_WIRE_OK)
		fill_l4(p + ip.header_len, (uint32_t)ip.total_len - ip.header_len,
			(ol_flags & FRAME_L4_IS_TCP) != 0);
}

static void
fill_ipv6(uint8_t *p, uint32_t len, uint32_t ol_flags)
{
	struct ipv6_packet ip;

	if ((ol_flags & FRAME_L4_CKSUM_FILL) && ipv6_parse(&ip, p, len) == IPV6_WIRE_OK)
		fill_l4(p + ip.l4_at, ip.l4_len, (ol_flags & FRAME_L4_IS_TCP) != 0);
}

void
filled_cksum(uint8_t *data, uint32_t len, uint32_t ol_flags)
{
	uint32_t at = ETH_TAG_OFFSET, type;

	if (!(ol_flags & (FRAME_IP_CKSUM_FILL | FRAME_L4_CKSUM_FILL)) ||
	    len < ETH_HEADER_BYTES + ETH_TAG_BYTES)
		return;
	type = be16_get(*(const struct be16 *)(data + at));
	if (type == ETH_TYPE_VLAN)
		type = be16_get(*(const struct be16 *)(data + (at += ETH_TAG_BYTES)));
	at += sizeof(struct be16);
	if (type == ETH_TYPE_IPV4)
		fill_ipv4(data + at, len - at, ol_flags);
	else if (type == ETH_TYPE_IPV6)
		fill_ipv6(data + at, len - at, ol_flags);
}

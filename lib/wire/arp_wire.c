/*
 * arp_wire.c - parses ARP packets field by field, with a reason for each refusal, and writes
 * them.
 */
#include "arp_wire.h"

#define ARP_HARDWARE_ETHERNET 1u
#define ARP_IPV4_BYTES        4u

enum arp_parse_result
arp_parse(struct arp *arp, const uint8_t *p, uint32_t len)
{
	const struct arp_packet *h = (const struct arp_packet *)p;

	if (len < ARP_PACKET_BYTES)
		return ARP_WIRE_TRUNCATED;
	arp->op = be16_get(h->op);
	if (be16_get(h->hardware_type) != ARP_HARDWARE_ETHERNET ||
	    be16_get(h->protocol_type) != ETH_TYPE_IPV4 || h->hardware_len != ETH_MAC_BYTES ||
	    h->protocol_len != ARP_IPV4_BYTES || (arp->op != ARP_REQUEST && arp->op != ARP_REPLY))
		return ARP_WIRE_FORMAT;
	if (eth_mac_is_group(h->sender_mac) || eth_mac_is_zero(h->sender_mac))
		return ARP_WIRE_SENDER;
	memcpy(arp->sender_mac, h->sender_mac, ETH_MAC_BYTES);
	memcpy(arp->target_mac, h->target_mac, ETH_MAC_BYTES);
	arp->sender_ip = be32_get(h->sender_ip);
	arp->target_ip = be32_get(h->target_ip);
	return ARP_WIRE_OK;
}

void
arp_emit(uint8_t *p, const struct arp *arp)
{
	struct arp_packet *h = (struct arp_packet *)p;

	h->hardware_type = be16_of(ARP_HARDWARE_ETHERNET);
	h->protocol_type = be16_of(ETH_TYPE_IPV4);
	h->hardware_len = ETH_MAC_BYTES;
	h->protocol_len = ARP_IPV4_BYTES;
	h->op = be16_of(arp->op);
	memcpy(h->sender_mac, arp->sender_mac, ETH_MAC_BYTES);
	h->sender_ip = be32_of(arp->sender_ip);
	memcpy(h->target_mac, arp->target_mac, ETH_MAC_BYTES);
	h->target_ip = be32_of(arp->target_ip);
}

/*
 * arp_wire.h - ARP packets for IPv4 over Ethernet (RFC 826).
 *
 * Shape:  a packet is 28 bytes after the Ethernet header; trailing padding is the caller's.
 *         Addresses in struct arp are in host order.
 * Thread: pure functions.
 * Errors: enum arp_parse_result.
 */
#ifndef CLOCKOO_ARP_WIRE_H
#define CLOCKOO_ARP_WIRE_H

#include "eth_wire.h"

#define ARP_PACKET_BYTES 28u

enum arp_op {
	ARP_REQUEST = 1,
	ARP_REPLY = 2,
};

struct arp_packet {
	struct be16 hardware_type, protocol_type;
	uint8_t hardware_len, protocol_len;
	struct be16 op;
	uint8_t sender_mac[ETH_MAC_BYTES];
	struct be32 sender_ip;
	uint8_t target_mac[ETH_MAC_BYTES];
	struct be32 target_ip;
};
static_assert(sizeof(struct arp_packet) == ARP_PACKET_BYTES, "RFC 826, packet format");

struct arp {
	uint16_t op; /* enum arp_op */
	uint8_t sender_mac[ETH_MAC_BYTES];
	uint8_t target_mac[ETH_MAC_BYTES];
	uint32_t sender_ip, target_ip;
};

enum arp_parse_result {
	ARP_WIRE_OK,
	ARP_WIRE_TRUNCATED,
	ARP_WIRE_FORMAT, /* not IPv4 over Ethernet, or neither request nor reply */
	ARP_WIRE_SENDER, /* the sender's MAC is a group or zero */
};

enum arp_parse_result arp_parse(struct arp *arp, const uint8_t *p, uint32_t len);

/* Writes ARP_PACKET_BYTES at p. */
void arp_emit(uint8_t *p, const struct arp *arp);

#endif

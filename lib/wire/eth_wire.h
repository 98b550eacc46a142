/*
 * eth_wire.h - the Ethernet II header (IEEE 802.3 clause 3; types by RFC 9542).
 *
 * Thread: pure functions.
 * Bounds: no VLAN tags: a tagged frame has a type we do not speak.
 */
#ifndef CLOCKOO_ETH_WIRE_H
#define CLOCKOO_ETH_WIRE_H

#include "base/bytes.h"
#include "base/check.h"

#define ETH_HEADER_BYTES 14u
#define ETH_MAC_BYTES    6u

enum eth_type {
	ETH_TYPE_IPV4 = 0x0800,
	ETH_TYPE_ARP = 0x0806,
};

struct eth_header {
	uint8_t dst[ETH_MAC_BYTES];
	uint8_t src[ETH_MAC_BYTES];
	struct be16 type;
};
static_assert(sizeof(struct eth_header) == ETH_HEADER_BYTES, "IEEE 802.3 clause 3.1");

static inline bool
eth_mac_equal(const uint8_t a[ETH_MAC_BYTES], const uint8_t b[ETH_MAC_BYTES])
{
	return ((load_u32(a) ^ load_u32(b)) | (uint32_t)(load_u16(a + 4) ^ load_u16(b + 4))) == 0;
}

/* The group bit: multicast or broadcast, never the address of one station. */
static inline bool
eth_mac_is_group(const uint8_t mac[ETH_MAC_BYTES])
{
	return (mac[0] & 1) != 0;
}

static inline bool
eth_mac_is_broadcast(const uint8_t mac[ETH_MAC_BYTES])
{
	return load_u32(mac) == 0xffffffff && load_u16(mac + 4) == 0xffff;
}

static inline bool
eth_mac_is_zero(const uint8_t mac[ETH_MAC_BYTES])
{
	return (load_u32(mac) | load_u16(mac + 4)) == 0;
}

static inline void
eth_emit(uint8_t *p, const uint8_t dst[ETH_MAC_BYTES], const uint8_t src[ETH_MAC_BYTES],
	 uint16_t type)
{
	struct eth_header *h = (struct eth_header *)p;

	memcpy(h->dst, dst, sizeof h->dst);
	memcpy(h->src, src, sizeof h->src);
	h->type = be16_of(type);
}

#endif

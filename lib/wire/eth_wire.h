/*
 * eth_wire.h - the Ethernet II header (IEEE 802.3 clause 3; types by RFC 9542), and the tag of a
 * VLAN between its addresses and its type (IEEE 802.1Q clause 9).
 *
 * Thread: pure functions.
 * Bounds: one tag: a frame with two has an unsupported type.
 */
#ifndef CLOCKOO_ETH_WIRE_H
#define CLOCKOO_ETH_WIRE_H

#include "base/bytes.h"
#include "base/check.h"

#define ETH_HEADER_BYTES    14u
#define ETH_MAC_BYTES       6u
#define ETH_TAG_BYTES       4u
#define ETH_TAG_OFFSET      12u /* offset of a tag, after both addresses */
#define VLAN_ID             0x0fffu
#define VLAN_PRIORITY_SHIFT 13u /* bits up */

enum eth_type {
	ETH_TYPE_IPV4 = 0x0800,
	ETH_TYPE_ARP = 0x0806,
	ETH_TYPE_VLAN = 0x8100,
	ETH_TYPE_IPV6 = 0x86dd,
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

/* True if the group bit is set: multicast or broadcast, never the address of one station. */
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

/* Returns the tag's priority and VLAN (IEEE 802.1Q clause 9.6). p holds a tagged frame. */
static inline uint16_t
eth_vlan_tci(const uint8_t *p)
{
	return __builtin_bswap16(load_u16(p + ETH_TAG_OFFSET + 2));
}

/* Removes the tag. The frame then begins at the returned address, ETH_TAG_BYTES later. */
static inline uint8_t *
eth_vlan_strip(uint8_t *p)
{
	memmove(p + ETH_TAG_BYTES, p, ETH_TAG_OFFSET);
	return p + ETH_TAG_BYTES;
}

/* Inserts a tag. The frame then begins ETH_TAG_BYTES before p. */
static inline uint8_t *
eth_vlan_insert(uint8_t *p, uint16_t tag)
{
	const struct be16 field[2] = {be16_of(ETH_TYPE_VLAN), be16_of(tag)};

	p -= ETH_TAG_BYTES;
	memmove(p, p + ETH_TAG_BYTES, ETH_TAG_OFFSET);
	memcpy(p + ETH_TAG_OFFSET, field, sizeof field);
	return p;
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

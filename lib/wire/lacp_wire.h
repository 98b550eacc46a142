/*
 * lacp_wire.h - the frames of a bond, which are of the slow protocols: LACPDUs and markers (IEEE
 * 802.1AX-2014 clauses 6.4.2 and 6.5.3).
 *
 * Shape:  a frame is LACP_FRAME_BYTES with its Ethernet header. Numbers in the structs are in host
 *         order.
 * Thread: pure functions.
 * Errors: enum lacp_parse_result.
 */
#ifndef CLOCKOO_LACP_WIRE_H
#define CLOCKOO_LACP_WIRE_H

#include "eth_wire.h"

#define ETH_TYPE_SLOW    0x8809u
#define LACP_FRAME_BYTES 124u

/* Bits of a port's state, clause 6.4.2.3 (m). */
enum lacp_state_bit {
	LACP_ACTIVITY = 1u << 0,
	LACP_TIMEOUT = 1u << 1, /* the sender wants to receive a LACPDU each second */
	LACP_AGGREGATION = 1u << 2,
	LACP_SYNC = 1u << 3,
	LACP_COLLECTING = 1u << 4,
	LACP_DISTRIBUTING = 1u << 5,
	LACP_DEFAULTED = 1u << 6,
	LACP_EXPIRED = 1u << 7,
};

struct lacp_info {
	uint8_t system[ETH_MAC_BYTES];
	uint16_t system_priority, key, port_priority, port;
	uint8_t state; /* enum lacp_state_bit */
};

struct lacp_pdu {
	struct lacp_info actor, partner;
};

enum lacp_parse_result {
	LACP_WIRE_OK,
	LACP_WIRE_MARKER,   /* a marker that requests a response */
	LACP_WIRE_RESPONSE, /* the response to a marker */
	LACP_WIRE_OTHER,    /* neither of these two protocols */
	LACP_WIRE_TRUNCATED,
	LACP_WIRE_FORMAT, /* a length that the standard does not allow */
};

/* Parses a whole frame. Versions, types of fields and reserved bytes are ignored, as clause 6.4.2.4
 * demands. */
enum lacp_parse_result lacp_parse(struct lacp_pdu *pdu, const uint8_t *p, uint32_t len);

/* Writes LACP_FRAME_BYTES at p. */
void lacp_emit(uint8_t *p, const uint8_t src[ETH_MAC_BYTES], const struct lacp_pdu *pdu);

/* Makes the response from the marker at p, in place, in LACP_FRAME_BYTES. */
void lacp_marker_answer(uint8_t *p, const uint8_t src[ETH_MAC_BYTES]);

/* True if the frame is of the slow protocols. It must have a whole Ethernet header. */
static inline bool
lacp_is_slow(const uint8_t *p)
{
	return be16_get(((const struct eth_header *)p)->type) == ETH_TYPE_SLOW;
}

#endif

/*
 * ip_ecn.h - the ECN field of the IP header (RFC 3168 section 5), for both families.
 *
 * Shape:  the low two bits of the type of service (IPv4) or of the traffic class (IPv6).
 * Thread: pure functions.
 */
#ifndef CLOCKOO_IP_ECN_H
#define CLOCKOO_IP_ECN_H

#include "eth_wire.h"

enum ip_ecn {
	IP_ECN_NOT_ECT = 0, /* the transport does not use ECN */
	IP_ECN_ECT1 = 1,    /* RFC 9331: a low-latency service */
	IP_ECN_ECT0 = 2,
	IP_ECN_CE = 3, /* a router met congestion */
};

#define IP_ECN_MASK 3u

/* Returns the ECN field of an untagged frame. v4: an IPv4 packet; otherwise IPv6. Both have the
 * field in the second byte, but IPv6's class begins four bits later. */
static inline enum ip_ecn
ip_ecn_of_frame(const uint8_t *frame, bool v4)
{
	const uint8_t byte = frame[ETH_HEADER_BYTES + 1];

	return (enum ip_ecn)((v4 ? byte : byte >> 4) & IP_ECN_MASK);
}

/* Sets the field in a header in which it, and the flow label, are zero. */
static inline void
ip_ecn_set(uint8_t *ip, bool v4, enum ip_ecn ecn)
{
	ip[1] = (uint8_t)(v4 ? ecn : (unsigned)ecn << 4);
}

#endif

/*
 * mc_udp.h - the 8-byte frame in front of every memcached datagram.
 *
 * Source: memcached doc/protocol.txt, "UDP protocol". A request is one datagram; its sequence
 * number and reserved field are not looked at (as memcached does not).
 */
#ifndef CLOCKOO_MC_UDP_H
#define CLOCKOO_MC_UDP_H

#include "base/bytes.h"
#include "base/check.h"

#define MC_UDP_PAYLOAD_MAX 1400u /* of a reply datagram, the frame header included */

struct mc_udp_frame {
	struct be16 id;
	struct be16 sequence; /* 0..total-1 */
	struct be16 total;    /* datagrams of this message */
	struct be16 reserved; /* 0 */
};
static_assert(sizeof(struct mc_udp_frame) == 8, "wire format");

#endif

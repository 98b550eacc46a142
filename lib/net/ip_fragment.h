/*
 * ip_fragment.h - datagrams that leave in fragments (RFC 791, RFC 8200 section 4.5).
 *
 * Units:  bytes of IP payload.
 * Thread: core-local.
 * Bounds: a fragment fits a frame of the port, and the MTU of the route to its destination.
 */
#ifndef CLOCKOO_IP_FRAGMENT_H
#define CLOCKOO_IP_FRAGMENT_H

#include "net_inside.h"

/* A fragment. All fragments of a datagram have the same id. at is a multiple of 8, and so is len if
 * more follow. */
struct ip_fragment {
	const uint8_t *data;
	uint32_t id, at, len;
	bool more;
};

/* Sends a fragment in a fresh frame; the L4 checksum is already in its bytes. A datagram in one
 * piece over IPv6 has no fragment header. False: no slot or no frame. */
bool ip_send_fragment(struct net *net, const uint8_t mac[6], struct ip_dest dest,
		      const struct ip_fragment *piece);
/* Returns the most bytes of a fragment that is not the last one, within the MTU of the route. */
uint32_t ip_fragment_bytes(const struct net *net, struct ip_dest dest);

#endif

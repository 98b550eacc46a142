/*
 * ip_fragment.h - sends datagrams in fragments (RFC 791, RFC 8200 section 4.5).
 *
 * Units:  bytes of IP payload.
 * Thread: core-local.
 * Bounds: a fragment fits a frame of the port, and the MTU of the route to its destination.
 */
#ifndef CLOCKOO_IP_FRAGMENT_H
#define CLOCKOO_IP_FRAGMENT_H

#include "net_inside.h"

/* A fragment. All fragments of a datagram have the same id. at, and len if more fragments follow,
 * are multiples of 8. */
struct ip_fragment {
	const uint8_t *data;
	uint32_t id, at, len;
	bool more;
};

/* Sends a fragment in a fresh frame; its bytes include the complete L4 checksum. Over IPv6 a
 * datagram that is one piece has no fragment header. False: no slot or no frame. */
bool ip_send_fragment(struct net *net, const uint8_t mac[6], struct ip_dest dest,
		      const struct ip_fragment *piece);
/* Returns the most bytes of a fragment, except the last, within the MTU of the route. */
uint32_t ip_fragment_bytes(const struct net *net, struct ip_dest dest);

#endif

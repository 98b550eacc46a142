/*
 * routes.h - routes of both families: finds the next hop and the source address for a destination.
 *
 * The longest prefix that contains the destination decides.
 *
 * Shape:  the starts of disjoint ranges, in order, each with its route. A lookup is one binary
 *         search.
 * Units:  prefix lengths: of the 128 bits of an ip_addr.h address.
 * Owner:  the caller of routes_make keeps the region; nothing changes afterwards.
 * Thread: made by one thread, then read by any.
 * Errors: none. Of two routes to the same prefix the first counts.
 * Bounds: ROUTES_MAX routes, those of our own networks included.
 */
#ifndef CLOCKOO_ROUTES_H
#define CLOCKOO_ROUTES_H

#include "ip_position.h"
#include "base/region.h"

#include <stdbool.h>

#define ROUTES_MAX    4096u
#define ROUTE_MTU_MIN 576u /* RFC 791: every host receives a packet of that length */

struct route {
	struct ip_addr net;     /* no bit after the prefix is set */
	struct ip_addr gateway; /* zero: the network is on the link */
	uint16_t local;         /* number of the address from which packets leave */
	uint16_t mtu;           /* 0: the port's MTU; otherwise at least ROUTE_MTU_MIN */
	uint8_t prefix_len;
	uint8_t link; /* number of the link to which it leads */
};

/* A range of addresses with the same route: its first address, in host order. It ends where the
 * next range begins. */
struct route_range {
	struct ip_position from;
	uint32_t route; /* index in routes; ROUTE_NONE */
};
#define ROUTE_NONE UINT32_MAX

struct routes {
	const struct route *route;
	const struct route_range *range;
	uint32_t count, range_count;
	uint16_t mtu_min; /* the smallest MTU of the routes; 0: none has one */
};

size_t routes_bytes(uint32_t count);
/* Copies the routes, which may be in any order. */
void routes_make(struct routes *routes, struct region *region, const struct route *route,
		 uint32_t count);

/* Returns the route to an address; NULL: there is none. */
const struct route *routes_find(const struct routes *routes, const struct ip_addr *dst);

#endif

/*
 * front_listing.h - evaluates a server's list of connections for those from this host.
 *
 * Shape:  rows of `stats conns` are passed one by one. In "31:addr tcp:10.99.0.1:41234" the
 *         address and the port count; all other rows are ignored. A connection from this host
 *         whose port is not known, or is listed twice, belongs to an earlier process, or is one
 *         of this process that the server has not ended yet.
 * Units:  ports in host order; 0: none.
 * Owner:  the caller owns the struct, for one list at a time.
 * Thread: pure functions.
 * Errors: FRONT_LISTING_UNABLE: the list lacks the connection that it arrived on, so it proves
 *         nothing about others (address translation, another format). unclear: the port in a row
 *         of this host is invalid; it counts as another process's.
 * Bounds: any number of rows; FRONT_LISTING_PORTS known ports, with which a row of this host is
 *         compared.
 * Source: memcached doc/protocol.txt, "stats conns"; rows as observed on 1.6.18.
 */
#ifndef CLOCKOO_FRONT_LISTING_H
#define CLOCKOO_FRONT_LISTING_H

#include "base/ip_addr.h"

#define FRONT_LISTING_PORTS 64u

struct front_listing {
	uint8_t prefix[sizeof "tcp6:[]:" + IP_ADDR_TEXT_MAX]; /* of this host's address */
	uint32_t prefix_len;
	uint16_t port[FRONT_LISTING_PORTS]; /* known ports not listed yet */
	uint16_t own;                       /* of the connection that the list arrives on */
	uint16_t another;                   /* the last unknown port listed */
	bool own_is_listed, another_is, unclear;
};

enum front_listed {
	FRONT_LISTING_OURS, /* no other connection from this host */
	FRONT_LISTING_OTHERS,
	FRONT_LISTING_UNABLE,
};

/* Begins a list. The caller has filled in port, including own. */
void front_listing_begin(struct front_listing *l, const struct ip_addr *ip, uint16_t own);
/* Handles a row. Returns the port of a connection from this host; 0: it is none. */
uint16_t front_listing_row(struct front_listing *l, struct view name, struct view value);
enum front_listed front_listing_end(const struct front_listing *l);

#endif

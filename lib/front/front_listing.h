/*
 * front_listing.h - what a server's list of its connections says of those that came from us.
 *
 * Shape:  rows of `stats conns` come one by one; of "31:addr tcp:10.99.0.1:41234" the address and
 *         the port count, of all others nothing. A connection from our address that is not one of
 *         the known ports, or is there once more, is an earlier process's, or one of ours that the
 *         server has not ended yet.
 * Units:  ports in host order; 0: none.
 * Owner:  the caller's struct, of one list at a time.
 * Thread: pure functions.
 * Errors: FRONT_LISTING_UNABLE: the list lacks the connection that it came on: it says nothing of
 *         others (another address on the way, another form). unclear: a port of ours is none; it is
 *         taken for another's.
 * Bounds: any number of rows; FRONT_LISTING_PORTS known ports, which a row of ours is compared
 *         with.
 * Source: memcached doc/protocol.txt, "stats conns"; rows as observed on 1.6.18.
 */
#ifndef CLOCKOO_FRONT_LISTING_H
#define CLOCKOO_FRONT_LISTING_H

#include "base/ip_addr.h"

#define FRONT_LISTING_PORTS 64u

struct front_listing {
	uint8_t prefix[sizeof "tcp6:[]:" + IP_ADDR_TEXT_MAX]; /* of an address that is ours */
	uint32_t prefix_len;
	uint16_t port[FRONT_LISTING_PORTS]; /* ours, and not listed yet */
	uint16_t own;                       /* of the connection that the list comes on */
	uint16_t another;                   /* not ours: the last that is listed */
	bool own_is_listed, another_is, unclear;
};

enum front_listed {
	FRONT_LISTING_OURS, /* no other connection from our address */
	FRONT_LISTING_OTHERS,
	FRONT_LISTING_UNABLE,
};

/* The caller fills in port, own among them, before. */
void front_listing_begin(struct front_listing *l, const struct ip_addr *ip, uint16_t own);
/* The port of a connection from our address; 0: it is none. */
uint16_t front_listing_row(struct front_listing *l, struct view name, struct view value);
enum front_listed front_listing_end(const struct front_listing *l);

#endif

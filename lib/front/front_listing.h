/*
 * front_listing.h - finds the connections from this host in a server's list of its connections.
 *
 * Shape:  the caller passes the rows of `stats conns` one by one. Only rows like "31:addr
 *         tcp:10.99.0.1:41234" with this host's address are used; of these the port counts. If the
 *         port is none of the known ones, or is listed a second time, the connection belongs to an
 *         earlier process, or the server has not ended it yet.
 * Units:  ports in host order; 0: none.
 * Owner:  the caller owns the struct, for one list at a time.
 * Thread: pure functions.
 * Errors: FRONT_LISTING_UNABLE: the list lacks the connection that it arrived on, so it proves
 *         nothing about other connections. Reasons are address translation, or another format.
 *         unclear: a row of this host has an invalid port; it is taken for another process's.
 * Bounds: any number of rows. Each row of this host is compared with FRONT_LISTING_PORTS known
 *         ports.
 * Source: memcached doc/protocol.txt, "stats conns"; rows as observed on 1.6.18.
 */
#ifndef CLOCKOO_FRONT_LISTING_H
#define CLOCKOO_FRONT_LISTING_H

#include "base/ip_addr.h"

#define FRONT_LISTING_PORTS 64u

struct front_listing {
	uint8_t prefix[sizeof "tcp6:[]:" + IP_ADDR_TEXT_MAX]; /* of this host's address */
	uint32_t prefix_len;
	uint16_t port[FRONT_LISTING_PORTS]; /* the known ports that were not listed yet */
	uint16_t own;                       /* of the connection that the list arrives on */
	uint16_t another;                   /* the last listed port that is not a known one */
	bool own_is_listed;
	bool another_is; /* another was set */
	bool unclear;    /* a port could not be read */
};

enum front_listed {
	FRONT_LISTING_OURS, /* the list has no connection from this host but this process's */
	FRONT_LISTING_OTHERS,
	FRONT_LISTING_UNABLE,
};

/* Begins a list. The caller has set `port` to the known ports, with own among them. */
void front_listing_begin(struct front_listing *l, const struct ip_addr *ip, uint16_t own);
/* Handles a row. Returns the port of a connection from this host; 0: the row is of no such
 * connection. */
uint16_t front_listing_row(struct front_listing *l, struct view name, struct view value);
enum front_listed front_listing_end(const struct front_listing *l);

#endif

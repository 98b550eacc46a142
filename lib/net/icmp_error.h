/*
 * icmp_error.h - ICMP and ICMPv6 errors, and the packets that they quote.
 *
 * Thread: core-local.
 * Errors: false: the quote is too short to identify a flow, or quotes a packet that we cannot have
 *         sent.
 */
#ifndef CLOCKOO_ICMP_ERROR_H
#define CLOCKOO_ICMP_ERROR_H

#include "net_inside.h"

#define QUOTED_BYTES 8u /* TCP's ports and sequence number */

/* The quoted packet of an error. */
struct quote {
	struct ip_addr src, dst;
	uint8_t protocol;
	const uint8_t *l4; /* the first QUOTED_BYTES of its payload */
};

/* Read the quote after the header of an error. */
bool quote_ipv4(struct quote *q, const uint8_t *p, uint32_t len);
bool quote_ipv6(struct quote *q, const uint8_t *p, uint32_t len);

/* Processes an ICMP error with a valid checksum at p, which arrived on a link. Returns the counter
 * to count. */
enum net_counter icmp_error(struct net *net, const uint8_t *p, uint32_t len, uint8_t link);
enum net_counter icmp6_error(struct net *net, const uint8_t *p, uint32_t len, uint8_t link);

#endif

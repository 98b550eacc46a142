/*
 * icmp_wire.h - the part of the ICMP header (RFC 792) that echo and the path MTU (RFC 1191) need.
 *
 * Thread: pure functions.
 */
#ifndef CLOCKOO_ICMP_WIRE_H
#define CLOCKOO_ICMP_WIRE_H

#include "inet_cksum.h"
#include "base/check.h"

#define ICMP_HEADER_BYTES 8u

enum icmp_type {
	ICMP_ECHO_REPLY = 0,
	ICMP_UNREACHABLE = 3,
	ICMP_SOURCE_QUENCH = 4,
	ICMP_REDIRECT = 5,
	ICMP_ECHO = 8,
	ICMP_TIME_EXCEEDED = 11,
	ICMP_PARAMETER = 12,
};

#define ICMP_FRAGMENT_NEEDED 4u /* code of ICMP_UNREACHABLE; seq is the next hop's MTU, or 0 */

struct icmp_header {
	uint8_t type, code;
	struct be16 cksum, id, seq;
};
static_assert(sizeof(struct icmp_header) == ICMP_HEADER_BYTES, "RFC 792, echo");

/* True for messages that quote the packet which caused them. */
static inline bool
icmp_is_error(uint8_t type)
{
	return (type >= ICMP_UNREACHABLE && type <= ICMP_REDIRECT) || type == ICMP_TIME_EXCEEDED ||
	       type == ICMP_PARAMETER;
}

/* Turns an echo into its reply. Only the type changes, so the checksum is adjusted by the
 * difference (RFC 1624). One's complement has two zeros; all ones is used here, since with the
 * other one a reply whose bytes are all zero would not verify. For all other sums the two are
 * equal. */
static inline void
icmp_echo_to_reply(uint8_t *p)
{
	struct icmp_header *h = (struct icmp_header *)p;
	const struct be16 was = {{h->type, h->code}};
	const struct be16 is = {{ICMP_ECHO_REPLY, h->code}};

	h->type = ICMP_ECHO_REPLY;
	h->cksum = inet_cksum_update(h->cksum, was, is);
	if (load_u16(h->cksum.b) == 0)
		h->cksum = be16_of(0xffff);
}

#endif

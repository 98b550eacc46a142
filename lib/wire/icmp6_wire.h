/*
 * icmp6_wire.h - ICMPv6 (RFC 4443) and neighbour discovery (RFC 4861) in wire format.
 *
 * Shape:  p is the ICMPv6 header. A solicitation and an advertisement have one struct, nd.
 * Thread: pure functions.
 * Errors: enum nd_parse_result. The caller checks hop limit and checksum.
 * Bounds: every option takes at least 8 of the len bytes.
 */
#ifndef CLOCKOO_ICMP6_WIRE_H
#define CLOCKOO_ICMP6_WIRE_H

#include "base/check.h"
#include "base/ip_addr.h"

#define ICMP6_HEADER_BYTES   8u
#define ICMP6_CKSUM_OFFSET   2u
#define ND_BYTES             24u  /* without options */
#define ND_EMIT_BYTES        32u  /* with the option that nd_emit writes */
#define ROUTER_ADVERT_BYTES  16u  /* without options (RFC 4861 section 4.2) */
#define ROUTER_SOLICIT_BYTES 16u  /* with the option that router_solicit_emit writes */
#define ND_HOP_LIMIT         255u /* a packet with it crossed no router (RFC 4861 section 6.1.1) */

enum icmp6_type {
	ICMP6_UNREACHABLE = 1,
	ICMP6_TOO_BIG = 2,
	ICMP6_TIME_EXCEEDED = 3,
	ICMP6_PARAMETER = 4,
	ICMP6_ECHO = 128,
	ICMP6_ECHO_REPLY = 129,
	ICMP6_ROUTER_SOLICIT = 133,
	ICMP6_ROUTER_ADVERT = 134,
	ICMP6_NEIGH_SOLICIT = 135,
	ICMP6_NEIGH_ADVERT = 136,
	ICMP6_REDIRECT = 137,
};

struct icmp6_header {
	uint8_t type, code;
	struct be16 cksum;
	struct be32 rest; /* depends on the type: the MTU of TOO_BIG, the flags of NEIGH_ADVERT */
};
static_assert(sizeof(struct icmp6_header) == ICMP6_HEADER_BYTES, "RFC 4443 section 2.1");

/* Flags of an advertisement (RFC 4861 section 4.4). */
enum nd_flag {
	ND_ROUTER = 1u << 31,
	ND_SOLICITED = 1u << 30,
	ND_OVERRIDE = 1u << 29,
};

struct nd {
	uint8_t type;   /* ICMP6_NEIGH_SOLICIT or ICMP6_NEIGH_ADVERT */
	bool has_mac;   /* of the source or the target, depending on the type */
	uint8_t mac[6]; /* of the source or the target, depending on the type */
	uint32_t flags; /* enum nd_flag */
	struct ip_addr target;
};

enum nd_parse_result {
	ND_WIRE_OK,
	ND_WIRE_TRUNCATED, /* fewer than 24 bytes */
	ND_WIRE_TARGET,    /* the target is a group */
	ND_WIRE_OPTION,    /* an option of length 0, past the end, or of a wrong size */
	ND_WIRE_MAC,       /* the MAC is a group or zero */
};

/* Parses a solicitation or advertisement, whose code must be 0. */
enum nd_parse_result nd_parse(struct nd *nd, const uint8_t *p, uint32_t len);

struct router_advert {
	uint16_t lifetime_s; /* 0: the sender is no default router */
	int8_t preference;   /* -1, 0 or 1 (RFC 4191 section 2.1) */
};

/* Parses a router advertisement. False: it is truncated, or has an option of length 0 or past the
 * end (RFC 4861 section 6.1.2). */
bool router_advert_parse(struct router_advert *ra, const uint8_t *p, uint32_t len);

/* Writes ROUTER_SOLICIT_BYTES, including the address option; checksum zero. */
void router_solicit_emit(uint8_t *p, const uint8_t mac[6]);

/* Writes ND_EMIT_BYTES, including the address option with nd->mac; checksum zero. */
void nd_emit(uint8_t *p, const struct nd *nd);

#endif

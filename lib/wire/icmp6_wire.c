/*
 * icmp6_wire.c - parses neighbour solicitations and advertisements with their options, and writes
 * them.
 */
#include "icmp6_wire.h"

#include "eth_wire.h"

#define OPTION_SOURCE_MAC 1u
#define OPTION_TARGET_MAC 2u
#define OPTION_UNIT       8u

/* Bits of the flags of an advertisement (RFC 4191 section 2.2). */
#define PREFERENCE_SHIFT 3u
#define PREFERENCE_MASK  3u
#define PREFERENCE_LOW   3u
#define PREFERENCE_HIGH  1u

static uint8_t
mac_option(uint8_t type)
{
	return type == ICMP6_NEIGH_SOLICIT ? OPTION_SOURCE_MAC : OPTION_TARGET_MAC;
}

/* Returns the length of the first of len bytes of options; 0: it is invalid. */
static uint32_t
option_bytes(const uint8_t *p, uint32_t len)
{
	const uint32_t option_len = len < 2 ? 0 : p[1] * OPTION_UNIT;

	return option_len <= len ? option_len : 0;
}

static enum nd_parse_result
parse_nd_options(struct nd *nd, const uint8_t *p, uint32_t len)
{
	const uint8_t wanted = mac_option(nd->type);

	for (uint32_t at = 0; at < len;) {
		const uint32_t option_len = option_bytes(p + at, len - at);

		if (option_len == 0)
			return ND_WIRE_OPTION;
		if (p[at] == wanted) {
			if (option_len != OPTION_UNIT)
				return ND_WIRE_OPTION; /* not Ethernet's (RFC 2464 section 6) */
			nd->has_mac = true;
			memcpy(nd->mac, p + at + 2, ETH_MAC_BYTES);
			if (eth_mac_is_group(nd->mac) || eth_mac_is_zero(nd->mac))
				return ND_WIRE_MAC;
		}
		at += option_len;
	}
	return ND_WIRE_OK;
}

enum nd_parse_result
nd_parse(struct nd *nd, const uint8_t *p, uint32_t len)
{
	const struct icmp6_header *h = (const struct icmp6_header *)p;

	if (len < ND_BYTES)
		return ND_WIRE_TRUNCATED;
	*nd = (struct nd){.type = h->type, .flags = be32_get(h->rest)};
	memcpy(nd->target.b, p + ICMP6_HEADER_BYTES, sizeof nd->target.b);
	if (nd->target.b[0] == 0xff)
		return ND_WIRE_TARGET;
	return parse_nd_options(nd, p + ND_BYTES, len - ND_BYTES);
}

void
nd_emit(uint8_t *p, const struct nd *nd)
{
	struct icmp6_header *h = (struct icmp6_header *)p;

	*h = (struct icmp6_header){.type = nd->type, .rest = be32_of(nd->flags)};
	memcpy(p + ICMP6_HEADER_BYTES, nd->target.b, sizeof nd->target.b);
	p[ND_BYTES] = mac_option(nd->type);
	p[ND_BYTES + 1] = 1;
	memcpy(p + ND_BYTES + 2, nd->mac, sizeof nd->mac);
}

/* A reserved preference counts as medium. A router that is no default router has no preference. */
static int8_t
preference_of(uint8_t flags, uint16_t lifetime_s)
{
	const uint32_t bits = flags >> PREFERENCE_SHIFT & PREFERENCE_MASK;

	if (lifetime_s == 0)
		return 0;
	return bits == PREFERENCE_HIGH ? 1 : bits == PREFERENCE_LOW ? -1 : 0;
}

bool
router_advert_parse(struct router_advert *ra, const uint8_t *p, uint32_t len)
{
	const struct icmp6_header *h = (const struct icmp6_header *)p;
	uint32_t option_len;

	if (len < ROUTER_ADVERT_BYTES)
		return false;
	ra->lifetime_s = (uint16_t)be32_get(h->rest);
	ra->preference = preference_of(p[ICMP6_HEADER_BYTES - 3], ra->lifetime_s);
	for (uint32_t at = ROUTER_ADVERT_BYTES; at < len; at += option_len) {
		option_len = option_bytes(p + at, len - at);
		if (option_len == 0)
			return false;
	}
	return true;
}

void
router_solicit_emit(uint8_t *p, const uint8_t mac[6])
{
	*(struct icmp6_header *)p = (struct icmp6_header){.type = ICMP6_ROUTER_SOLICIT};
	p[ICMP6_HEADER_BYTES] = OPTION_SOURCE_MAC;
	p[ICMP6_HEADER_BYTES + 1] = 1;
	memcpy(p + ICMP6_HEADER_BYTES + 2, mac, ETH_MAC_BYTES);
}

/*
 * ip_text.c - addresses and networks as text.
 */
#include "ip_text.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>

/* Parses an address of one family at the beginning of *p, up to one of the characters in `ends` or
 * the end of the text, as inet_pton does. */
bool
ip_text_family(const char **p, int family, const char *ends, void *to)
{
	const size_t len = strcspn(*p, ends);
	char text[INET6_ADDRSTRLEN];

	if (len >= sizeof text)
		return false;
	memcpy(text, *p, len);
	text[len] = '\0';
	if (inet_pton(family, text, to) != 1)
		return false;
	*p += len;
	return true;
}

bool
ip_text_ipv4(const char **p, uint32_t *ip)
{
	struct be32 wire;

	if (!ip_text_family(p, AF_INET, "/,:", &wire))
		return false;
	*ip = be32_get(wire);
	return true;
}

/* Parses an IPv6 address. An IPv4-mapped one is refused, since no packet has one. */
bool
ip_text_ipv6(const char **p, struct ip_addr *ip)
{
	return ip_text_family(p, AF_INET6, "/,", ip->b) && !ip_addr_is_v4(ip);
}

/* Parses an address of either family at the beginning of *p. */
static bool
parse_ip(const char **p, struct ip_addr *ip)
{
	const char *at = *p;
	uint32_t v4;

	if (ip_text_ipv4(&at, &v4)) {
		*ip = ip_addr_v4(v4);
		*p = at;
		return true;
	}
	return ip_text_ipv6(p, ip);
}

/* Parses one network of a list; a bare address is a network of one address. */
const char *
option_parse_net(const char *p, struct config_net *net)
{
	uint32_t digits = 0, below, len;

	if (!parse_ip(&p, &net->ip))
		return NULL;
	below = ip_addr_is_v4(&net->ip) ? IP_ADDR_V4_BITS : 0;
	net->prefix_len = IP_ADDR_BITS;
	if (*p != '/')
		return p;
	for (p++, len = 0; isdigit((unsigned char)*p) && digits < 3; p++, digits++)
		len = len * 10 + (uint32_t)(*p - '0');
	net->prefix_len = below + len;
	return digits == 0 || net->prefix_len > IP_ADDR_BITS ? NULL : p;
}

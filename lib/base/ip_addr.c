/*
 * ip_addr.c - prefixes and the text of addresses.
 */
#include "ip_addr.h"
#include "check.h"

#include <arpa/inet.h>

bool
ip_addr_is_host(const struct ip_addr *a)
{
	static const struct ip_addr loopback = {{[15] = 1}};
	const uint32_t first = ip_addr_v4_get(a) >> 24;

	if (ip_addr_is_v4(a))
		return first != 0 && first != 127 && first < 224;
	return a->b[0] != 0xff && !ip_addr_is_zero(a) && !ip_addr_equal(a, &loopback);
}

bool
ip_addr_is_network_or_broadcast(const struct ip_addr *a, uint32_t prefix_len)
{
	const uint32_t bits = IP_ADDR_BITS - prefix_len;
	const uint32_t hosts = bits >= 32 ? UINT32_MAX : (1u << bits) - 1;
	const uint32_t host = ip_addr_v4_get(a) & hosts;

	return ip_addr_is_v4(a) && bits > 1 && (host == 0 || host == hosts);
}

bool
ip_addr_same_prefix(const struct ip_addr *a, const struct ip_addr *b, uint32_t bits)
{
	const uint32_t bytes = bits / 8, rest = bits % 8;

	if (memcmp(a->b, b->b, bytes) != 0)
		return false;
	return rest == 0 || ((a->b[bytes] ^ b->b[bytes]) >> (8 - rest)) == 0;
}

char *
ip_addr_text(char *at, const struct ip_addr *a)
{
	const bool v4 = ip_addr_is_v4(a);
	char text[INET6_ADDRSTRLEN];
	size_t len;

	ensure(inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? a->b + 12 : a->b, text, sizeof text) !=
	       NULL);
	len = strlen(text);
	memcpy(at, text, len);
	return at + len;
}

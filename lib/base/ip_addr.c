/*
 * ip_addr.c - prefixes and the text of addresses.
 */
#include "ip_addr.h"
#include "check.h"

#include <arpa/inet.h>

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

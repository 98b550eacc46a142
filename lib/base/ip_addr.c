/*
 * ip_addr.c - the comparison of prefixes, and addresses as text: IPv4 with dots, IPv6 in the form
 * that RFC 5952 recommends.
 */
#include "ip_addr.h"

#define GROUPS 8u

bool
ip_addr_same_prefix(const struct ip_addr *a, const struct ip_addr *b, uint32_t bits)
{
	const uint32_t bytes = bits / 8, rest = bits % 8;

	if (memcmp(a->b, b->b, bytes) != 0)
		return false;
	return rest == 0 || ((a->b[bytes] ^ b->b[bytes]) >> (8 - rest)) == 0;
}

static char *
put_decimal(char *at, uint32_t byte)
{
	if (byte >= 100)
		*at++ = (char)('0' + byte / 100);
	if (byte >= 10)
		*at++ = (char)('0' + byte / 10 % 10);
	*at++ = (char)('0' + byte % 10);
	return at;
}

static char *
put_group(char *at, uint32_t group)
{
	bool begun = false;

	for (uint32_t shift = 16; shift > 0; shift -= 4) {
		const uint32_t digit = group >> (shift - 4) & 0xf;

		begun = begun || digit != 0 || shift == 4; /* 4.1: no leading zeros */
		if (begun)
			*at++ = "0123456789abcdef"[digit];
	}
	return at;
}

static uint32_t
group_at(const struct ip_addr *a, uint32_t i)
{
	return (uint32_t)(a->b[2 * i] << 8 | a->b[2 * i + 1]);
}

/* RFC 5952 section 4.2: the longest run of at least two zero groups, the first of equals. Returns
 * its length; 0: there is none. */
static uint32_t
longest_zeros(const struct ip_addr *a, uint32_t *first)
{
	uint32_t longest = 0, run = 0;

	for (uint32_t i = 0; i < GROUPS; i++) {
		run = group_at(a, i) == 0 ? run + 1 : 0;
		if (run > longest) {
			longest = run;
			*first = i + 1 - run;
		}
	}
	return longest >= 2 ? longest : 0;
}

static char *
put_v6(char *at, const struct ip_addr *a)
{
	uint32_t first = 0;
	const uint32_t zeros = longest_zeros(a, &first);

	for (uint32_t i = 0; i < GROUPS; i++) {
		if (zeros != 0 && i == first) {
			*at++ = ':';
			*at++ = ':';
			i += zeros - 1;
			continue;
		}
		if (i != 0 && at[-1] != ':')
			*at++ = ':';
		at = put_group(at, group_at(a, i));
	}
	return at;
}

char *
ip_addr_text(char *at, const struct ip_addr *a)
{
	if (!ip_addr_is_v4(a))
		return put_v6(at, a);
	for (uint32_t i = 12; i < IP_ADDR_BYTES; i++) {
		if (i != 12)
			*at++ = '.';
		at = put_decimal(at, a->b[i]);
	}
	return at;
}

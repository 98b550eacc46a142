/*
 * Addresses of both families in one type. Goal: the text is RFC 5952's, an IPv4 address is
 * distinguished from any other, and a prefix counts bits. Method: tables.
 */
#include "support/test.h"
#include "base/ip_addr.h"

struct text_row {
	const char *bytes;
	const char *text;
};

static const struct text_row text_rows[] = {
	{"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "::"},
	{"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", "::1"},
	{"\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "1::"},
	{"\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1", "2001:db8::1"},
	/* RFC 5952 4.2.2: one group of zeros is not shortened */
	{"\x20\x01\x0d\xb8\0\0\0\1\0\1\0\1\0\1\0\1", "2001:db8:0:1:1:1:1:1"},
	/* RFC 5952 4.2.3: the longest run is shortened; of equal runs, the first */
	{"\x20\x01\0\0\0\0\0\1\0\0\0\0\0\0\0\1", "2001:0:0:1::1"},
	{"\x20\x01\x0d\xb8\0\0\0\0\0\1\0\0\0\0\0\1", "2001:db8::1:0:0:1"},
	{"\xfe\x80\0\0\0\0\0\0\xab\xcd\xef\xff\xfe\1\2\3", "fe80::abcd:efff:fe01:203"},
	{"\1\2\1\2\1\2\1\2\1\2\1\2\1\2\1\2", "102:102:102:102:102:102:102:102"},
	{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
	 "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
	{"\0\0\0\0\0\0\0\0\0\0\xff\xff\1\2\3\4", "1.2.3.4"},
	{"\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\x0a\0\x64", "255.10.0.100"},
	{"\0\0\0\0\0\0\0\0\0\0\xff\xfe\1\2\3\4", "::fffe:102:304"},
	{"\0\0\0\0\0\0\0\1\0\0\xff\xff\1\2\3\4", "::1:0:ffff:102:304"},
};

TEST(an_address_has_the_text_of_its_row)
{
	for (uint32_t i = 0; i < sizeof text_rows / sizeof text_rows[0]; i++) {
		char text[IP_ADDR_TEXT_MAX + 2];
		struct ip_addr a;

		memset(text, '#', sizeof text);
		memcpy(a.b, text_rows[i].bytes, sizeof a.b);
		*ip_addr_text(text, &a) = '\0';
		check_str(text, text_rows[i].text);
		check_eq(text[sizeof text - 1], '#');
	}
}

TEST(an_ipv4_address_comes_back_out)
{
	const struct ip_addr a = ip_addr_v4(0x0a630001);
	struct ip_addr b = a;

	check(ip_addr_is_v4(&a));
	check_eq(ip_addr_v4_get(&a), 0x0a630001);
	check_bytes(a.b, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\x63\0\1", IP_ADDR_BYTES);
	check(ip_addr_equal(&a, &b));
	for (uint32_t i = 0; i < IP_ADDR_BYTES; i++) {
		b = a;
		b.b[i] ^= 0x10;
		check(!ip_addr_equal(&a, &b));
		check_eq(ip_addr_is_v4(&b), i >= 12);
		check(!ip_addr_is_zero(&b));
	}
	memset(b.b, 0, sizeof b.b);
	check(ip_addr_is_zero(&b));
}

TEST(a_prefix_ends_at_its_bit)
{
	struct ip_addr a, b;

	memset(a.b, 0x5a, sizeof a.b);
	for (uint32_t bit = 0; bit < IP_ADDR_BITS; bit++) {
		b = a;
		b.b[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
		check(ip_addr_same_prefix(&a, &b, bit));
		check(!ip_addr_same_prefix(&a, &b, bit + 1));
	}
	check(ip_addr_same_prefix(&a, &a, IP_ADDR_BITS));
}

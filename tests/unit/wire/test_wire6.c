/*
 * The headers of IPv6. Goal: every verdict has bytes that cause it; no parser reads past its
 * bytes, however they are arranged; an emitted header parses to the same fields. Method: tables
 * of changed headers; every packet cut at every byte, the last one at a page's end.
 */
#include "support/guard.h"
#include "support/test.h"
#include "wire/eth_wire.h"
#include "wire/icmp6_wire.h"
#include "wire/inet_cksum.h"
#include "wire/ipv6_wire.h"

#include <stdlib.h>

#define ROWS(t) (sizeof(t) / sizeof(t)[0])

/* Hop-by-hop with a pad and an option to skip, routing with no segment left, destination options,
 * an atomic fragment; then 8 bytes of UDP: 40 + 8 * 5 bytes in all. */
static const uint8_t packet[80] = {
	0x60,          0,    0,        0,    0, 40,  0,    64,       0x20, 1,
	0xd,           0xb8, [23] = 2, 0x20, 1, 0xd, 0xb8, [39] = 1,
	/* 40 */ 43,   0,    0x3e,     1,    9, 0,   0,    0,
	/* 48 */ 60,   0,    4,        0,    0, 0,   0,    0,
	/* 56 */ 44,   0,    1,        4,    0, 0,   0,    0,
	/* 64 */ 17,   0,    0,        0,    1, 2,   3,    4,
	/* 72 */ 0x9c, 0x40, 0x2b,     0xcb, 0, 8,   0,    0,
};

struct change {
	const char *what;
	uint32_t at;
	uint8_t value[2];
	uint32_t value_len, len;
	enum ipv6_parse_result verdict;
};

static const struct change changes[] = {
	{"as it is", 0, {0}, 0, 80, IPV6_WIRE_OK},
	{"with padding behind", 4, {0, 40}, 2, 80, IPV6_WIRE_OK},
	{"version 4", 0, {0x45}, 1, 80, IPV6_WIRE_VERSION},
	{"one byte missing", 4, {0, 41}, 2, 80, IPV6_WIRE_TRUNCATED},
	{"length 65535", 4, {0xff, 0xff}, 2, 80, IPV6_WIRE_TRUNCATED},
	{"hop-by-hop again", 48, {0}, 1, 80, IPV6_WIRE_EXT_HEADERS},
	{"a header longer than the rest", 41, {5}, 1, 80, IPV6_WIRE_EXT_HEADERS},
	{"a header cut", 4, {0, 28}, 2, 80, IPV6_WIRE_EXT_HEADERS},
	{"an option cut", 43, {5}, 1, 80, IPV6_WIRE_EXT_HEADERS},
	{"an option without length", 46, {0x3e, 0}, 2, 80, IPV6_WIRE_OK},
	{"an option of one byte at the end", 47, {0x3e}, 1, 80, IPV6_WIRE_EXT_HEADERS},
	{"an option to discard for", 42, {0x7e}, 1, 80, IPV6_WIRE_OPTION},
	{"an option to discard for and tell", 42, {0xbe}, 1, 80, IPV6_WIRE_OPTION},
	{"segments left", 51, {1}, 1, 80, IPV6_WIRE_ROUTING},
	{"more fragments", 67, {1}, 1, 80, IPV6_WIRE_FRAGMENT},
	{"a later fragment", 67, {8}, 1, 80, IPV6_WIRE_FRAGMENT},
	{"reserved bits of a fragment", 67, {6}, 1, 80, IPV6_WIRE_OK},
	{"no next header", 64, {59}, 1, 80, IPV6_WIRE_OK},
	{"another header behind the fragment", 64, {60}, 1, 80, IPV6_WIRE_EXT_HEADERS},
};

TEST(an_ipv6_packet_has_the_verdict_of_its_row)
{
	for (size_t i = 0; i < ROWS(changes); i++) {
		uint8_t bytes[sizeof packet];
		struct ipv6_packet ip;
		enum ipv6_parse_result got;

		memcpy(bytes, packet, sizeof bytes);
		memcpy(bytes + changes[i].at, changes[i].value, changes[i].value_len);
		got = ipv6_parse(&ip, at_page_end(bytes, changes[i].len), changes[i].len);
		if (got != changes[i].verdict)
			print_error("%s\n", changes[i].what);
		check_eq(got, changes[i].verdict);
		if (got != IPV6_WIRE_OK || changes[i].at == 64)
			continue;
		check_eq(ip.next, IPV6_UDP);
		check_eq(ip.l4_at, 72);
		check_eq(ip.l4_len, 8);
	}
}

TEST(a_cut_ipv6_packet_is_cut)
{
	for (uint32_t len = 0; len < sizeof packet; len++) {
		struct ipv6_packet ip;

		check_eq(ipv6_parse(&ip, at_page_end(packet, len), len), IPV6_WIRE_TRUNCATED);
	}
}

/* The packet ends at every byte while the lengths in it are random. */
TEST(a_chain_that_ends_early_is_never_read_past_its_end)
{
	for (uint32_t end = 0; end < 40; end++) {
		for (uint32_t salt = 0; salt < 2000; salt++) {
			uint8_t bytes[sizeof packet];
			struct ipv6_packet ip;

			srand(salt);
			memcpy(bytes, packet, sizeof bytes);
			bytes[5] = (uint8_t)end;
			for (uint32_t n = 0; n < salt % 5; n++)
				bytes[40 + rand() % 40] = (uint8_t)rand();
			ipv6_parse(&ip, at_page_end(bytes, 40 + end), 40 + end);
		}
	}
}

TEST(a_chain_longer_than_its_bounds_is_refused)
{
	static uint8_t bytes[40 + 2048];
	struct ipv6_packet ip;

	memcpy(bytes, packet, 40);
	bytes[6] = IPV6_DESTINATION;
	for (uint32_t n = 0; n <= IPV6_EXT_MAX + 1; n++) {
		bytes[5] = (uint8_t)(n * 8 + 8);
		for (uint32_t i = 0; i < n; i++)
			memcpy(bytes + 40 + i * 8,
			       i + 1 < n ? (const uint8_t[]){60, 0, 1, 4, 0, 0, 0, 0}
					 : (const uint8_t[]){17, 0, 1, 4, 0, 0, 0, 0},
			       8);
		if (n == 0)
			continue;
		check_eq(ipv6_parse(&ip, bytes, sizeof bytes),
			 n <= IPV6_EXT_MAX ? IPV6_WIRE_OK : IPV6_WIRE_EXT_HEADERS);
	}
	/* A header may have at most the bytes of all: 31 * 8 + 8 are
	 * 256, the next is too long. */
	for (uint32_t units = 31; units <= 32; units++) {
		memset(bytes + 40, 0, sizeof bytes - 40);
		bytes[4] = 4;
		bytes[40] = 17;
		bytes[41] = (uint8_t)units;
		check_eq(ipv6_parse(&ip, bytes, sizeof bytes),
			 units == 31 ? IPV6_WIRE_OK : IPV6_WIRE_EXT_HEADERS);
	}
}

TEST(an_emitted_ipv6_header_parses_to_the_same)
{
	struct ip_addr src, dst;
	struct ipv6_packet ip;
	uint8_t p[48];

	memcpy(src.b, packet + 8, 16);
	memcpy(dst.b, packet + 24, 16);
	memset(p, 0xff, sizeof p);
	ipv6_emit(p, &src, &dst, IPV6_UDP, 8);
	check_eq(ipv6_parse(&ip, p, sizeof p), IPV6_WIRE_OK);
	check_eq(ip.next, IPV6_UDP);
	check_eq(ip.hop_limit, IPV6_HOP_LIMIT);
	check_eq(ip.l4_at, 40);
	check_eq(ip.l4_len, 8);
	check_bytes(p + 8, packet + 8, 32);
	check_bytes(p, "\x60\0\0\0", 4);
}

/* The sum by hand: the two addresses, the next header and the length, in 16-bit words. */
TEST(the_pseudo_header_is_summed)
{
	const uint32_t want = 2u * (0x2001 + 0x0db8) + 2 + 1 + 17 + 8;

	check_eq(inet_fold(inet_sum_pseudo6(packet + 8, packet + 24, 17, 8)),
		 __builtin_bswap16((uint16_t)(want + (want >> 16))));
}

TEST(addresses_are_made_from_a_mac_and_groups_from_addresses)
{
	const uint8_t mac[6] = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55};
	const struct ip_addr link = ipv6_link_local(mac), group = ipv6_solicited_node(&link);
	uint8_t group_mac[6];

	check_bytes(link.b, "\xfe\x80\0\0\0\0\0\0\0\x11\x22\xff\xfe\x33\x44\x55", 16);
	check_bytes(group.b, "\xff\2\0\0\0\0\0\0\0\0\0\1\xff\x33\x44\x55", 16);
	ipv6_group_mac(&group, group_mac);
	check_bytes(group_mac, "\x33\x33\xff\x33\x44\x55", 6);
	check(ip_addr_is_link_local(&link) && !ipv6_is_group(&link));
	check(ipv6_is_group(&group) && !ip_addr_is_link_local(&group));
}

/* ---- neighbour discovery ---- */

/* A solicitation: an option to skip, then the source's MAC. */
static const uint8_t question[40] = {
	135, [8] = 0xfe, 0x80, [23] = 1, 14, 1, [32] = 1, 1, 2, 0, 0, 0, 0, 2,
};

TEST(a_neighbour_message_has_the_verdict_of_its_row)
{
	static const struct {
		const char *what;
		uint32_t at;
		uint8_t value;
		uint32_t len;
		enum nd_parse_result verdict;
	} rows[] = {
		{"as it is", 0, 135, 40, ND_WIRE_OK},
		{"no options", 0, 135, 24, ND_WIRE_OK},
		{"for a group", 8, 0xff, 40, ND_WIRE_TARGET},
		{"half an option", 0, 135, 25, ND_WIRE_OPTION},
		{"an option of no length", 25, 0, 40, ND_WIRE_OPTION},
		{"an option past the end", 33, 2, 40, ND_WIRE_OPTION},
		{"a MAC of another size", 32, 1, 48, ND_WIRE_OPTION},
		{"a group MAC", 34, 3, 40, ND_WIRE_MAC},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		uint8_t bytes[48] = {0};
		enum nd_parse_result got;
		struct nd nd;

		memcpy(bytes, question, sizeof question);
		bytes[rows[i].at] = rows[i].value;
		if (rows[i].len == 48)
			bytes[33] = 2;
		got = nd_parse(&nd, at_page_end(bytes, rows[i].len), rows[i].len);
		if (got != rows[i].verdict)
			print_error("%s\n", rows[i].what);
		check_eq(got, rows[i].verdict);
		if (got != ND_WIRE_OK)
			continue;
		check_eq(nd.has_mac, rows[i].len == 40);
		check_bytes(nd.target.b, question + 8, 16);
		if (nd.has_mac)
			check_bytes(nd.mac, question + 34, 6);
	}
	for (uint32_t len = 0; len < ND_BYTES; len++) {
		struct nd nd;

		check_eq(nd_parse(&nd, at_page_end(question, len), len), ND_WIRE_TRUNCATED);
	}
}

TEST(an_emitted_neighbour_message_parses_to_the_same)
{
	for (uint8_t type = ICMP6_NEIGH_SOLICIT; type <= ICMP6_NEIGH_ADVERT; type++) {
		struct nd nd = {.type = type, .flags = ND_OVERRIDE, .mac = {2, 0, 0, 0, 0, 9}}, got;
		uint8_t p[ND_EMIT_BYTES];

		memcpy(nd.target.b, question + 8, 16);
		memset(p, 0xff, sizeof p);
		nd_emit(p, &nd);
		check_eq(nd_parse(&got, p, sizeof p), ND_WIRE_OK);
		check_eq(got.type, type);
		check_eq(got.flags, ND_OVERRIDE);
		check(got.has_mac);
		check_bytes(got.mac, nd.mac, 6);
		check_bytes(got.target.b, nd.target.b, 16);
		check_bytes(p + 2, "\0\0", 2);
	}
}

TEST(a_tag_comes_out_as_it_went_in)
{
	uint8_t frame[4 + 20] = {0}, *p = frame + 4;

	memcpy(p, "\1\2\3\4\5\6\7\x8\x9\xa\xb\xc\x86\xdd\x60\0\0\0\0\0", 20);
	p = eth_vlan_insert(p, 0xa007);
	check(p == frame);
	check_bytes(p, "\1\2\3\4\5\6\7\x8\x9\xa\xb\xc\x81\0\xa0\7\x86\xdd\x60\0\0\0\0\0", 24);
	check_eq(eth_vlan_tci(p), 0xa007);
	p = eth_vlan_strip(p);
	check(p == frame + 4);
	check_bytes(p, "\1\2\3\4\5\6\7\x8\x9\xa\xb\xc\x86\xdd\x60\0\0\0\0\0", 20);
}

TEST(a_router_advertisement_names_lifetime_and_preference)
{
	const struct {
		uint8_t flags, options[3]; /* of its first option: type, length, and bytes there */
		uint16_t lifetime_s;
		uint32_t len;
		bool ok;
		int8_t preference;
	} rows[] = {
		{0x00, {0}, 1800, 16, true, 0},      {0x08, {0}, 1800, 16, true, 1},
		{0x18, {0}, 1800, 16, true, -1},     {0x10, {0}, 1800, 16, true, 0},
		{0x08, {0}, 0, 16, true, 0},         {0x00, {0}, 1800, 15, false, 0},
		{0x00, {5, 1}, 1800, 24, true, 0},   {0x00, {5, 0}, 1800, 24, false, 0},
		{0x00, {5, 2}, 1800, 24, false, 0},  {0x00, {5, 1}, 1800, 17, false, 0},
		{0x00, {200, 2}, 1800, 32, true, 0},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint8_t p[32] = {134, [5] = rows[i].flags, [6] = (uint8_t)(rows[i].lifetime_s >> 8),
				 [7] = (uint8_t)rows[i].lifetime_s};
		struct router_advert ra = {0};

		memcpy(p + 16, rows[i].options, sizeof rows[i].options);
		check_eq(router_advert_parse(&ra, at_page_end(p, rows[i].len), rows[i].len),
			 rows[i].ok);
		if (!rows[i].ok)
			continue;
		check_eq(ra.lifetime_s, rows[i].lifetime_s);
		check_eq(ra.preference, rows[i].preference);
	}
}

/*
 * Ethernet, ARP, IPv4, ICMP and UDP headers. Goal: each header gets the verdict of its row,
 * fields arrive as sent, nothing past the end is read. Method: one good header a protocol and a
 * table of changes to it; every prefix of it at the end of a page; emit, then parse.
 */
#include "support/guard.h"
#include "support/test.h"
#include "wire/arp_wire.h"
#include "wire/icmp_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/udp_wire.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

/* A good header with one or two bytes changed. */
struct change {
	const char *what;
	uint32_t at;
	uint8_t value[2];
	uint32_t value_len;
	uint32_t len; /* bytes given to the parser */
	int verdict;
};

static uint8_t *
changed(const uint8_t *good, const struct change *row)
{
	uint8_t *p = at_page_end(good, row->len);

	for (uint32_t i = 0; i < row->value_len && row->at + i < row->len; i++)
		p[row->at + i] = row->value[i];
	return p;
}

static void
check_verdict(int verdict, const struct change *row)
{
	if (verdict != row->verdict)
		print_error("%s\n", row->what);
	check_eq(verdict, row->verdict);
}

/* ---- Ethernet ---- */

TEST(a_mac_is_what_its_bits_say)
{
	static const struct {
		uint8_t mac[6];
		bool group, broadcast, zero;
	} rows[] = {
		{{0x02, 0, 0, 0, 0, 1}, false, false, false},
		{{0, 0, 0, 0, 0, 0}, false, false, true},
		{{0, 0, 0, 0, 0, 1}, false, false, false},
		{{0, 0, 0, 1, 0, 0}, false, false, false},
		{{1, 0, 0, 0, 0, 0}, true, false, false},
		{{0x33, 0x33, 0, 0, 0, 1}, true, false, false},
		{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, true, true, false},
		{{0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}, true, false, false},
		{{0xff, 0xff, 0xff, 0xfe, 0xff, 0xff}, true, false, false},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		check_eq(eth_mac_is_group(rows[i].mac), rows[i].group);
		check_eq(eth_mac_is_broadcast(rows[i].mac), rows[i].broadcast);
		check_eq(eth_mac_is_zero(rows[i].mac), rows[i].zero);
		for (size_t k = 0; k < ROWS(rows); k++)
			check_eq(eth_mac_equal(rows[i].mac, rows[k].mac), i == k);
	}
}

TEST(an_ethernet_header_stands_in_wire_order)
{
	const uint8_t wire[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x08, 0x06};
	uint8_t p[ETH_HEADER_BYTES];

	eth_emit(p, wire, wire + 6, ETH_TYPE_ARP);
	check_bytes(p, wire, sizeof wire);
}

/* ---- ARP ---- */

/* RFC 826: who has 10.99.0.1, tell 10.99.0.2. */
static const uint8_t arp_request[ARP_PACKET_BYTES] = {
	0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 2, 10, 99, 0, 2, 0, 0, 0, 0, 0, 0, 10, 99, 0, 1,
};

TEST(an_arp_packet_has_the_verdict_of_its_row)
{
	static const struct change rows[] = {
		{"as it is", 0, {0}, 0, 28, ARP_WIRE_OK},
		{"a reply", 7, {2}, 1, 28, ARP_WIRE_OK},
		{"not Ethernet", 1, {6}, 1, 28, ARP_WIRE_FORMAT},
		{"not IPv4", 2, {0x86, 0xdd}, 2, 28, ARP_WIRE_FORMAT},
		{"a MAC of 8 bytes", 4, {8}, 1, 28, ARP_WIRE_FORMAT},
		{"an address of 16 bytes", 5, {16}, 1, 28, ARP_WIRE_FORMAT},
		{"op 0", 7, {0}, 1, 28, ARP_WIRE_FORMAT},
		{"RARP", 7, {3}, 1, 28, ARP_WIRE_FORMAT},
		{"op 257", 6, {1, 1}, 2, 28, ARP_WIRE_FORMAT},
		{"a group sends", 8, {3}, 1, 28, ARP_WIRE_SENDER},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct arp arp;

		check_verdict(arp_parse(&arp, changed(arp_request, &rows[i]), rows[i].len),
			      &rows[i]);
	}
}

TEST(an_arp_packet_from_mac_zero_is_refused)
{
	uint8_t p[ARP_PACKET_BYTES];
	struct arp arp;

	memcpy(p, arp_request, sizeof p);
	memset(p + 8, 0, 6);
	check_eq(arp_parse(&arp, p, sizeof p), ARP_WIRE_SENDER);
}

TEST(a_cut_arp_packet_is_cut)
{
	for (uint32_t len = 0; len < ARP_PACKET_BYTES; len++) {
		struct arp arp;

		check_eq(arp_parse(&arp, at_page_end(arp_request, len), len), ARP_WIRE_TRUNCATED);
	}
}

TEST(an_arp_packet_arrives_and_leaves_as_it_is)
{
	uint8_t p[ARP_PACKET_BYTES];
	struct arp arp;

	check_eq(arp_parse(&arp, arp_request, sizeof arp_request), ARP_WIRE_OK);
	check_eq(arp.op, ARP_REQUEST);
	check_eq(arp.sender_ip, 0x0a630002);
	check_eq(arp.target_ip, 0x0a630001);
	check_bytes(arp.sender_mac, arp_request + 8, 6);
	arp_emit(p, &arp);
	check_bytes(p, arp_request, sizeof p);
}

/* ---- IPv4 ---- */

/* From 10.99.0.2 to 10.99.0.1, UDP, 8 bytes behind the header; checksum computed by hand. */
static const uint8_t ip_packet[28] = {
	0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 17, 0x26, 0x09, 10, 99, 0, 2, 10, 99, 0, 1,
};

TEST(an_ipv4_header_has_the_verdict_of_its_row)
{
	static const struct change rows[] = {
		{"as it is", 0, {0}, 0, 28, IPV4_WIRE_OK},
		{"two bytes of options", 0, {0x46}, 1, 28, IPV4_WIRE_OK},
		{"nothing behind the header", 2, {0, 20}, 2, 28, IPV4_WIRE_OK},
		{"header fills the packet", 0, {0x47}, 1, 28, IPV4_WIRE_OK},
		{"version 6", 0, {0x65}, 1, 28, IPV4_WIRE_VERSION},
		{"version 0", 0, {0x05}, 1, 28, IPV4_WIRE_VERSION},
		{"4 words of header", 0, {0x44}, 1, 28, IPV4_WIRE_IHL},
		{"no header", 0, {0x40}, 1, 28, IPV4_WIRE_IHL},
		{"header longer than the packet", 0, {0x48}, 1, 28, IPV4_WIRE_IHL},
		{"packet shorter than its header", 2, {0, 19}, 2, 28, IPV4_WIRE_IHL},
		{"length zero", 2, {0, 0}, 2, 28, IPV4_WIRE_IHL},
		{"one byte missing", 2, {0, 29}, 2, 28, IPV4_WIRE_TRUNCATED},
		{"length 65535", 2, {0xff, 0xff}, 2, 28, IPV4_WIRE_TRUNCATED},
		{"the first fragment", 6, {0x20, 0}, 2, 28, IPV4_WIRE_FRAGMENT},
		{"a later fragment", 6, {0, 1}, 2, 28, IPV4_WIRE_FRAGMENT},
		{"the last offset", 6, {0x1f, 0xff}, 2, 28, IPV4_WIRE_FRAGMENT},
		{"neither flag", 6, {0, 0}, 2, 28, IPV4_WIRE_OK},
		{"the evil bit", 6, {0x80, 0}, 2, 28, IPV4_WIRE_OK},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct ipv4_packet ip;

		check_verdict(ipv4_parse(&ip, changed(ip_packet, &rows[i]), rows[i].len), &rows[i]);
	}
}

TEST(a_cut_ipv4_packet_is_cut)
{
	for (uint32_t len = 0; len < sizeof ip_packet; len++) {
		struct ipv4_packet ip;

		check_eq(ipv4_parse(&ip, at_page_end(ip_packet, len), len), IPV4_WIRE_TRUNCATED);
	}
}

TEST(ethernet_padding_is_not_part_of_the_packet)
{
	uint8_t padded[46] = {0};
	struct ipv4_packet ip;

	memcpy(padded, ip_packet, sizeof ip_packet);
	check_eq(ipv4_parse(&ip, padded, sizeof padded), IPV4_WIRE_OK);
	check_eq(ip.total_len, 28);
	check_eq(ip.header_len, 20);
	check_eq(ip.src, 0x0a630002);
	check_eq(ip.dst, 0x0a630001);
	check_eq(ip.protocol, IPV4_UDP);
}

TEST(a_header_checksum_holds_until_a_bit_changes)
{
	uint8_t p[60];

	memset(p, 1, sizeof p);
	memcpy(p, ip_packet, 20);
	check(ipv4_cksum_good(p, 20));
	check(inet_sum_good(ipv4_header_sum(p)));
	for (uint32_t bit = 0; bit < 160; bit++) {
		p[bit / 8] ^= (uint8_t)(1u << bit % 8);
		check(!ipv4_cksum_good(p, 20));
		check(!inet_sum_good(ipv4_header_sum(p)));
		p[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	check(!ipv4_cksum_good(p, 60)); /* 40 bytes of NOP change the sum */
}

TEST(an_emitted_ipv4_header_is_whole_and_plain)
{
	uint8_t p[IPV4_HEADER_BYTES];
	struct be16 cksum;

	memset(p, 0xa5, sizeof p);
	ipv4_emit(p, 0x0a630002, 0x0a630001, IPV4_UDP, 28);
	cksum = inet_cksum(ipv4_header_sum(p));
	memcpy(p + 10, &cksum, 2);
	check_bytes(p, ip_packet, sizeof p);
}

/* ---- UDP ---- */

static const uint8_t udp_packet[12] = {0x9c, 0x40, 0x2b, 0xcb, 0, 12, 0xab, 0xcd, 1, 2, 3, 4};

TEST(a_udp_header_has_the_verdict_of_its_row)
{
	static const struct change rows[] = {
		{"as it is", 0, {0}, 0, 12, UDP_WIRE_OK},
		{"no payload", 4, {0, 8}, 2, 12, UDP_WIRE_OK},
		{"nothing but a header", 4, {0, 8}, 2, 8, UDP_WIRE_OK},
		{"shorter than its packet", 4, {0, 11}, 2, 12, UDP_WIRE_OK},
		{"length 7", 4, {0, 7}, 2, 12, UDP_WIRE_LEN},
		{"length 0", 4, {0, 0}, 2, 12, UDP_WIRE_LEN},
		{"one byte missing", 4, {0, 13}, 2, 12, UDP_WIRE_LEN},
		{"length 65535", 4, {0xff, 0xff}, 2, 12, UDP_WIRE_LEN},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct udp udp;

		check_verdict(udp_parse(&udp, changed(udp_packet, &rows[i]), rows[i].len),
			      &rows[i]);
	}
}

TEST(a_cut_udp_header_is_cut)
{
	for (uint32_t len = 0; len < UDP_HEADER_BYTES; len++) {
		struct udp udp;

		check_eq(udp_parse(&udp, at_page_end(udp_packet, len), len), UDP_WIRE_TRUNCATED);
	}
}

TEST(a_udp_header_arrives_and_leaves_as_it_is)
{
	uint8_t p[UDP_HEADER_BYTES];
	struct udp udp;

	check_eq(udp_parse(&udp, udp_packet, sizeof udp_packet), UDP_WIRE_OK);
	check_eq(udp.src_port, 40000);
	check_eq(udp.dst_port, 11211);
	check_eq(udp.len, 12);
	check(udp.has_cksum);
	memset(p, 0xa5, sizeof p);
	udp_emit(p, udp.src_port, udp.dst_port, udp.len);
	check_bytes(p, udp_packet, 6);
	check_eq(p[6] | p[7], 0);
	check_eq(udp_parse(&udp, p, 12), UDP_WIRE_OK);
	check(!udp.has_cksum);
}

TEST(a_udp_checksum_of_zero_is_sent_as_ones)
{
	/* The sum 0xffff is the one whose checksum would be zero, which means "none". */
	check_eq(be16_get(udp_cksum(0xffff)), 0xffff);
	check_eq(be16_get(udp_cksum(0)), 0xffff);
	check_eq(be16_get(udp_cksum(inet_sum_be16(0, 0x1234))), (uint16_t)~0x1234);
}

/* ---- ICMP ---- */

TEST(an_echo_becomes_a_reply_with_a_good_checksum)
{
	for (uint32_t id = 0; id <= 0xffff; id++) {
		uint8_t p[10] = {ICMP_ECHO, 0, 0, 0, (uint8_t)(id >> 8), (uint8_t)id, 0, 7, 'h'};
		struct be16 cksum = inet_cksum(inet_sum(0, p, sizeof p));

		memcpy(p + 2, &cksum, 2);
		icmp_echo_to_reply(p);
		check_eq(p[0], ICMP_ECHO_REPLY);
		check(inet_sum_good(inet_sum(0, p, sizeof p)));
	}
}

/* Found by fuzzing: the update alone gives zero, which does not verify. */
TEST(an_echo_of_nothing_but_zeros_becomes_a_good_reply)
{
	uint8_t p[9] = {ICMP_ECHO, 0, 0xf7, 0xff};

	check(inet_sum_good(inet_sum(0, p, sizeof p)));
	icmp_echo_to_reply(p);
	check(inet_sum_good(inet_sum(0, p, sizeof p)));
}

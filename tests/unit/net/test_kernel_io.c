/*
 * The kernel beside the cache. Goal: each received frame is the cache's or the kernel's, as
 * lib/kernel/README.md says; both get a frame only if both learn from it; a frame that neither gets
 * has a counted reason. A frame of the kernel is sent unless it contradicts the appliance's
 * answers. Method: a table of good frames with a few bytes changed; the frames in the lane, the
 * frames sent and all counters are compared after one turn each.
 */
#include "support/test.h"
#include "net_frames6.h"
#include "net_rig.h"
#include "base/time_units.h"
#include "kernel/kernel_lane.h"
#include "net/access_list.h"
#include "net/net_core.h"

#include <stdlib.h>

#define SSH         22u
#define OWN_PORT    61234u
#define ANY_COUNTER UINT32_MAX

enum who {
	CACHE,  /* the cache alone; the row's counter moves */
	KERNEL, /* the kernel alone: nothing is answered and no drop is counted */
	BOTH,   /* both; the row's counter moves */
	NOBODY, /* the row's counter is the reason */
};

enum base { UDP, TCP, ECHO, ARP, UDP6, TCP6, ECHO6, SOLICIT6, ADVERT6 };

struct row {
	const char *what;
	enum base base;
	uint32_t at;
	uint8_t value[6];
	uint32_t value_len;
	enum who who;
	uint32_t counter;
};

static struct rig *rig;
static bool flooded; /* the kernel's SYNs are looked for, as after a frame above the rate */

SETUP(start)
{
	rig = rig_new(&(struct rig_options){.udp_port = UDP_PORT, .kernel = true});
	flooded = false;
}

TEARDOWN(stop)
{
	rig_free(rig);
}

static uint32_t
make(uint8_t *p, enum base base)
{
	switch (base) {
	case UDP:
		return frame_udp(p, "12345678get key\r\n", 17, 0);
	case TCP:
		return frame_tcp(p, "hello", 5);
	case ECHO:
		return frame_echo(p, "hello", 5, 0);
	case ARP:
		return frame_arp(p, 1, PEER_IP, peer_mac, OUR_IP, all_mac);
	case UDP6:
		return frame6_udp(p, "12345678get key\r\n", 17);
	case TCP6:
		return frame6_tcp(p, "hello", 5);
	case ECHO6:
		return frame6_echo(p, "hello", 5);
	case SOLICIT6:
		return frame6_nd(p, 135, our_link6);
	case ADVERT6:
		return frame6_nd(p, 136, peer_link6);
	}
	return 0;
}

/* ---- what one turn does with a frame ---- */

static const uint8_t *
in_lane(uint32_t *len)
{
	return kernel_ring_first(&rig->kernel->to_kernel, len);
}

/* Receives one frame in a turn of its own, late enough for every rate. */
static void
receive(const uint8_t *p, uint32_t len)
{
	while (in_lane(&(uint32_t){0}) != NULL)
		kernel_ring_pop(&rig->kernel->to_kernel);
	rig->now_ns += 10 * NS_PER_S;
	rig_turn(rig, NULL);
	rig->np->sent_count = 0;
	rig_ol_flags(rig);
	rig->kernel->is_flooded = flooded;
	check(net_port_put(rig->np, p, len, 0));
	rig_turn(rig, NULL);
}

static bool
is_drop(uint32_t c)
{
	return strncmp(stack_counter_names[c].symbol, "DROP_", 5) == 0 ||
	       strncmp(stack_counter_names[c].symbol, "TCP_DROP_", 9) == 0;
}

static uint64_t
drops(void)
{
	uint64_t all = 0;

	for (uint32_t c = 0; c < STACK_COUNTER_COUNT; c++)
		all += is_drop(c) ? rig_count(rig, c) : 0;
	return all;
}

static void
check_owner(const char *what, const uint8_t *p, uint32_t len, enum who who, uint32_t counter)
{
	const uint32_t lent = rig_lent(rig);
	const uint8_t *got;
	uint32_t got_len = 0;
	bool good;

	receive(p, len);
	got = in_lane(&got_len);
	good = (got != NULL) == (who == KERNEL || who == BOTH) &&
	       rig_count(rig, KERNEL_GIVEN) == (got != NULL) &&
	       (counter == ANY_COUNTER || rig_count(rig, counter) == 1) &&
	       (who != KERNEL || (rig->np->sent_count == 0 && drops() == 0)) &&
	       (who != NOBODY || rig->np->sent_count == 0);
	if (!good)
		print_error("%s: %u sent, %u given, %u drops\n", what, rig->np->sent_count,
			    (uint32_t)rig_count(rig, KERNEL_GIVEN), (uint32_t)drops());
	check(good);
	if (got != NULL) {
		check_eq(got_len, len);
		check_bytes(got, p, len);
		kernel_ring_pop(&rig->kernel->to_kernel);
		check_null(in_lane(&got_len));
	}
	check_eq(rig_lent(rig), lent);
}

static const struct row rows[] = {
	{"a datagram", UDP, 0, {0}, 0, CACHE, UDP_RECEIVED},
	{"a datagram to another port", UDP, 36, {0, 53}, 2, KERNEL, ANY_COUNTER},
	{"a datagram to port 0", UDP, 36, {0, 0}, 2, KERNEL, ANY_COUNTER},
	{"a datagram to a port of our own connections",
	 UDP,
	 36,
	 {0xee, 0x48},
	 2,
	 KERNEL,
	 ANY_COUNTER},
	{"a datagram from our port",
	 UDP,
	 34,
	 {11211 >> 8, 11211 & 255},
	 2,
	 NOBODY,
	 DROP_UDP_SOURCE},
	{"a datagram to another address", UDP, 33, {9}, 1, KERNEL, ANY_COUNTER},
	{"a datagram of length 7", UDP, 38, {0, 7}, 2, NOBODY, DROP_UDP_LEN},
	{"SCTP", UDP, 23, {132}, 1, KERNEL, ANY_COUNTER},
	{"OSPF", UDP, 23, {89}, 1, KERNEL, ANY_COUNTER},
	{"from a martian", UDP, 26, {127}, 1, NOBODY, DROP_IP_SOURCE},
	{"IPv4 of another version", UDP, 14, {0x65}, 1, NOBODY, DROP_IP_VERSION},
	{"our address by broadcast",
	 UDP,
	 0,
	 {255, 255, 255, 255, 255, 255},
	 6,
	 NOBODY,
	 DROP_ETH_NOT_OURS},
	{"another station's", UDP, 0, {2, 0, 0, 0, 0, 9}, 6, NOBODY, DROP_ETH_NOT_OURS},
	{"from a group", UDP, 6, {3, 0, 0, 0, 0, 2}, 6, NOBODY, DROP_ETH_SOURCE},
	{"from our own MAC", UDP, 6, {2, 0, 0, 0, 0, 1}, 6, NOBODY, DROP_ETH_SOURCE},
	{"LLDP", UDP, 12, {0x88, 0xcc}, 2, KERNEL, ANY_COUNTER},
	{"a VLAN", UDP, 12, {0x81, 0x00}, 2, KERNEL, ANY_COUNTER},

	{"a segment to our port", TCP, 0, {0}, 0, CACHE, TCP_DROP_NO_CONN},
	{"a RST to our port", TCP, 47, {4}, 1, CACHE, TCP_DROP_RST_NO_CONN},
	{"a SYN to our port", TCP, 47, {2}, 1, CACHE, TCP_SYNS},
	{"a segment to ssh", TCP, 36, {0, SSH}, 2, KERNEL, ANY_COUNTER},
	{"a segment to a port of ours",
	 TCP,
	 36,
	 {OWN_PORT >> 8, OWN_PORT & 255},
	 2,
	 CACHE,
	 TCP_DROP_PORT},
	{"a segment to the last port", TCP, 36, {255, 255}, 2, CACHE, TCP_DROP_PORT},
	{"a segment to the kernel's last",
	 TCP,
	 36,
	 {60999 >> 8, 60999 & 255},
	 2,
	 KERNEL,
	 ANY_COUNTER},
	{"a segment to another address", TCP, 33, {9}, 1, KERNEL, ANY_COUNTER},
	{"half a TCP header", TCP, 16, {0, 39}, 2, NOBODY, DROP_TCP_TRUNCATED},

	{"an echo", ECHO, 0, {0}, 0, CACHE, ICMP_ECHO_REPLIES},
	{"an echo to another address", ECHO, 33, {9}, 1, KERNEL, ANY_COUNTER},
	{"an echo with a code", ECHO, 35, {1}, 1, NOBODY, DROP_ICMP_TYPE},
	{"an echo reply", ECHO, 34, {0}, 1, KERNEL, ANY_COUNTER},
	{"asked for the time", ECHO, 34, {13}, 1, KERNEL, ANY_COUNTER},
	{"unreachable, quoting 5 bytes", ECHO, 34, {3, 4}, 2, KERNEL, ANY_COUNTER},

	{"ARP for us", ARP, 0, {0}, 0, BOTH, ARP_REPLIES_SENT},
	{"ARP for another", ARP, 41, {9}, 1, BOTH, ANY_COUNTER},
	{"an ARP reply", ARP, 21, {2}, 1, BOTH, ANY_COUNTER},
	{"ARP with our address", ARP, 28, {10, 99, 0, 1}, 4, BOTH, ARP_CONFLICT},
	{"ARP by multicast", ARP, 0, {1, 0, 0, 0, 0, 1}, 6, KERNEL, ANY_COUNTER},

	{"IPv6: a datagram", UDP6, 0, {0}, 0, CACHE, UDP_RECEIVED},
	{"IPv6: to another port", UDP6, 56, {0, 53}, 2, KERNEL, ANY_COUNTER},
	{"IPv6: to another address", UDP6, 53, {9}, 1, KERNEL, ANY_COUNTER},
	{"IPv6: to all nodes", UDP6, 38, {0xff, 2, 0, 0, 0, 0}, 6, KERNEL, ANY_COUNTER},
	{"IPv6: SCTP", UDP6, 20, {132}, 1, KERNEL, ANY_COUNTER},
	{"IPv6: from a group", UDP6, 22, {0xff, 2}, 2, NOBODY, DROP_IP6_SOURCE},
	{"IPv6: version 5", UDP6, 14, {0x50}, 1, NOBODY, DROP_IP6_VERSION},
	{"IPv6: headers out of order", UDP6, 20, {60}, 1, NOBODY, DROP_IP6_EXT_HEADERS},
	{"IPv6: a segment to our port", TCP6, 0, {0}, 0, CACHE, TCP_DROP_NO_CONN},
	{"IPv6: a segment to ssh", TCP6, 56, {0, SSH}, 2, KERNEL, ANY_COUNTER},
	{"IPv6: to a port of ours",
	 TCP6,
	 56,
	 {OWN_PORT >> 8, OWN_PORT & 255},
	 2,
	 CACHE,
	 TCP_DROP_PORT},
	{"IPv6: an echo", ECHO6, 0, {0}, 0, CACHE, ICMP_ECHO_REPLIES},
	{"IPv6: an echo reply", ECHO6, 54, {129}, 1, KERNEL, ANY_COUNTER},
	{"IPv6: a query of groups", ECHO6, 54, {130}, 1, BOTH, DROP_MLD_SENDER},
	{"IPv6: too big, quoting 5 bytes", ECHO6, 54, {2}, 1, KERNEL, ANY_COUNTER},
	{"ND: a neighbour asks for us", SOLICIT6, 0, {0}, 0, BOTH, ND_ADVERTS_SENT},
	{"ND: for another of our group", SOLICIT6, 72, {9}, 1, BOTH, DROP_ND_TARGET},
	{"ND: of a group that is not ours", SOLICIT6, 53, {2}, 1, KERNEL, ANY_COUNTER},
	{"ND: a neighbour answers", ADVERT6, 0, {0}, 0, BOTH, ANY_COUNTER},
	{"ND: a router", SOLICIT6, 54, {134}, 1, BOTH, DROP_ND_ROUTER},
};

static void
check_row(const struct row *row)
{
	uint8_t p[NET_FRAME_BYTES] = {0};
	const uint32_t len = make(p, row->base);

	memcpy(p + row->at, row->value, row->value_len);
	if (row->base != ARP)
		frame_fix(p, len);
	check_owner(row->what, p, len, row->who, row->counter);
}

TEST(each_frame_has_the_owner_of_its_row)
{
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		check_row(&rows[i]);
}

#define AT_TCP_PORT   36u
#define AT_TCP_OFFSET 46u
#define AT_TCP_FLAGS  47u

/* Segments to a port: the owner, and the counter of the cache or of the reason. */
static const struct {
	const char *what;
	uint16_t port;
	uint8_t offset, flags;
	enum who who;
	uint32_t counter;
} segments[] = {
	{"a SYN to ssh", SSH, 0x50, 2, KERNEL, ANY_COUNTER},
	{"a SYN with ECN to ssh", SSH, 0x50, 0xc2, KERNEL, ANY_COUNTER},
	{"a SYN-ACK to ssh", SSH, 0x50, 0x12, KERNEL, ANY_COUNTER},
	{"an ACK to ssh", SSH, 0x50, 0x10, KERNEL, ANY_COUNTER},
	{"a SYN to our port", UDP_PORT, 0x50, 2, CACHE, TCP_SYNS},
	{"a SYN to a port of our own connections", OWN_PORT, 0x50, 2, CACHE, TCP_DROP_PORT},
	{"a SYN to ssh with too short a header", SSH, 0x40, 2, NOBODY, TCP_DROP_HEADER},
	{"a SYN to ssh with a header beyond its end", SSH, 0xf0, 2, NOBODY, TCP_DROP_HEADER},
};

TEST(segments_have_one_owner_in_a_flood_and_without)
{
	for (uint32_t n = 0; n < 2 * sizeof segments / sizeof segments[0]; n++) {
		const uint32_t i = n / 2;
		uint8_t p[NET_FRAME_BYTES];
		const uint32_t len = frame_tcp(p, "hello", 5);

		flooded = n % 2 != 0;
		put16(p + AT_TCP_PORT - 2, (uint16_t)(40000 + n)); /* each has a flow */
		put16(p + AT_TCP_PORT, segments[i].port);
		p[AT_TCP_OFFSET] = segments[i].offset;
		p[AT_TCP_FLAGS] = segments[i].flags;
		frame_fix(p, len);
		check_owner(segments[i].what, p, len, segments[i].who, segments[i].counter);
	}
}

TEST(a_flood_changes_no_frames_owner)
{
	flooded = true;
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		check_row(&rows[i]);
}

/* The frames that are kept after a flood's are removed are all others, in their order. */
TEST(between_syns_of_a_flood_every_segment_reaches_the_cache)
{
	const uint32_t lent = rig_lent(rig);
	uint8_t ssh[NET_FRAME_BYTES], ours[NET_FRAME_BYTES];
	const uint32_t len = frame_tcp(ssh, "", 0);

	memcpy(ours, ssh, len);
	put16(ssh + AT_TCP_PORT, SSH);
	ssh[AT_TCP_FLAGS] = 2;
	frame_fix(ssh, len);
	rig_ol_flags(rig);
	for (uint32_t turn = 0; turn < 100; turn++) {
		for (uint32_t i = 0; i < 32; i++)
			check(net_port_put(rig->np, i % 3 == 0 ? ours : ssh, len, 0));
		rig_turn(rig, NULL);
		check(turn < 4 || rig->kernel->is_flooded);
	}
	check_eq(rig_count(rig, TCP_DROP_NO_CONN), 100 * 11);
	check_eq(rig_count(rig, KERNEL_GIVEN) + rig_count(rig, KERNEL_DROP_RATE), 100 * 21);
	check_eq(rig_count(rig, KERNEL_GIVEN), KERNEL_BULK_BURST);
	rig->now_ns += NS_PER_S;
	rig_turn(rig, NULL);
	check(!rig->kernel->is_flooded);
	check_eq(rig_lent(rig), lent);
}

TEST(frames_to_another_station_are_nobodys)
{
	uint8_t p[NET_FRAME_BYTES];
	uint32_t len = frame_udp(p, "x", 1, 0);

	memcpy(p, other_mac, 6);
	put32(p + AT_IP_DST, OUR_IP + 9);
	frame_fix_ip(p);
	check_owner("IPv4", p, len, NOBODY, DROP_ETH_NOT_OURS);
	put16(p + AT_ETH_TYPE, 0x88cc);
	check_owner("LLDP", p, len, NOBODY, DROP_ETH_NOT_OURS);
	len = frame6_udp(p, "x", 1);
	memcpy(p, other_mac, 6);
	p[AT6_DST + 15] = 9;
	check_owner("IPv6", p, len, NOBODY, DROP_ETH_NOT_OURS);
}

TEST(broadcast_and_multicast_are_the_kernels)
{
	static const uint8_t ospf_mac[6] = {1, 0, 0x5e, 0, 0, 5};
	uint8_t p[NET_FRAME_BYTES];
	const uint32_t len = frame_udp(p, "dhcp", 4, 0);

	memcpy(p, all_mac, 6);
	put32(p + AT_IP_DST, 0xffffffff);
	put32(p + AT_IP_SRC, 0);
	frame_fix(p, len);
	check_owner("DHCP", p, len, KERNEL, ANY_COUNTER);
	memcpy(p, ospf_mac, 6);
	put32(p + AT_IP_DST, 0xe0000005);
	p[AT_IP_PROTOCOL] = 89;
	frame_fix_ip(p);
	check_owner("OSPF", p, len, KERNEL, ANY_COUNTER);
}

TEST(without_a_lane_a_frame_of_the_kernel_is_dropped_by_its_reason)
{
	struct rig *alone = rig_new(&(struct rig_options){.udp_port = UDP_PORT});
	uint8_t p[NET_FRAME_BYTES];
	const uint32_t len = frame_tcp(p, "", 0);

	put16(p + AT_UDP_DST, SSH);
	frame_fix(p, len);
	check(net_port_put(alone->np, p, len, 0));
	rig_turn(alone, NULL);
	check_eq(rig_count(alone, TCP_DROP_PORT), 1);
	check_eq(alone->np->sent_count, 1);
	rig_free(alone);
}

/* ---- ICMP errors ---- */

struct quote_row {
	const char *what;
	uint8_t type, code, protocol;
	uint32_t src_ip;
	uint16_t src_port;
	enum who who;
};

static const struct quote_row quotes[] = {
	{"too big, of our port", 3, 4, 6, OUR_IP, UDP_PORT, CACHE},
	{"unreachable, of our port", 3, 1, 17, OUR_IP, UDP_PORT, CACHE},
	{"time exceeded, of our connection", 11, 0, 6, OUR_IP, OWN_PORT, CACHE},
	{"a redirect of our port", 5, 1, 6, OUR_IP, UDP_PORT, CACHE},
	{"too big, of ssh", 3, 4, 6, OUR_IP, SSH, KERNEL},
	{"unreachable, of the kernel's name look-up", 3, 3, 17, OUR_IP, 33000, KERNEL},
	{"unreachable, of a datagram from a port of our connections", 3, 3, 17, OUR_IP, OWN_PORT,
	 KERNEL},
	{"a parameter problem of ssh", 12, 0, 6, OUR_IP, SSH, KERNEL},
	{"too big, of another address", 3, 4, 6, OUR_IP + 8, UDP_PORT, KERNEL},
	{"unreachable, of SCTP", 3, 1, 132, OUR_IP, UDP_PORT, KERNEL},
	{"unreachable, of our echo reply", 3, 1, 1, OUR_IP, 0x0000, CACHE},
	{"unreachable, of the kernel's ping", 3, 1, 1, OUR_IP, 0x0800, KERNEL},
};

static uint32_t
frame_quoting(uint8_t *p, const struct quote_row *row)
{
	uint8_t quote[28] = {0x45, [8] = 64, [9] = row->protocol};
	uint32_t len;

	put16(quote + 2, 1500);
	put32(quote + 12, row->src_ip);
	put32(quote + 16, PEER_IP);
	put16(quote + 20, row->src_port);
	put16(quote + 22, PEER_PORT);
	len = frame_echo(p, quote, sizeof quote, 0);
	p[AT_L4] = row->type;
	p[AT_L4 + 1] = row->code;
	put16(p + AT_L4 + 6, 1400);
	frame_fix(p, len);
	return len;
}

TEST(an_icmp_error_belongs_to_the_owner_of_the_packet_it_quotes)
{
	for (uint32_t i = 0; i < sizeof quotes / sizeof quotes[0]; i++) {
		uint8_t p[NET_FRAME_BYTES];
		const uint32_t len = frame_quoting(p, &quotes[i]);

		check_owner(quotes[i].what, p, len, quotes[i].who, ANY_COUNTER);
	}
}

TEST(an_icmpv6_error_belongs_to_the_owner_of_the_packet_it_quotes)
{
	static const struct {
		uint8_t type, protocol;
		uint16_t src_port;
		bool ours;
		enum who who;
	} errors[] = {
		{2, 6, UDP_PORT, true, CACHE},  {2, 6, SSH, true, KERNEL},
		{1, 17, UDP_PORT, true, CACHE}, {1, 17, 53, true, KERNEL},
		{3, 6, OWN_PORT, true, CACHE},  {2, 6, UDP_PORT, false, KERNEL},
		{1, 58, 129 << 8, true, CACHE}, {1, 58, 128 << 8, true, KERNEL},
	};

	for (uint32_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
		uint8_t p[NET_FRAME_BYTES], quote[48] = {0x60, [6] = errors[i].protocol};
		uint32_t len;

		memcpy(quote + 8, errors[i].ours ? our_ip6 : far_ip6, 16);
		memcpy(quote + 24, peer_ip6, 16);
		put16(quote + 40, errors[i].src_port);
		len = frame6_echo(p, quote, sizeof quote);
		p[AT6_L4] = errors[i].type;
		frame_fix(p, len);
		check_owner("an ICMPv6 error", p, len, errors[i].who, ANY_COUNTER);
	}
}

/* ---- fragments ---- */

/* Makes a fragment of a datagram to a port: the first of two, or the second. */
static uint32_t
fragment4(uint8_t *p, uint8_t protocol, uint16_t port, uint16_t id, bool is_first)
{
	uint8_t payload[64] = {0};
	const uint32_t len = frame_udp(p, payload, 56, 0);

	put16(p + AT_UDP_DST, port);
	p[AT_IP_PROTOCOL] = protocol;
	put16(p + AT_IP_ID, id);
	put16(p + AT_IP_FRAGMENT, is_first ? 0x2000 : 8);
	frame_fix_ip(p);
	return len;
}

static uint32_t
fragment6(uint8_t *p, uint8_t protocol, uint16_t port, uint16_t id, bool is_first)
{
	uint8_t header[8] = {protocol}, payload[56] = {0};
	uint32_t len = frame6_udp(p, payload, sizeof payload);

	put16(p + AT6_L4 + 2, port);
	put16(header + 2, is_first ? 1 : 8 * 8);
	put16(header + 6, id);
	len = frame6_insert(p, len, 44, header, sizeof header);
	p[AT6_L4] = protocol; /* frame6_insert named the one that followed */
	return len;
}

static void
check_fragments(uint32_t (*make_one)(uint8_t *, uint8_t, uint16_t, uint16_t, bool), uint8_t icmp)
{
	static const struct {
		uint8_t protocol;
		uint16_t port;
		enum who who;
		uint32_t counter;
	} packets[] = {
		{17, UDP_PORT, CACHE, FRAG_RECEIVED}, {17, 500, KERNEL, ANY_COUNTER},
		{6, UDP_PORT, NOBODY, DROP_FRAG_TCP}, {6, SSH, KERNEL, ANY_COUNTER},
		{6, OWN_PORT, NOBODY, DROP_FRAG_TCP}, {132, UDP_PORT, KERNEL, ANY_COUNTER},
	};
	uint8_t p[NET_FRAME_BYTES];

	for (uint32_t i = 0; i < sizeof packets / sizeof packets[0]; i++) {
		for (uint32_t first = 2; first-- > 0;) {
			const uint32_t len = make_one(p, packets[i].protocol, packets[i].port,
						      (uint16_t)(100 + i), first != 0);

			rig->now_ns -= 10 * NS_PER_S; /* the owner is not forgotten meanwhile */
			check_owner("a fragment", p, len, packets[i].who, packets[i].counter);
		}
	}
	check_owner("a later fragment of nobody known", p, make_one(p, 17, UDP_PORT, 999, false),
		    BOTH, FRAG_RECEIVED);
	check_owner("a later fragment of an echo or a reply", p, make_one(p, icmp, 0, 998, false),
		    BOTH, FRAG_RECEIVED);
}

TEST(later_fragments_follow_their_first)
{
	check_fragments(fragment4, 1);
	check_fragments(fragment6, 58);
}

TEST(the_first_fragment_of_a_ping_is_the_appliances_and_of_its_answer_the_kernels)
{
	uint8_t p[NET_FRAME_BYTES];
	uint32_t len = fragment4(p, 1, 0, 5, true);

	p[AT_L4] = 8;
	check_owner("a ping", p, len, CACHE, FRAG_RECEIVED);
	p[AT_L4] = 0;
	put16(p + AT_IP_ID, 6);
	frame_fix_ip(p);
	check_owner("an answer", p, len, KERNEL, ANY_COUNTER);
	len = fragment6(p, 58, 0, 7, true);
	p[AT6_L4 + 8] = 128;
	check_owner("IPv6: a ping", p, len, CACHE, FRAG_RECEIVED);
	p[AT6_L4 + 7] = 8;
	p[AT6_L4 + 8] = 129;
	check_owner("IPv6: an answer", p, len, KERNEL, ANY_COUNTER);
}

/* ---- access lists ---- */

TEST(the_access_list_is_about_the_caches_ports_alone)
{
	const struct access_net nets[] = {{ip_addr_v4(FAR_IP), 128, true}};
	struct region region = {.size = access_list_bytes(nets, 1)};
	void *const room = malloc(region.size);
	uint8_t p[NET_FRAME_BYTES];
	uint32_t len;

	check_ptr(room);
	region.base = room;
	stack_net(rig->stack)->access = access_list_make(&region, nets, 1);
	len = frame_udp(p, "x", 1, 0);
	check_owner("denied", p, len, NOBODY, DROP_UDP_DENIED);
	put16(p + AT_UDP_DST, 53);
	frame_fix(p, len);
	check_owner("the kernel's", p, len, KERNEL, ANY_COUNTER);
	len = frame_tcp(p, "", 0);
	put16(p + AT_UDP_DST, SSH);
	frame_fix(p, len);
	check_owner("ssh", p, len, KERNEL, ANY_COUNTER);
	put16(p + AT_UDP_DST, UDP_PORT);
	frame_fix(p, len);
	check_owner("denied segment", p, len, NOBODY, TCP_DROP_DENIED);
	stack_net(rig->stack)->access = NULL;
	free(room);
}

/* ---- tags ---- */

TEST(frames_of_our_vlan_reach_the_kernel_with_their_tag_and_all_others_as_they_are)
{
	uint8_t p[NET_FRAME_BYTES];
	uint32_t len;

	rig_free(rig);
	rig = rig_new(&(struct rig_options){.udp_port = UDP_PORT, .kernel = true, .vlan = 7});
	len = frame_tcp(p, "", 0);
	put16(p + AT_UDP_DST, SSH);
	frame_fix(p, len);
	check_owner("untagged", p, len, KERNEL, ANY_COUNTER);
	len = frame_tag(p, len, 7);
	check_owner("ours", p, len, KERNEL, ANY_COUNTER);
	put16(p + 14, 8);
	check_owner("another's", p, len, KERNEL, ANY_COUNTER);
	len = frame_tag(p, frame_udp(p, "12345678get key\r\n", 17, 0), 7);
	check_owner("a datagram", p, len, CACHE, UDP_RECEIVED);
	len = frame_tag(p, frame_arp(p, 1, PEER_IP, peer_mac, OUR_IP, all_mac), 7);
	check_owner("ARP", p, len, BOTH, ARP_REPLIES_SENT);
}

/* ---- the kernel's share ---- */

TEST(a_flood_towards_the_kernel_is_cut_and_counted_and_the_cache_answers)
{
	uint8_t ssh[NET_FRAME_BYTES], get[NET_FRAME_BYTES];
	const uint32_t ssh_len = frame_tcp(ssh, "", 0);
	const uint32_t get_len = frame_udp(get, "12345678get key\r\n", 17, 0);
	uint64_t all = 0;

	put16(ssh + AT_UDP_DST, SSH);
	frame_fix(ssh, ssh_len);
	rig_ol_flags(rig);
	for (uint32_t turn = 0; turn < 100; turn++) {
		for (uint32_t i = 0; i < 32; i++)
			check(net_port_put(rig->np, ssh, ssh_len, 0));
		check(net_port_put(rig->np, get, get_len, 0));
		rig_turn(rig, NULL);
	}
	all = rig_count(rig, KERNEL_GIVEN) + rig_count(rig, KERNEL_DROP_RATE) +
	      rig_count(rig, KERNEL_DROP_FULL);
	check_eq(all, 100 * 32);
	check_eq(rig_count(rig, KERNEL_GIVEN), KERNEL_BURST);
	check_eq(rig_count(rig, UDP_RECEIVED), 100);
}

/* ---- from the kernel ---- */

static void
kernel_sends(const uint8_t *p, uint32_t len)
{
	uint8_t *slot = kernel_ring_begin(&rig->kernel->from_kernel);

	check_ptr(slot);
	memcpy(slot, p, len);
	kernel_ring_commit(&rig->kernel->from_kernel, len);
}

/* Turns a frame of the peer to us into one of ours to the peer. */
static void
turn_round(uint8_t *p)
{
	uint8_t copy[NET_FRAME_BYTES];
	const bool v6 = get16(p + AT_ETH_TYPE) == 0x86dd;
	const uint32_t src = v6 ? AT6_SRC : AT_IP_SRC, bytes = v6 ? 16 : 4;
	const uint32_t l4 = v6 ? AT6_L4 : AT_L4;

	memcpy(copy, p, sizeof copy);
	memcpy(p, peer_mac, 6);
	memcpy(p + 6, our_mac, 6);
	memcpy(p + src, copy + src + bytes, bytes);
	memcpy(p + src + bytes, copy + src, bytes);
	memcpy(p + l4, copy + l4 + 2, 2);
	memcpy(p + l4 + 2, copy + l4, 2);
}

struct sent_row {
	const char *what;
	enum base base;
	uint32_t at;
	uint8_t value[6];
	uint32_t value_len;
	bool leaves;
};

static const struct sent_row sent[] = {
	{"a segment of ssh", TCP, 34, {0, SSH}, 2, true},
	{"a RST of a connection of the cache", TCP, 34, {11211 >> 8, 11211 & 255}, 2, false},
	{"a RST of a connection that the cache opened",
	 TCP,
	 34,
	 {OWN_PORT >> 8, OWN_PORT & 255},
	 2,
	 false},
	{"the cache's port at another address", TCP, 29, {9}, 1, true},
	{"a datagram of a name look-up", UDP, 34, {0x80, 1}, 2, true},
	{"a datagram of the cache's port", UDP, 34, {11211 >> 8, 11211 & 255}, 2, false},
	{"a ping", ECHO, 34, {8, 0, 0, 0}, 4, true},
	{"an answer to a ping", ECHO, 34, {0, 0, 0, 0}, 4, false},
	{"an answer to a ping of another address", ECHO, 29, {9}, 1, true},
	{"IPv6: a segment of ssh", TCP6, 54, {0, SSH}, 2, true},
	{"IPv6: a RST of the cache's", TCP6, 54, {11211 >> 8, 11211 & 255}, 2, false},
	{"IPv6: an answer to a ping", ECHO6, 54, {129, 0, 0, 0}, 4, false},
	{"IPv6: a ping", ECHO6, 54, {128, 0, 0, 0}, 4, true},
	{"IPv6: a report of groups", ECHO6, 54, {143, 0, 0, 0}, 4, true},
	{"LLDP", UDP, 12, {0x88, 0xcc}, 2, true},
	{"OSPF", UDP, 23, {89}, 1, true},
};

/* Runs a turn in which the kernel has sent a frame; returns whether it left as it was. */
static bool
leaves(const uint8_t *p, uint32_t len)
{
	rig->np->sent_count = 0;
	rig_ol_flags(rig);
	kernel_sends(p, len);
	rig_turn(rig, NULL);
	check_eq(rig_count(rig, KERNEL_SENT) + rig_count(rig, KERNEL_SILENCED) +
			 rig_count(rig, KERNEL_DROP_LENGTH),
		 1);
	check_eq(rig->np->sent_count, rig_count(rig, KERNEL_SENT));
	if (rig->np->sent_count == 0)
		return false;
	check_eq(rig->np->sent[0].len, len);
	check_bytes(rig->np->sent[0].bytes, p, len);
	return true;
}

TEST(the_kernel_sends_all_but_what_the_appliance_answers)
{
	for (uint32_t i = 0; i < sizeof sent / sizeof sent[0]; i++) {
		uint8_t p[NET_FRAME_BYTES] = {0};
		const uint32_t len = make(p, sent[i].base);
		bool good;

		turn_round(p);
		if (sent[i].at == AT_IP_SRC + 3 && sent[i].base == ECHO)
			p[AT_L4] = 0;
		memcpy(p + sent[i].at, sent[i].value, sent[i].value_len);
		frame_fix(p, len);
		good = leaves(p, len) == sent[i].leaves;
		if (!good)
			print_error("%s\n", sent[i].what);
		check(good);
	}
}

TEST(the_kernel_asks_for_neighbours_and_the_appliance_answers_them)
{
	uint8_t p[NET_FRAME_BYTES];
	uint32_t len = frame_arp(p, 1, OUR_IP, our_mac, PEER_IP, all_mac);

	check(leaves(p, len));
	len = frame_arp(p, 2, OUR_IP, our_mac, PEER_IP, peer_mac);
	check(!leaves(p, len));
	len = frame_arp(p, 2, OUR_IP + 9, our_mac, PEER_IP, peer_mac);
	check(leaves(p, len));
	len = frame6_nd(p, 135, peer_link6);
	check(leaves(p, len));
	len = frame6_nd(p, 136, our_link6);
	check(!leaves(p, len));
	len = frame6_nd(p, 136, our_ip6);
	check(!leaves(p, len));
	len = frame6_nd(p, 136, far_ip6);
	check(leaves(p, len));
}

TEST(an_error_about_a_packet_to_a_port_of_the_cache_does_not_leave)
{
	static const struct {
		uint8_t protocol;
		uint16_t port;
		uint32_t dst;
		bool leaves;
	} errors[] = {
		{17, UDP_PORT, OUR_IP, false}, {6, UDP_PORT, OUR_IP, false},
		{17, 53, OUR_IP, true},        {17, UDP_PORT, OUR_IP + 9, true},
		{132, UDP_PORT, OUR_IP, true},
	};

	for (uint32_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
		uint8_t p[NET_FRAME_BYTES], p6[NET_FRAME_BYTES];
		uint8_t quote[28] = {0x45, [9] = errors[i].protocol};
		uint8_t quote6[48] = {0x60, [6] = errors[i].protocol};
		uint32_t len, len6;

		put32(quote + 12, PEER_IP);
		put32(quote + 16, errors[i].dst);
		put16(quote + 22, errors[i].port);
		len = frame_echo(p, quote, sizeof quote, 0);
		turn_round(p);
		p[AT_L4] = 3;
		p[AT_L4 + 1] = 3;
		frame_fix(p, len);
		check_eq(leaves(p, len), errors[i].leaves);
		memcpy(quote6 + 8, peer_ip6, 16);
		memcpy(quote6 + 24, errors[i].dst == OUR_IP ? our_ip6 : far_ip6, 16);
		put16(quote6 + 42, errors[i].port);
		len6 = frame6_echo(p6, quote6, sizeof quote6);
		turn_round(p6);
		p6[AT6_L4] = 1;
		p6[AT6_L4 + 1] = 4;
		frame_fix(p6, len6);
		check_eq(leaves(p6, len6), errors[i].leaves);
	}
}

TEST(frames_of_the_kernel_are_as_long_as_the_wire_allows)
{
	uint8_t p[NET_FRAME_BYTES] = {0};

	put16(p + AT_ETH_TYPE, 0x88cc);
	check(!leaves(p, 13));
	check_eq(rig_count(rig, KERNEL_DROP_LENGTH), 1);
	check(leaves(p, 14));
	check(leaves(p, NET_MTU + 14));
	check(!leaves(p, NET_MTU + 15));
	put16(p + AT_ETH_TYPE, 0x8100);
	check(leaves(p, NET_MTU + 18));
	check(!leaves(p, NET_MTU + 19));
}

TEST(an_answer_in_another_vlan_is_the_kernels_own)
{
	uint8_t p[NET_FRAME_BYTES];
	uint32_t len = frame_arp(p, 2, OUR_IP, our_mac, PEER_IP, peer_mac);

	rig_free(rig);
	rig = rig_new(&(struct rig_options){.udp_port = UDP_PORT, .kernel = true, .vlan = 7});
	check(leaves(p, len));
	len = frame_tag(p, len, 7);
	check(!leaves(p, len));
	put16(p + 14, 8);
	check(leaves(p, len));
}

TEST(the_kernel_has_a_slice_of_a_turn)
{
	uint8_t p[NET_FRAME_BYTES] = {0};
	uint32_t turns = 0;

	put16(p + AT_ETH_TYPE, 0x88cc);
	for (uint32_t i = 0; i < KERNEL_RING; i++)
		kernel_sends(p, 60);
	rig->np->sent_count = 0;
	for (; kernel_ring_first(&rig->kernel->from_kernel, &(uint32_t){0}) != NULL; turns++)
		rig_turn(rig, NULL);
	check_eq(turns, KERNEL_RING / KERNEL_SLICE);
	check_eq(rig->np->sent_count, KERNEL_RING);
}

TEST(frames_of_the_kernel_wait_while_the_port_takes_none)
{
	uint8_t p[NET_FRAME_BYTES] = {0};

	put16(p + AT_ETH_TYPE, 0x88cc);
	rig->np->tx_limit = 0;
	rig_ol_flags(rig);
	for (uint32_t i = 0; i < 100; i++) {
		while (kernel_ring_begin(&rig->kernel->from_kernel) != NULL)
			kernel_sends(p, 60);
		rig_turn(rig, NULL);
	}
	check(rig_count(rig, KERNEL_SENT) <= TX_QUEUE_MAX);
	check_null(kernel_ring_begin(&rig->kernel->from_kernel));
}

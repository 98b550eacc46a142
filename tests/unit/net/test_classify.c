/*
 * Sorting received frames. Goal: each frame reaches its handler, or is dropped, counted for its
 * own reason and given back; checksums that a port verified are not summed again. Method: a table
 * of good frames with a few bytes changed, one turn each; counters before and after.
 */
#include "support/test.h"
#include "net_frames6.h"
#include "net_rig.h"
#include "net/net_core.h"

enum base { UDP, UDP_OPTIONS, TCP, ECHO, ARP, UDP6, TCP6, ECHO6, ND6, EXT6, OPT6, ROUTE6, ATOMIC6 };

enum fix {
	FIX_NONE, /* leave checksums as they were before the change */
	FIX_IP,   /* the header's only */
	FIX_ALL,
};

struct row {
	const char *what;
	enum base base;
	uint32_t at;
	uint8_t value[6];
	uint32_t value_len;
	int32_t longer; /* bytes added at the end (padding), or cut off */
	enum fix fix;
	uint32_t mark;
	uint32_t counter; /* the one that moves */
};

/* Extension headers of 8 bytes in front of UDP: three that are in order, a padded destination
 * options header, a routing header with no segment left, a fragment that is the whole packet. */
static const uint8_t chain[] = {43, 0, 1, 4, 0,  0, 0, 0, 60, 0, 0, 0,
				0,  0, 0, 0, 17, 0, 0, 0, 1,  2, 0, 0};
static const uint8_t padded[] = {17, 0, 1, 4, 0, 0, 0, 0};
static const uint8_t route[] = {17, 0, 4, 0, 0, 0, 0, 0};
static const uint8_t atomic[] = {17, 0, 0, 0, 1, 2, 3, 4};

static uint32_t
make6(uint8_t *p, enum base base)
{
	const uint32_t len = frame6_udp(p, "12345678get key\r\n", 17);

	switch (base) {
	case TCP6:
		return frame6_tcp(p, "hello", 5);
	case ECHO6:
		return frame6_echo(p, "hello", 5);
	case ND6:
		return frame6_nd(p, 135, our_link6);
	case EXT6:
		return frame6_insert(p, len, 0, chain, sizeof chain);
	case OPT6:
		return frame6_insert(p, len, 60, padded, sizeof padded);
	case ROUTE6:
		return frame6_insert(p, len, 43, route, sizeof route);
	case ATOMIC6:
		return frame6_insert(p, len, 44, atomic, sizeof atomic);
	default:
		return len;
	}
}

static uint32_t
make(uint8_t *p, enum base base)
{
	switch (base) {
	case UDP:
		return frame_udp(p, "12345678get key\r\n", 17, 0);
	case UDP_OPTIONS:
		return frame_udp(p, "12345678get key\r\n", 17, 8);
	case TCP:
		return frame_tcp(p, "hello", 5);
	case ECHO:
		return frame_echo(p, "hello", 5, 0);
	case ARP:
		return frame_arp(p, 1, PEER_IP, peer_mac, OUR_IP, all_mac);
	default:
		return make6(p, base);
	}
}

/* An accepted frame is seen at its handler: as a datagram, or by an echo or ARP answer. TCP has
 * its own tests. */
static const struct row rows[] = {
	{"a datagram", UDP, 0, {0}, 0, 0, FIX_ALL, 0, UDP_RECEIVED},
	{"a datagram behind IP options", UDP_OPTIONS, 0, {0}, 0, 0, FIX_ALL, 0, UDP_RECEIVED},
	{"a datagram with padding", UDP, 0, {0}, 0, 7, FIX_ALL, 0, UDP_RECEIVED},
	{"a datagram without checksum", UDP, 40, {0, 0}, 2, 0, FIX_IP, 0, UDP_RECEIVED},
	{"a datagram shorter than its packet", UDP, 38, {0, 24}, 2, 0, FIX_ALL, 0, UDP_RECEIVED},
	{"an echo", ECHO, 0, {0}, 0, 0, FIX_ALL, 0, ICMP_ECHO_REPLIES},
	{"ARP for us", ARP, 0, {0}, 0, 0, FIX_NONE, 0, ARP_REPLIES_SENT},
	{"ARP for us, unicast", ARP, 0, {2, 0, 0, 0, 0, 1}, 6, 0, FIX_NONE, 0, ARP_REPLIES_SENT},
	{"ARP for us, unpadded", ARP, 0, {0}, 0, -18, FIX_NONE, 0, ARP_REPLIES_SENT},

	{"no bytes", UDP, 0, {0}, 0, -59, FIX_NONE, 0, DROP_ETH_TRUNCATED},
	{"half an Ethernet header", UDP, 0, {0}, 0, -46, FIX_NONE, 0, DROP_ETH_TRUNCATED},
	{"IPv4 under another name", UDP, 12, {0x86, 0xdd}, 2, 0, FIX_NONE, 0, DROP_IP6_VERSION},
	{"LLDP", UDP, 12, {0x88, 0xcc}, 2, 0, FIX_NONE, 0, DROP_ETH_TYPE},
	{"another VLAN", UDP, 12, {0x81, 0x00}, 2, 0, FIX_NONE, 0, DROP_VLAN_OTHER},
	{"half a VLAN tag", UDP, 12, {0x81, 0x00}, 2, -43, FIX_NONE, 0, DROP_VLAN_TRUNCATED},
	{"another MAC", UDP, 0, {2, 0, 0, 0, 0, 9}, 6, 0, FIX_NONE, 0, DROP_ETH_NOT_OURS},
	{"IPv4 by broadcast",
	 UDP,
	 0,
	 {255, 255, 255, 255, 255, 255},
	 6,
	 0,
	 FIX_NONE,
	 0,
	 DROP_ETH_NOT_OURS},
	{"ARP by multicast", ARP, 0, {1, 0, 0, 0, 0, 1}, 6, 0, FIX_NONE, 0, DROP_ETH_NOT_OURS},
	{"from a group", UDP, 6, {3, 0, 0, 0, 0, 2}, 6, 0, FIX_NONE, 0, DROP_ETH_SOURCE},
	{"from our own MAC", UDP, 6, {2, 0, 0, 0, 0, 1}, 6, 0, FIX_NONE, 0, DROP_ETH_SOURCE},

	{"no IPv4 header", UDP, 0, {0}, 0, -45, FIX_NONE, 0, DROP_IP_TRUNCATED},
	{"a cut IPv4 header", UDP, 0, {0}, 0, -26, FIX_NONE, 0, DROP_IP_TRUNCATED},
	{"one byte missing", UDP, 0, {0}, 0, -1, FIX_NONE, 0, DROP_IP_TRUNCATED},
	{"total length past the frame", UDP, 16, {0, 46}, 2, 0, FIX_IP, 0, DROP_IP_TRUNCATED},
	{"IPv6 by another name", UDP, 14, {0x65}, 1, 0, FIX_NONE, 0, DROP_IP_VERSION},
	{"a header of 4 words", UDP, 14, {0x44}, 1, 0, FIX_NONE, 0, DROP_IP_HEADER},
	{"total length below the header", UDP, 16, {0, 19}, 2, 0, FIX_IP, 0, DROP_IP_HEADER},
	{"another TTL, same checksum", UDP, 22, {63}, 1, 0, FIX_NONE, 0, DROP_IP_CKSUM},
	{"a changed option", UDP_OPTIONS, 34, {0}, 1, 0, FIX_NONE, 0, DROP_IP_CKSUM},
	{"bad, says the port", UDP, 0, {0}, 0, 0, FIX_ALL, FRAME_IP_CKSUM_BAD, DROP_IP_CKSUM},
	{"the port vouches for the header",
	 UDP,
	 22,
	 {63},
	 1,
	 0,
	 FIX_NONE,
	 FRAME_IP_CKSUM_GOOD,
	 UDP_RECEIVED},
	{"a later fragment", UDP, 20, {0, 0x10}, 2, 0, FIX_IP, 0, FRAG_RECEIVED},
	{"a fragment of TCP", TCP, 20, {0x20, 0}, 2, 0, FIX_IP, 0, DROP_FRAG_TCP},
	{"a later fragment of an echo", ECHO, 20, {0, 0x10}, 2, 0, FIX_IP, 0, FRAG_RECEIVED},
	{"a fragment of SCTP", ECHO, 20, {0x20, 0, 64, 132}, 4, 0, FIX_IP, 0, DROP_FRAG_PROTOCOL},
	{"another address", UDP, 30, {10, 99, 0, 9}, 4, 0, FIX_ALL, 0, DROP_IP_NOT_OURS},
	{"subnet broadcast", UDP, 30, {10, 99, 0, 255}, 4, 0, FIX_ALL, 0, DROP_IP_NOT_OURS},
	{"broadcast", UDP, 30, {255, 255, 255, 255}, 4, 0, FIX_ALL, 0, DROP_IP_NOT_OURS},
	{"multicast", UDP, 30, {224, 0, 0, 1}, 4, 0, FIX_ALL, 0, DROP_IP_NOT_OURS},
	{"from zero", UDP, 26, {0, 0, 0, 0}, 4, 0, FIX_ALL, 0, DROP_IP_SOURCE},
	{"from net zero", UDP, 26, {0, 1, 2, 3}, 4, 0, FIX_ALL, 0, DROP_IP_SOURCE},
	{"from loopback", UDP, 26, {127, 0, 0, 1}, 4, 0, FIX_ALL, 0, DROP_IP_SOURCE},
	{"from multicast", UDP, 26, {224, 0, 0, 1}, 4, 0, FIX_ALL, 0, DROP_IP_SOURCE},
	{"from class E", UDP, 26, {240, 0, 0, 1}, 4, 0, FIX_ALL, 0, DROP_IP_SOURCE},
	{"from broadcast", UDP, 26, {255, 255, 255, 255}, 4, 0, FIX_ALL, 0, DROP_IP_SOURCE},
	{"from subnet broadcast", UDP, 26, {10, 99, 0, 255}, 4, 0, FIX_ALL, 0, DROP_IP_SOURCE},
	{"from ourselves", UDP, 26, {10, 99, 0, 1}, 4, 0, FIX_ALL, 0, DROP_IP_SOURCE},
	{"from far away", UDP, 26, {192, 0, 2, 255}, 4, 0, FIX_ALL, 0, UDP_RECEIVED},
	{"SCTP", UDP, 23, {132}, 1, 0, FIX_IP, 0, DROP_IP_PROTOCOL},

	{"half a UDP header", UDP, 16, {0, 24}, 2, 0, FIX_IP, 0, DROP_UDP_TRUNCATED},
	{"UDP length 7", UDP, 38, {0, 7}, 2, 0, FIX_IP, 0, DROP_UDP_LEN},
	{"UDP length past the packet", UDP, 38, {0, 26}, 2, 0, FIX_IP, 0, DROP_UDP_LEN},
	{"a changed payload", UDP, 50, {'s'}, 1, 0, FIX_IP, 0, DROP_UDP_CKSUM},
	{"a changed last byte", UDP, 58, {'x'}, 1, 0, FIX_IP, 0, DROP_UDP_CKSUM},
	{"the port vouches for UDP",
	 UDP,
	 50,
	 {'s'},
	 1,
	 0,
	 FIX_IP,
	 FRAME_L4_CKSUM_GOOD,
	 UDP_RECEIVED},
	{"bad, says the port, and is wrong",
	 UDP,
	 0,
	 {0},
	 0,
	 0,
	 FIX_ALL,
	 FRAME_L4_CKSUM_BAD,
	 UDP_RECEIVED},
	{"bad, says the port, and is right",
	 UDP,
	 50,
	 {'s'},
	 1,
	 0,
	 FIX_IP,
	 FRAME_L4_CKSUM_BAD,
	 DROP_UDP_CKSUM},
	{"vouched for, but UDP is shorter than its packet",
	 UDP,
	 38,
	 {0, 24},
	 2,
	 0,
	 FIX_IP,
	 FRAME_L4_CKSUM_GOOD,
	 DROP_UDP_CKSUM},
	{"another port", UDP, 36, {0, 53}, 2, 0, FIX_ALL, 0, DROP_UDP_PORT},
	{"port 0", UDP, 36, {0, 0}, 2, 0, FIX_ALL, 0, DROP_UDP_PORT},
	{"from port 0", UDP, 34, {0, 0}, 2, 0, FIX_ALL, 0, DROP_UDP_SOURCE},
	{"from our port", UDP, 34, {11211 >> 8, 11211 & 255}, 2, 0, FIX_ALL, 0, DROP_UDP_SOURCE},

	{"half a TCP header", TCP, 16, {0, 39}, 2, 0, FIX_IP, 0, DROP_TCP_TRUNCATED},
	{"a changed segment", TCP, 54, {'j'}, 1, 0, FIX_IP, 0, DROP_TCP_CKSUM},

	{"half an ICMP header", ECHO, 16, {0, 27}, 2, 0, FIX_IP, 0, DROP_ICMP_TRUNCATED},
	{"a changed echo", ECHO, 42, {'j'}, 1, 0, FIX_IP, 0, DROP_ICMP_CKSUM},
	{"an echo reply", ECHO, 34, {0}, 1, 0, FIX_ALL, 0, DROP_ICMP_TYPE},
	{"unreachable, quoting 5 bytes", ECHO, 34, {3, 4}, 2, 0, FIX_ALL, 0, DROP_ICMP_TRUNCATED},
	{"asked for the time", ECHO, 34, {13, 0}, 2, 0, FIX_ALL, 0, DROP_ICMP_TYPE},
	{"a redirect", ECHO, 34, {5, 1}, 2, 0, FIX_ALL, 0, DROP_ICMP_TYPE},
	{"an echo with code 1", ECHO, 35, {1}, 1, 0, FIX_ALL, 0, DROP_ICMP_TYPE},

	{"half an ARP packet", ARP, 0, {0}, 0, -19, FIX_NONE, 0, DROP_ARP_TRUNCATED},
	{"ARP for Token Ring", ARP, 14, {0, 6}, 2, 0, FIX_NONE, 0, DROP_ARP_FORMAT},
	{"ARP op 9", ARP, 20, {0, 9}, 2, 0, FIX_NONE, 0, DROP_ARP_FORMAT},
	{"ARP from a group",
	 ARP,
	 22,
	 {255, 255, 255, 255, 255, 255},
	 6,
	 0,
	 FIX_NONE,
	 0,
	 DROP_ARP_SENDER},
	{"ARP from our own MAC", ARP, 22, {2, 0, 0, 0, 0, 1}, 6, 0, FIX_NONE, 0, DROP_ARP_SENDER},
	{"IPv6: a datagram", UDP6, 0, {0}, 0, 0, FIX_ALL, 0, UDP_RECEIVED},
	{"IPv6: with padding", UDP6, 0, {0}, 0, 7, FIX_ALL, 0, UDP_RECEIVED},
	{"IPv6: a class and a flow", UDP6, 14, {0x6f, 0xff}, 2, 0, FIX_ALL, 0, UDP_RECEIVED},
	{"IPv6: hop-by-hop, routing, destination", EXT6, 0, {0}, 0, 0, FIX_ALL, 0, UDP_RECEIVED},
	{"IPv6: destination options", OPT6, 0, {0}, 0, 0, FIX_ALL, 0, UDP_RECEIVED},
	{"IPv6: an option to skip", OPT6, 56, {0x3e, 4}, 2, 0, FIX_ALL, 0, UDP_RECEIVED},
	{"IPv6: a route with an end", ROUTE6, 0, {0}, 0, 0, FIX_ALL, 0, UDP_RECEIVED},
	{"IPv6: whole in one fragment", ATOMIC6, 0, {0}, 0, 0, FIX_ALL, 0, UDP_RECEIVED},
	{"IPv6: an echo", ECHO6, 0, {0}, 0, 0, FIX_ALL, 0, ICMP_ECHO_REPLIES},
	{"IPv6: a neighbour asks", ND6, 0, {0}, 0, 0, FIX_ALL, 0, ND_ADVERTS_SENT},
	{"IPv6: the port vouches",
	 UDP6,
	 70,
	 {'s'},
	 1,
	 0,
	 FIX_NONE,
	 FRAME_L4_CKSUM_GOOD,
	 UDP_RECEIVED},

	{"IPv6: no header", UDP6, 0, {0}, 0, -65, FIX_NONE, 0, DROP_IP6_TRUNCATED},
	{"IPv6: a cut header", UDP6, 0, {0}, 0, -26, FIX_NONE, 0, DROP_IP6_TRUNCATED},
	{"IPv6: one byte missing", UDP6, 0, {0}, 0, -1, FIX_NONE, 0, DROP_IP6_TRUNCATED},
	{"IPv6: version 5", UDP6, 14, {0x50}, 1, 0, FIX_NONE, 0, DROP_IP6_VERSION},
	{"IPv6: hop-by-hop second", EXT6, 54, {0}, 1, 0, FIX_NONE, 0, DROP_IP6_EXT_HEADERS},
	{"IPv6: a header past the end", OPT6, 55, {4}, 1, 0, FIX_NONE, 0, DROP_IP6_EXT_HEADERS},
	{"IPv6: headers without end", OPT6, 54, {60}, 1, 0, FIX_NONE, 0, DROP_IP6_EXT_HEADERS},
	{"IPv6: an option past the end", OPT6, 57, {5}, 1, 0, FIX_NONE, 0, DROP_IP6_EXT_HEADERS},
	{"IPv6: an option to discard for", OPT6, 56, {0x40}, 1, 0, FIX_NONE, 0, DROP_IP6_OPTION},
	{"IPv6: segments left", ROUTE6, 57, {1}, 1, 0, FIX_NONE, 0, DROP_IP6_ROUTING},
	{"IPv6: SCTP", UDP6, 20, {132}, 1, 0, FIX_NONE, 0, DROP_IP6_NEXT},
	{"IPv6: no next header", UDP6, 20, {59}, 1, 0, FIX_NONE, 0, DROP_IP6_NEXT},
	{"IPv6: another address", UDP6, 53, {9}, 1, 0, FIX_ALL, 0, DROP_IP6_NOT_OURS},
	{"IPv6: UDP to all nodes",
	 UDP6,
	 38,
	 {0xff, 2, 0, 0, 0, 0},
	 6,
	 0,
	 FIX_ALL,
	 0,
	 DROP_IP6_NOT_OURS},
	{"IPv6: a group that is not ours", ND6, 53, {2}, 1, 0, FIX_ALL, 0, DROP_IP6_NOT_OURS},
	{"IPv6: from a group", UDP6, 22, {0xff, 2}, 2, 0, FIX_ALL, 0, DROP_IP6_SOURCE},
	{"IPv6: from ourselves", UDP6, 37, {1}, 1, 0, FIX_ALL, 0, DROP_IP6_SOURCE},
	{"IPv6: UDP without checksum", UDP6, 60, {0, 0}, 2, 0, FIX_NONE, 0, DROP_UDP_NO_CKSUM},
	{"IPv6: UDP changed", UDP6, 70, {'s'}, 1, 0, FIX_NONE, 0, DROP_UDP_CKSUM},
	{"IPv6: TCP changed", TCP6, 70, {'s'}, 1, 0, FIX_NONE, 0, DROP_TCP_CKSUM},
	{"IPv6: an echo changed", ECHO6, 64, {'s'}, 1, 0, FIX_NONE, 0, DROP_ICMP_CKSUM},
	{"IPv6: half an ICMP header", ECHO6, 18, {0, 7}, 2, 0, FIX_NONE, 0, DROP_ICMP_TRUNCATED},
	{"IPv6: an echo reply", ECHO6, 54, {129}, 1, 0, FIX_ALL, 0, DROP_ICMP_TYPE},
	{"IPv6: a fragment of TCP", ATOMIC6, 54, {6, 0, 0, 1}, 4, 0, FIX_NONE, 0, DROP_FRAG_TCP},
	{"IPv6: a fragment of SCTP",
	 ATOMIC6,
	 54,
	 {132, 0, 0, 1},
	 4,
	 0,
	 FIX_NONE,
	 0,
	 DROP_FRAG_PROTOCOL},
	{"ND: from beyond a router", ND6, 21, {254}, 1, 0, FIX_ALL, 0, DROP_ND_HOP_LIMIT},
	{"ND: a code", ND6, 55, {1}, 1, 0, FIX_ALL, 0, DROP_ND_FORMAT},
	{"ND: for a group", ND6, 62, {0xff}, 1, 0, FIX_ALL, 0, DROP_ND_FORMAT},
	{"ND: an option without length", ND6, 79, {0}, 1, 0, FIX_ALL, 0, DROP_ND_FORMAT},
	{"ND: an option past the end", ND6, 79, {2}, 1, 0, FIX_ALL, 0, DROP_ND_FORMAT},
	{"ND: from a group MAC", ND6, 80, {1}, 1, 0, FIX_ALL, 0, DROP_ND_SENDER},
	{"ND: from our own MAC", ND6, 80, {2, 0, 0, 0, 0, 1}, 6, 0, FIX_ALL, 0, DROP_ND_SENDER},
	{"ND: for another", ND6, 77, {9}, 1, 0, FIX_ALL, 0, DROP_ND_TARGET},
	{"ND: a router", ND6, 54, {134}, 1, 0, FIX_ALL, 0, DROP_ND_ROUTER},
	{"ND: a redirect", ND6, 54, {137}, 1, 0, FIX_ALL, 0, DROP_ND_ROUTER},
	{"ARP with our address", ARP, 28, {10, 99, 0, 1}, 4, 0, FIX_NONE, 0, ARP_CONFLICT},
};

/* True for traffic counters, which move beside the one counter of the
 * frame's handling or drop. */
static bool
is_traffic(uint32_t c)
{
	return c == RX_FRAMES || c == RX_BYTES || c == TX_FRAMES || c == TX_BYTES ||
	       c == ARP_LEARNED || c == ND_LEARNED || c == ADDRESS_DEFENDED;
}

static void
check_row(struct rig *r, const struct row *row)
{
	uint8_t p[NET_FRAME_BYTES] = {0};
	const uint32_t lent = rig_lent(r);
	uint32_t len = make(p, row->base);

	memcpy(p + row->at, row->value, row->value_len);
	if (row->fix == FIX_IP)
		frame_fix_ip(p);
	if (row->fix == FIX_ALL)
		frame_fix(p, len);
	len += (uint32_t)row->longer;
	rig_ol_flags(r);
	check(net_port_put(r->np, p, len, row->mark));
	rig_turn(r, NULL);

	for (uint32_t c = 0; c < STACK_COUNTER_COUNT; c++) {
		const uint64_t want = c == row->counter;

		if (is_traffic(c))
			continue;
		if (rig_count(r, c) != want)
			print_error("%s: %s\n", row->what, stack_counter_names[c].symbol);
		check_eq(rig_count(r, c), want);
	}
	check_eq(rig_count(r, RX_FRAMES), 1);
	check_eq(rig_count(r, RX_BYTES), len);
	/* A turn later the port has all its frames again. */
	rig_turn(r, NULL);
	check_eq(rig_lent(r), lent);
}

TEST(a_frame_is_counted_for_the_one_reason_of_its_row)
{
	const struct rig_options options = {.udp_port = UDP_PORT};
	struct rig *r = rig_new(&options);

	rig_turn(r, NULL);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		check_row(r, &rows[i]);
	rig_free(r);
}

/* With no checksum left to sum, frames of all kinds may take the path of
 * plain ones (classify.c). */
TEST(what_a_port_vouches_for_is_counted_for_the_same_reasons)
{
	const struct rig_options options = {.udp_port = UDP_PORT};
	struct rig *r = rig_new(&options);

	rig_turn(r, NULL);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct row row = rows[i];

		if (row.mark != 0 || row.counter == DROP_IP_CKSUM ||
		    row.counter == DROP_UDP_CKSUM || row.counter == DROP_TCP_CKSUM)
			continue;
		row.mark = FRAME_IP_CKSUM_GOOD | FRAME_L4_CKSUM_GOOD;
		check_row(r, &row);
	}
	rig_free(r);
}

#define RANDOM_TURNS  6000u
#define RANDOM_FRAMES 16u

static uint32_t
random_below(uint64_t *state, uint32_t n)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33) % n;
}

/* Returns a good frame with a few bytes changed, mostly to values that have a meaning. */
static uint32_t
random_frame(uint64_t *rng, uint8_t *p)
{
	static const uint8_t telling[] = {0, 1, 2, 6, 10, 17, 99, 127, 224, 255, 0x45, 0x46, 0x40};
	const enum base base = (enum base)random_below(rng, ATOMIC6 + 1);
	uint32_t len = make(p, base);

	for (uint32_t n = random_below(rng, 3); n > 0; n--)
		p[random_below(rng, len < 48 ? len : 48)] =
			random_below(rng, 2) ? telling[random_below(rng, sizeof telling)]
					     : (uint8_t)random_below(rng, 256);
	/* Some frames come from us, by port, address or MAC. */
	if (base == UDP && random_below(rng, 32) == 0)
		memcpy(p + AT_UDP_SRC, p + AT_UDP_DST, 2);
	if (random_below(rng, 64) == 0)
		memcpy(p + AT_IP_SRC, p + AT_IP_DST, 4);
	if (random_below(rng, 64) == 0)
		memcpy(p + AT_ETH_SRC, p + AT_ETH_DST, 6);
	if (base <= ECHO && random_below(rng, 3) != 0)
		frame_fix(p, len);
	if (random_below(rng, 8) == 0)
		len = random_below(rng, len + 8);
	return len;
}

TEST(the_fast_path_classifies_as_the_slow_one)
{
	const struct rig_options options = {.udp_port = UDP_PORT};
	struct rig *r[2] = {rig_new(&options), rig_new(&options)};
	uint8_t p[NET_FRAME_BYTES] = {0};
	uint64_t rng = 1;

	stack_net(r[1]->stack)->fast.len_min = stack_net(r[1]->stack)->fast.udp_port = UINT32_MAX;
	for (uint32_t turn = 0; turn < RANDOM_TURNS; turn++) {
		for (uint32_t i = 0; i < RANDOM_FRAMES; i++) {
			const uint32_t len = random_frame(&rng, p);
			const uint32_t mark = random_below(&rng, 16);

			for (uint32_t k = 0; k < 2; k++)
				check(net_port_put(r[k]->np, p, len, mark));
		}
		for (uint32_t k = 0; k < 2; k++)
			rig_turn(r[k], NULL);
		check_eq(r[0]->in.udp_count, r[1]->in.udp_count);
		check_eq(r[0]->in.tcp_count, r[1]->in.tcp_count);
		check_bytes(r[0]->in.udp, r[1]->in.udp, r[0]->in.udp_count);
		check_bytes(r[0]->in.tcp, r[1]->in.tcp, r[0]->in.tcp_count);
		for (uint32_t i = 0; i < r[0]->in.tcp_count; i++)
			check_bytes(&r[0]->in.l3[r[0]->in.tcp[i]], &r[1]->in.l3[r[0]->in.tcp[i]],
				    offsetof(struct l3_info, kind));
		for (uint32_t c = 0; c < STACK_COUNTER_COUNT; c++)
			check_eq(rig_count(r[0], c), rig_count(r[1], c));
	}
	check(rig_count(r[0], UDP_RECEIVED) > RANDOM_TURNS);
	check(rig_count(r[0], DROP_IP_SOURCE) > 10 && rig_count(r[0], DROP_ETH_SOURCE) > 10);
	check(rig_count(r[0], DROP_UDP_SOURCE) > 10 && rig_count(r[0], DROP_UDP_LEN) > 10);
	rig_free(r[0]);
	rig_free(r[1]);
}

/* True for counters that need a long frame, many frames, time, or another configuration. They are
 * tested in test_icmp.c, test_reasm.c, test_nd.c, test_udp_backlog.c, and below. */
static bool
has_a_test_of_its_own(uint32_t c)
{
	return c == DROP_ICMP_SIZE || c == DROP_ICMP_RATE_LIMIT || c == DROP_NEIGH_RATE_LIMIT ||
	       c == DROP_VLAN_UNTAGGED || (c >= DROP_FRAG_UDP_OFF && c <= FRAG_REASSEMBLED) ||
	       c == DROP_UDP_BACKLOG || c == DROP_UDP_DENIED || c == DROP_ICMP_DENIED ||
	       (c >= DROP_ND_UNSOLICITED && c <= DROP_ND_UNSOLICITED) ||
	       (c >= ND_ADVERTS_SENT && c <= ICMP_ERRORS);
}

TEST(every_drop_has_a_row)
{
	for (uint32_t c = DROP_ETH_TRUNCATED; c <= DROP_ARP_SENDER; c++) {
		bool found = has_a_test_of_its_own(c);

		for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
			found |= rows[i].counter == c;
		if (!found)
			print_error("%s\n", stack_counter_names[c].symbol);
		check(found);
	}
}

TEST(without_a_udp_port_no_datagram_passes)
{
	const struct rig_options options = {.udp_port = 0};
	const uint16_t ports[] = {0, UDP_PORT};
	struct rig *r = rig_new(&options);

	for (size_t i = 0; i < 2; i++) {
		uint8_t p[NET_FRAME_BYTES];
		const uint32_t len = frame_udp(p, "x", 1, 0);

		put16(p + AT_UDP_DST, ports[i]);
		frame_fix(p, len);
		check(net_port_put(r->np, p, len, 0));
	}
	rig_turn(r, NULL);
	check_eq(rig_count(r, DROP_UDP_PORT), 2);
	check_eq(rig_count(r, UDP_RECEIVED), 0);
	rig_free(r);
}

/* A burst of all kinds: each frame is put on its list, in order of arrival. */
TEST(a_mixed_burst_is_sorted_in_order)
{
	const enum base order[] = {UDP, TCP, ARP, UDP, ECHO, TCP, UDP_OPTIONS};
	const struct rig_options options = {.udp_port = UDP_PORT};
	struct rig *r = rig_new(&options);
	uint8_t p[NET_FRAME_BYTES];

	for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
		const uint32_t len = make(p, order[i]);

		check(net_port_put(r->np, p, len, 0));
	}
	r->np->port.ops->rx(&r->np->port, &r->in.rx, BURST_MAX);
	stack_classify(r->stack, &r->in);
	check_eq(r->in.udp_count, 3);
	check_eq(r->in.udp[0], 0);
	check_eq(r->in.udp[1], 3);
	check_eq(r->in.udp[2], 6);
	check_eq(r->in.tcp_count, 2);
	check_eq(r->in.tcp[0], 1);
	check_eq(r->in.tcp[1], 5);
	check_eq(r->in.other_count, 2);
	check_eq(r->in.other[0], 2);
	check_eq(r->in.other[1], 4);
	check_eq(ip_addr_v4_get(&r->in.l3[0].src_ip), PEER_IP);
	check_eq(r->in.l3[0].l4_offset, AT_L4);
	check_eq(r->in.l3[0].l4_len, 25);
	check_eq(r->in.l3[6].l4_offset, AT_L4 + 8);
	check_eq(r->in.l3[1].l4_len, 25);
	rig_free(r);
}

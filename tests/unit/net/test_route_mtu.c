/*
 * Routes with an MTU of their own. Goal: a datagram to a peer behind such a route, an echo reply,
 * and the segment size that a SYN-ACK asks for, are within the route's MTU, in both families; other
 * peers have the port's. Method: frames by hand from peers behind each route, with and without
 * headers that take room, before and after a change of the table.
 */
#include "support/test.h"
#include "net_frames6.h"
#include "net_rig.h"
#include "net/net_core.h"
#include "wire/inet_cksum.h"

#include <stdlib.h>

#define NARROW_MTU  1400u
#define NARROW6_MTU 1300u
#define HEADERS4    28u
#define HEADERS6    48u
#define MSS_AT      20u /* of the first option, behind the TCP header */

static bool fresh;
static uint32_t room_bytes, answer_bytes;

static struct ip_addr
addr(const uint8_t bytes[16])
{
	struct ip_addr ip;

	memcpy(ip.b, bytes, sizeof ip.b);
	return ip;
}

/* Returns a table whose routes to the network of FAR_IP and of far_ip6 have these MTUs. The last
 * four tables stay. */
static const struct local_addrs *
table(uint16_t mtu, uint16_t mtu6, const struct local_addrs *was)
{
	static void *memory[4];
	static uint32_t made;
	const struct local_addr own[] = {{ip_addr_v4(OUR_IP), 96 + 24, 0}, {addr(our_ip6), 64, 0}};
	const struct static_route route[] = {
		{.net = ip_addr_v4(FAR_IP & ~0xffu),
		 .prefix_len = 96 + 24,
		 .gateway = ip_addr_v4(GATEWAY_IP),
		 .mtu = mtu},
		{.gateway = addr(router_link6), .mtu = mtu6},
	};
	struct local_addrs_spec spec = {
		.ipv6 = true, .addr = own, .count = 2, .route = route, .route_count = 2, .seed = 3};
	struct region region = {.size = local_addrs_bytes(&spec, was)};

	memcpy(spec.mac, our_mac, sizeof spec.mac);
	free(memory[made % 4]);
	region.base = memory[made++ % 4] = malloc(region.size);
	return local_addrs_make(&region, &spec, was);
}

static struct rig *
rig_on(const struct local_addrs *addrs)
{
	const struct rig_options options = {.addrs = addrs, .udp_port = UDP_PORT};

	return rig_new(&options);
}

static void
answer(struct rig *r)
{
	uint32_t count;
	struct datagram *d = stack_datagrams(r->stack, &count);

	for (uint32_t i = 0; i < count; i++) {
		uint8_t *p = fresh ? udp_begin(r->stack, &d[i].from, &room_bytes)
				   : udp_reply_buffer(r->stack, &d[i], &room_bytes);
		const uint32_t len = answer_bytes != 0 ? answer_bytes : room_bytes;

		memset(p, 'x', len);
		if (fresh)
			udp_commit(r->stack, len);
		else
			udp_reply_in_place(r->stack, &d[i], len);
	}
}

/* Returns the length of the IP packet that answers this frame. */
static uint32_t
answered(struct rig *r, uint8_t *p, uint32_t len)
{
	frame_fix(p, len);
	r->np->sent_count = 0;
	check(net_port_put(r->np, p, len, 0));
	rig_turn(r, answer);
	for (uint32_t i = 0; i < r->np->sent_count; i++) {
		const struct net_sent *sent = &r->np->sent[i];

		if (get16(sent->bytes + AT_ETH_TYPE) == 0x0806 || sent->bytes[AT6_NEXT] == 58)
			continue; /* a question for the gateway */
		check(frame_good(sent->bytes, sent->len));
		memmove(&r->np->sent[0], sent, sizeof *sent);
		return sent->len - AT_IP;
	}
	return 0;
}

static uint32_t
answer_to(struct rig *r, uint32_t ip)
{
	uint8_t p[NET_FRAME_BYTES];
	const uint32_t len = frame_udp(p, "get key\r\n", 9, 0);

	put32(p + AT_IP_SRC, ip);
	return answered(r, p, len);
}

static uint32_t
answer_to6(struct rig *r, const uint8_t ip[16], uint32_t options)
{
	const uint8_t chain[256] = {17, (uint8_t)(options / 8 - 1), 1, (uint8_t)(options - 4)};
	uint8_t p[NET_FRAME_BYTES];
	uint32_t len = frame6_udp(p, "12345678get a\r\n", 15);

	memcpy(p + AT6_SRC, ip, 16);
	if (options != 0)
		len = frame6_insert(p, len, 60, chain, options);
	return answered(r, p, len);
}

TEST(a_fresh_datagram_has_the_mtu_of_its_route)
{
	struct rig *r = rig_on(table(NARROW_MTU, NARROW6_MTU, NULL));

	fresh = true;
	answer_bytes = 0;
	check_eq(answer_to(r, PEER_IP), NET_MTU);
	check_eq(room_bytes, NET_MTU - HEADERS4);
	check_eq(answer_to(r, FAR_IP), NARROW_MTU);
	check_eq(room_bytes, NARROW_MTU - HEADERS4);
	check_eq(answer_to6(r, peer_ip6, 0), NET_MTU);
	check_eq(answer_to6(r, far_ip6, 0), NARROW6_MTU);
	check_eq(room_bytes, NARROW6_MTU - HEADERS6);
	rig_free(r);
}

TEST(a_reply_in_place_is_within_the_mtu_of_every_route)
{
	const struct local_addrs *was = table(0, 0, NULL);
	struct rig *r = rig_on(was);

	fresh = false;
	answer_bytes = 0;
	check_eq(answer_to(r, FAR_IP), NET_MTU);
	check_eq(answer_to6(r, far_ip6, 0), NET_MTU);
	was = table(NARROW_MTU, NARROW6_MTU, was);
	stack_addrs_set(r->stack, was);
	check_eq(answer_to(r, FAR_IP), NARROW6_MTU);
	check_eq(answer_to6(r, far_ip6, 0), NARROW6_MTU);
	stack_addrs_set(r->stack, table(NARROW_MTU, 0, was));
	check_eq(answer_to(r, FAR_IP), NARROW_MTU);
	check_eq(answer_to(r, PEER_IP), NARROW_MTU);
	rig_free(r);
}

/* The least MTU of a route and the longest headers before a request leave room for a line. */
TEST(the_longest_headers_leave_room_in_the_least_mtu)
{
	struct rig *r = rig_on(table(ROUTE_MTU_MIN, 0, NULL));

	fresh = false;
	answer_bytes = 0;
	check_eq(answer_to6(r, far_ip6, 256), ROUTE_MTU_MIN - 256);
	check_eq(room_bytes, ROUTE_MTU_MIN - HEADERS6 - 256);
	rig_free(r);
}

/* A reply of several datagrams keeps the length that its first one had, if a reload makes a route
 * narrower meanwhile. */
TEST(a_datagram_of_the_length_before_a_reload_is_still_sent)
{
	const struct local_addrs *was = table(0, 0, NULL);
	struct rig *r = rig_on(was);

	stack_addrs_set(r->stack, table(NARROW_MTU, NARROW6_MTU, was));
	fresh = true;
	answer_bytes = NET_MTU - HEADERS4;
	check_eq(answer_to(r, FAR_IP), NET_MTU);
	answer_bytes = NET_MTU - HEADERS6;
	check_eq(answer_to6(r, far_ip6, 0), NET_MTU);
	rig_free(r);
}

/* Returns the segment size in the SYN-ACK to this SYN, whose TCP header is at l4. */
static uint32_t
mss_asked(struct rig *r, uint8_t *p, uint32_t len, uint32_t l4)
{
	const uint8_t *option = r->np->sent[0].bytes + l4 + MSS_AT;

	p[l4 + 13] = 2; /* SYN */
	check(answered(r, p, len) != 0);
	check_eq(r->np->sent[0].bytes[l4 + 13], 0x12);
	check_bytes(option, "\2\4", 2);
	return get16(option + 2);
}

TEST(a_syn_ack_asks_for_segments_of_the_routes_mtu)
{
	struct rig *r = rig_on(table(NARROW_MTU, NARROW6_MTU, NULL));
	uint8_t p[NET_FRAME_BYTES];
	uint32_t len = frame_tcp(p, "", 0);

	check_eq(mss_asked(r, p, len, AT_L4), NET_MTU - 40);
	put32(p + AT_IP_SRC, FAR_IP);
	check_eq(mss_asked(r, p, len, AT_L4), NARROW_MTU - 40);
	len = frame6_tcp(p, "", 0);
	check_eq(mss_asked(r, p, len, AT6_L4), NET_MTU - 60);
	memcpy(p + AT6_SRC, far_ip6, 16);
	check_eq(mss_asked(r, p, len, AT6_L4), NARROW6_MTU - 60);
	rig_free(r);
}

/* Returns the bytes of a sent fragment of the echo reply, which are put to their place in back. */
static uint32_t
piece_take(const struct net_sent *f, bool v6, uint8_t *back)
{
	const uint32_t l4 = v6 ? AT6_L4 + 8 : AT_L4;
	const uint16_t field = get16(f->bytes + (v6 ? AT6_L4 + 2 : AT_IP_FRAGMENT));
	const uint32_t len = f->len - l4;

	check_eq(f->bytes[v6 ? AT6_NEXT : AT_IP_PROTOCOL], v6 ? 44 : 1);
	check(v6 || inet_sum_good(inet_sum(0, f->bytes + AT_IP, 20)));
	memcpy(back + (v6 ? field & 0xfff8u : (field & 0x1fffu) * 8), f->bytes + l4, len);
	return len;
}

/* Sends an echo request whose packet has the port's MTU from this peer, and checks that its
 * complete reply arrives in packets of at most this length. */
static void
check_echo(struct rig *r, const uint8_t ip6[16], uint32_t ip4, uint32_t mtu)
{
	const bool v6 = ip6 != NULL;
	const uint32_t l4 = v6 ? AT6_L4 : AT_L4, bytes = NET_MTU - (l4 - AT_IP) - 8;
	uint8_t p[NET_FRAME_BYTES], payload[NET_MTU], back[NET_FRAME_BYTES];
	uint32_t len, got = 0;

	for (uint32_t i = 0; i < bytes; i++)
		payload[i] = (uint8_t)(i * 13 + (i >> 8));
	len = v6 ? frame6_echo(p, payload, bytes) : frame_echo(p, payload, bytes, 0);
	if (v6)
		memcpy(p + AT6_SRC, ip6, 16);
	else
		put32(p + AT_IP_SRC, ip4);
	frame_fix(p, len);
	r->np->sent_count = 0;
	check(net_port_put(r->np, p, len, 0));
	rig_turn(r, NULL);
	check_eq(r->np->sent_count, mtu < NET_MTU ? 2 : 1);
	for (uint32_t i = 0; i < r->np->sent_count; i++) {
		check(r->np->sent[i].len - AT_IP <= mtu);
		if (mtu < NET_MTU)
			got += piece_take(&r->np->sent[i], v6, back);
		else
			memcpy(back, r->np->sent[i].bytes + l4, got = r->np->sent[i].len - l4);
	}
	check_eq(got, 8 + bytes);
	check_eq(back[0], v6 ? 129 : 0);
	check_bytes(back + 4, p + l4 + 4, 4 + bytes);
	check(inet_sum_good(
		inet_sum(v6 ? inet_sum_pseudo6(p + AT6_SRC, p + AT6_DST, 58, (uint16_t)got) : 0,
			 back, got)));
}

TEST(an_echo_reply_is_within_the_mtu_of_its_route)
{
	struct rig *r = rig_on(table(NARROW_MTU, NARROW6_MTU, NULL));

	check_echo(r, NULL, PEER_IP, NET_MTU);
	check_echo(r, NULL, FAR_IP, NARROW_MTU);
	check_echo(r, peer_ip6, 0, NET_MTU);
	check_echo(r, far_ip6, 0, NARROW6_MTU);
	check_eq(rig_count(r, ICMP_ECHO_REPLIES), 4);
	rig_free(r);
}

/* The pieces of a request may be longer than those of its reply. */
TEST(a_reply_to_an_echo_in_fragments_is_within_the_mtu_of_its_route)
{
	struct rig *r = rig_on(table(NARROW_MTU, NARROW6_MTU, NULL));
	uint8_t p[NET_FRAME_BYTES], payload[NET_MTU] = {0};
	const uint32_t first = 1480;
	uint32_t len = frame_echo(p, payload, first - 8, 0);

	put32(p + AT_IP_SRC, FAR_IP);
	put16(p + AT_IP_FRAGMENT, 0x2000);
	frame_fix_ip(p);
	r->np->sent_count = 0;
	check(net_port_put(r->np, p, len, 0));
	rig_turn(r, NULL);
	put16(p + AT_IP_FRAGMENT, first / 8);
	put16(p + AT_IP_TOTAL_LEN, 20 + 100);
	memset(p + AT_L4, 0, 100);
	frame_fix_ip(p);
	check(net_port_put(r->np, p, AT_L4 + 100, 0));
	rig_turn(r, NULL);
	check_eq(r->np->sent_count, 2);
	check_eq(r->np->sent[0].len - AT_IP, 20 + ((NARROW_MTU - 20) & ~7u));
	check_eq(r->np->sent[1].len - AT_IP, 20 + first + 100 - ((NARROW_MTU - 20) & ~7u));
	rig_free(r);
}

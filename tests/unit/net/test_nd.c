/*
 * Neighbour discovery and IPv6 answers. Goal: a solicitation for us is answered and its sender
 * learned; no neighbour is learned unsolicited; a changed MAC is followed only with the override
 * flag; our solicitations go to the right group from the right address, once a second; every
 * answer leaves from the address that was solicited, whole, with good checksums. Method: packets
 * by hand, a virtual clock, next_hop_mac().
 */
#include "support/test.h"
#include "net_frames6.h"
#include "net_rig.h"
#include "net/net_core.h"
#include "base/time_units.h"

static const struct rig_options plain = {.udp_port = UDP_PORT};

static struct ip_addr
addr(const uint8_t b[16])
{
	struct ip_addr a;

	memcpy(a.b, b, sizeof a.b);
	return a;
}

static void
hear(struct rig *r, const uint8_t *p, uint32_t len)
{
	r->np->sent_count = 0;
	check(net_port_put(r->np, p, len, 0));
	rig_turn(r, NULL);
}

/* Receives a solicitation for target from src; a zero src makes it a probe. */
static void
hear_ask(struct rig *r, const uint8_t src[16], const uint8_t target[16])
{
	static const uint8_t nobody[16];
	uint8_t p[NET_FRAME_BYTES];
	uint32_t len = frame6_nd(p, 135, target);

	memcpy(p + AT6_SRC, src, 16);
	if (memcmp(src, nobody, 16) == 0) {
		len -= 8; /* RFC 4861 section 4.3: no source address option */
		put16(p + AT6_PAYLOAD_LEN, 24);
	}
	frame6_fix(p, len);
	hear(r, p, len);
}

static void
hear_tell(struct rig *r, const uint8_t target[16], const uint8_t mac[6], uint32_t flags)
{
	uint8_t p[NET_FRAME_BYTES];
	const uint32_t len = frame6_nd(p, 136, target);

	put32(p + AT6_ND_FLAGS, flags);
	memcpy(p + AT6_ND_OPTION + 2, mac, 6);
	if (!(flags & 0x40000000))
		memcpy(p + AT6_DST, all_nodes6, 16);
	frame6_fix(p, len);
	hear(r, p, len);
}

/* Checks the MAC used for dst when its frames come from other_mac. */
static void
check_hop(struct rig *r, const uint8_t dst[16], const uint8_t *mac)
{
	const struct ip_addr ip = addr(dst);
	uint8_t got[6];

	rig_turn(r, NULL); /* the clock is read */
	next_hop_mac(stack_net(r->stack), (struct ip_dest){&ip, LOCAL_GLOBAL6, 17}, other_mac, got);
	check_bytes(got, mac, 6);
	r->np->sent_count = 0;
	rig_turn(r, NULL);
}

/* Checks that the last turn sent one advertisement of target, from target to dst. */
static void
check_advert(const struct rig *r, const uint8_t target[16], const uint8_t dst[16], uint32_t flags)
{
	const uint8_t *p = r->np->sent[0].bytes;

	check_eq(r->np->sent_count, 1);
	check_eq(r->np->sent[0].len, 86);
	check(frame6_good(p, 86));
	check_eq(p[AT6_HOP_LIMIT], 255);
	check_eq(p[AT6_L4], 136);
	check_eq(get32(p + AT6_ND_FLAGS), flags);
	check_bytes(p + AT6_SRC, target, 16);
	check_bytes(p + AT6_DST, dst, 16);
	check_bytes(p + AT6_ND_TARGET, target, 16);
	check_bytes(p + AT6_ND_OPTION, "\2\1\2\0\0\0\0\1", 8); /* the target's option: our_mac */
}

static void
check_asked(const struct rig *r, const uint8_t target[16], const uint8_t from[16])
{
	const uint8_t *p = r->np->sent[0].bytes;

	check_eq(r->np->sent_count, 1);
	check(frame6_good(p, r->np->sent[0].len));
	check_eq(p[AT6_HOP_LIMIT], 255);
	check_eq(p[AT6_L4], 135);
	check_bytes(p, "\x33\x33\xff", 3);
	check_bytes(p + 3, target + 13, 3);
	check_bytes(p + AT6_SRC, from, 16);
	check_bytes(p + AT6_DST, "\xff\2\0\0\0\0\0\0\0\0\0\1\xff", 13);
	check_bytes(p + AT6_DST + 13, target + 13, 3);
	check_bytes(p + AT6_ND_TARGET, target, 16);
	check_bytes(p + AT6_ND_OPTION, "\1\1\2\0\0\0\0\1", 8);
}

TEST(who_asks_for_us_is_answered_and_known)
{
	const uint8_t *ours[] = {our_link6, our_ip6};
	const uint8_t *peers[] = {peer_link6, peer_ip6};

	for (size_t i = 0; i < 4; i++) {
		struct rig *r = rig_new(&plain);

		hear_ask(r, peers[i / 2], ours[i % 2]);
		check_advert(r, ours[i % 2], peers[i / 2], 0x60000000);
		check_bytes(r->np->sent[0].bytes, peer_mac, 6);
		check_hop(r, peers[i / 2], peer_mac);
		check_eq(r->np->sent_count, 0);
		rig_free(r);
	}
}

TEST(a_probe_for_our_address_is_answered_to_all_nodes)
{
	static const uint8_t nobody[16];
	struct rig *r = rig_new(&plain);

	hear_ask(r, nobody, our_link6);
	check_advert(r, our_link6, all_nodes6, 0x20000000);
	check_bytes(r->np->sent[0].bytes, "\x33\x33\0\0\0\1", 6);
	check_eq(rig_count(r, ND_CONFLICT), 1);
	check_eq(rig_count(r, ND_LEARNED), 0);
	hear_tell(r, our_ip6, peer_mac, 0x20000000); /* the peer claims our address */
	check_advert(r, our_ip6, all_nodes6, 0x20000000);
	check_eq(rig_count(r, ND_CONFLICT), 2);
	rig_free(r);
}

TEST(nobody_is_known_unasked)
{
	struct rig *r = rig_new(&plain);

	hear_tell(r, peer_ip6, peer_mac, 0x60000000);
	hear_tell(r, peer_ip6, peer_mac, 0x20000000);
	check_eq(rig_count(r, DROP_ND_UNSOLICITED), 2);
	hear_ask(r, far_ip6, our_link6); /* no route of ours goes through it */
	check_eq(rig_count(r, ND_LEARNED), 0);
	check_hop(r, peer_ip6, other_mac);
	rig_free(r);
}

/* RFC 6980 section 5: a fragmented packet is ignored, even one that is a
 * whole packet (RFC 6946). */
TEST(what_comes_in_a_fragment_is_not_believed)
{
	static const uint8_t fragment[8] = {58}, options[2][8] = {{44, 0, 1, 4}, {58, 0, 1, 4}};
	struct rig *r = rig_new(&plain);
	uint8_t p[NET_FRAME_BYTES];
	uint32_t len = frame6_nd(p, 135, our_link6);

	len = frame6_insert(p, len, 44, fragment, sizeof fragment);
	hear(r, p, len);
	len = frame6_insert(p, len, 60, options[0], sizeof options[0]);
	hear(r, p, len);
	check_eq(r->np->sent_count, 0);
	check_eq(rig_count(r, ND_LEARNED), 0);
	check_eq(rig_count(r, DROP_ND_FORMAT), 2);
	len = frame6_insert(p, frame6_nd(p, 135, our_link6), 60, options[1], sizeof options[1]);
	hear(r, p, len);
	check_eq(rig_count(r, ND_ADVERTS_SENT), 1);
	rig_free(r);
}

TEST(a_question_goes_to_the_targets_group_once_a_second)
{
	const struct {
		const uint8_t *dst, *hop, *from;
	} rows[] = {
		{peer_ip6, peer_ip6, our_ip6},
		{peer_link6, peer_link6, our_link6},
		{far_ip6, router_link6, our_link6},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct rig *r = rig_new(&plain);

		check_hop(r, rows[i].dst, other_mac);
		check_asked(r, rows[i].hop, rows[i].from);
		check_hop(r, rows[i].dst, other_mac);
		check_eq(r->np->sent_count, 0);
		r->now_ns += NEIGH_SOLICIT_NS;
		check_hop(r, rows[i].dst, other_mac);
		check_asked(r, rows[i].hop, rows[i].from);
		hear_tell(r, rows[i].hop, gateway_mac, 0x60000000);
		check_hop(r, rows[i].dst, gateway_mac);
		check_eq(r->np->sent_count, 0);
		rig_free(r);
	}
}

TEST(a_known_neighbour_moves_only_by_override)
{
	struct rig *r = rig_new(&plain);

	hear_ask(r, peer_ip6, our_ip6);
	check_hop(r, peer_ip6, peer_mac);
	hear_tell(r, peer_ip6, gateway_mac, 0x40000000);
	check_hop(r, peer_ip6, peer_mac);
	check_eq(rig_count(r, DROP_ND_UNSOLICITED), 1);
	hear_tell(r, peer_ip6, gateway_mac, 0x20000000);
	check_hop(r, peer_ip6, gateway_mac);
	/* An unsolicited advertisement of a known MAC confirms nothing. */
	r->now_ns += NEIGH_REACHABLE_NS;
	hear_tell(r, peer_ip6, gateway_mac, 0x20000000);
	check_eq(rig_count(r, DROP_ND_UNSOLICITED), 2);
	check_hop(r, peer_ip6, gateway_mac);
	check_asked(r, peer_ip6, our_ip6);
	rig_free(r);
}

TEST(solicitations_are_answered_up_to_a_rate_limit)
{
	struct rig *r = rig_new(&plain);

	for (uint32_t i = 0; i < NEIGH_REPLIES_MAX + 5; i++)
		hear_ask(r, peer_ip6, our_ip6);
	check_eq(rig_count(r, ND_ADVERTS_SENT), NEIGH_REPLIES_MAX);
	check_eq(rig_count(r, DROP_NEIGH_RATE_LIMIT), 5);
	r->now_ns += RATE_LIMIT_NS;
	hear_ask(r, peer_ip6, our_ip6);
	check_eq(rig_count(r, ND_ADVERTS_SENT), NEIGH_REPLIES_MAX + 1);
	rig_free(r);
}

TEST(both_addresses_are_announced_at_start)
{
	struct net_port *np = net_port_new(our_mac, 0);
	struct rig_options options = plain;
	struct rig *r;

	options.port = np;
	r = rig_new(&options); /* sent[] has the frames of its first turn */
	check_bytes(np->sent[2].bytes + AT6_SRC, our_link6, 16);
	check_bytes(np->sent[3].bytes + AT6_SRC, our_ip6, 16);
	for (uint32_t i = 2; i <= 3; i++) {
		check(frame6_good(np->sent[i].bytes, np->sent[i].len));
		check_eq(np->sent[i].bytes[AT6_L4], 136);
		check_eq(get32(np->sent[i].bytes + AT6_ND_FLAGS), 0x20000000);
		check_bytes(np->sent[i].bytes + AT6_DST, all_nodes6, 16);
		check_bytes(np->sent[i].bytes, "\x33\x33\0\0\0\1", 6);
	}
	rig_free(r);
	net_port_free(np);
}

TEST(an_echo_of_any_length_comes_back_from_the_address_it_went_to)
{
	static const uint8_t chain[] = {58, 0, 1, 4, 0, 0, 0, 0};
	uint8_t payload[NET_MTU], p[NET_FRAME_BYTES];
	struct rig *r = rig_new(&plain);

	stack_net(r->stack)->announces_left = 0; /* its announcements last longer than a second */
	for (uint32_t i = 0; i < sizeof payload; i++)
		payload[i] = (uint8_t)(i * 7 + 3);
	for (uint32_t n = 0; n < 3 * 80; n++) {
		const uint32_t size = n % 80 == 79 ? NET_MTU - 48 : n % 80;
		const uint8_t *sent = r->np->sent[0].bytes;
		uint32_t len = frame6_echo(p, payload, size);

		if (n / 80 == 1)
			memcpy(p + AT6_DST, our_link6, 16);
		if (n / 80 == 2 && size < 100)
			len = frame6_insert(p, len, 60, chain, sizeof chain);
		frame6_fix(p, len);
		hear(r, p, len);
		r->now_ns += RATE_LIMIT_NS;
		check_eq(r->np->sent_count, 1);
		check_eq(r->np->sent[0].len, 62 + size);
		check(frame6_good(sent, 62 + size));
		check_eq(get16(sent + AT6_L4), 0x8100); /* type 129, code 0 */
		check_eq(get32(sent + AT6_L4 + 4), 0x56780009);
		check_bytes(sent + 62, payload, size);
		check_bytes(sent + AT6_SRC, n / 80 == 1 ? our_link6 : our_ip6, 16);
		check_bytes(sent + AT6_DST, peer_ip6, 16);
		check_bytes(sent, peer_mac, 6);
	}
	rig_free(r);
}

TEST(an_echo_to_all_nodes_is_answered_from_the_link)
{
	struct rig *r = rig_new(&plain);
	uint8_t p[NET_FRAME_BYTES];
	const uint32_t len = frame6_echo(p, "hello", 5);

	memcpy(p, "\x33\x33\0\0\0\1", 6);
	memcpy(p + AT6_DST, all_nodes6, 16);
	memcpy(p + AT6_SRC, peer_link6, 16);
	frame6_fix(p, len);
	hear(r, p, len);
	check_eq(r->np->sent_count, 1);
	check(frame6_good(r->np->sent[0].bytes, len));
	check_bytes(r->np->sent[0].bytes + AT6_SRC, our_link6, 16);
	check_bytes(r->np->sent[0].bytes + AT6_DST, peer_link6, 16);
	rig_free(r);
}

TEST(echoes_are_answered_up_to_a_rate_limit)
{
	struct rig *r = rig_new(&plain);
	uint8_t p[NET_FRAME_BYTES];

	for (uint32_t i = 0; i < ECHO_REPLIES_MAX + 4; i++)
		hear(r, p, i % 2 ? frame6_echo(p, "x", 1) : frame_echo(p, "x", 1, 0));
	check_eq(rig_count(r, ICMP_ECHO_REPLIES), ECHO_REPLIES_MAX);
	check_eq(rig_count(r, DROP_ICMP_RATE_LIMIT), 4);
	rig_free(r);
}

/* ---- datagrams ---- */

static bool fresh;
static uint32_t answer_bytes, room_bytes;

static void
answer(struct rig *r)
{
	uint32_t count;
	struct datagram *d = stack_datagrams(r->stack, &count);

	for (uint32_t i = 0; i < count; i++) {
		uint8_t *p = fresh ? udp_begin(r->stack, &d[i].from, &room_bytes)
				   : udp_reply_buffer(r->stack, &d[i], &room_bytes);

		for (uint32_t k = 0; k < answer_bytes; k++)
			p[k] = (uint8_t)(k * 5 + 1);
		if (fresh)
			udp_commit(r->stack, answer_bytes);
		else
			udp_reply_in_place(r->stack, &d[i], answer_bytes);
	}
}

static void
check_answer(struct rig *r, const uint8_t *p, uint32_t len, const uint8_t *ours)
{
	const uint8_t *sent = r->np->sent[0].bytes;

	r->np->sent_count = 0;
	check(net_port_put(r->np, p, len, 0));
	rig_turn(r, answer);
	check_eq(r->np->sent_count, 1);
	check_eq(r->np->sent[0].len, 62 + answer_bytes);
	check(frame6_good(sent, 62 + answer_bytes));
	check_eq(get16(sent + AT6_L4), UDP_PORT);
	check_eq(get16(sent + AT6_L4 + 2), PEER_PORT);
	check_eq(get16(sent + AT6_L4 + 4), 8 + answer_bytes);
	check_bytes(sent + AT6_SRC, ours, 16);
	check_bytes(sent + AT6_DST, peer_ip6, 16);
	check_bytes(sent, peer_mac, 6);
	for (uint32_t k = 0; k < answer_bytes; k++)
		check_eq(sent[62 + k], (uint8_t)(k * 5 + 1));
}

TEST(a_datagram_is_answered_from_the_address_it_went_to)
{
	static const uint8_t chain[] = {17, 0, 1, 4, 0, 0, 0, 0};
	const uint32_t caps[] = {0, PORT_TX_IP_CKSUM | PORT_TX_UDP_CKSUM | PORT_TX_TCP_CKSUM};

	for (uint32_t n = 0; n < 16; n++) {
		const struct rig_options options = {.udp_port = UDP_PORT, .caps = caps[n & 1]};
		const uint8_t *ours = n & 4 ? our_link6 : our_ip6;
		struct rig *r = rig_new(&options);
		uint8_t p[NET_FRAME_BYTES];
		uint32_t len = frame6_udp(p, "12345678get a\r\n", 15);

		fresh = n & 2;
		answer_bytes = n & 8 ? NET_MTU - 56 : 100;
		memcpy(p + AT6_DST, ours, 16);
		if (n & 8)
			len = frame6_insert(p, len, 60, chain, sizeof chain);
		frame6_fix(p, len);
		check_answer(r, p, len, ours);
		check_eq(room_bytes, NET_MTU - 48 - (n & 8 && !fresh ? 8 : 0));
		check_eq(r->np->sent[0].ol_flags, caps[n & 1] ? FRAME_L4_CKSUM_FILL : 0);
		rig_free(r);
	}
}

/* The form in which we store IPv4 addresses is refused as an IPv6 source: it would pass for an
 * IPv4 one (RFC 4942 2.2). */
TEST(nobody_speaks_from_a_mapped_address)
{
	static const uint8_t mapped[16] = {[10] = 0xff, 0xff, 10, 99, 0, 2};
	static const uint8_t loopback[16] = {[15] = 1}, nobody[16];
	const uint8_t *sources[] = {mapped, loopback, nobody, our_link6};
	struct rig *r = rig_new(&plain);

	for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
		uint8_t p[NET_FRAME_BYTES];
		const uint32_t len = frame6_udp(p, "12345678get a\r\n", 15);

		memcpy(p + AT6_SRC, sources[i], 16);
		frame6_fix(p, len);
		hear(r, p, len);
		check_eq(rig_count(r, DROP_IP6_SOURCE), i + 1);
	}
	check_eq(rig_count(r, UDP_RECEIVED), 0);
	rig_free(r);
}

TEST(a_vlan_hears_its_own_and_tags_what_it_says)
{
	const struct rig_options options = {.udp_port = UDP_PORT, .vlan = 7};
	struct rig *r = rig_new(&options);
	const struct {
		uint16_t tag;
		uint32_t counter;
	} rows[] = {{7, UDP_RECEIVED},
		    {0xe007, UDP_RECEIVED},
		    {8, DROP_VLAN_OTHER},
		    {0, DROP_VLAN_UNTAGGED},
		    {0xffff, DROP_VLAN_UNTAGGED}};
	uint8_t p[NET_FRAME_BYTES];

	fresh = false;
	answer_bytes = NET_MTU - 28;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint32_t len = frame_udp(p, "12345678get a\r\n", 15, 0);
		const uint8_t *sent = r->np->sent[0].bytes;

		fresh = i == 1;
		if (rows[i].tag != 0xffff)
			len = frame_tag(p, len, rows[i].tag);
		rig_ol_flags(r);
		r->np->sent_count = 0;
		check(net_port_put(r->np, p, len, 0));
		rig_turn(r, answer);
		check_eq(rig_count(r, rows[i].counter), 1);
		check_eq(r->np->sent_count, i < 2);
		if (i >= 2)
			continue;
		check_eq(r->np->sent[0].len, 18 + NET_MTU);
		check_bytes(sent, peer_mac, 6);
		check_bytes(sent + 6, our_mac, 6);
		check_eq(get32(sent + 12), 0x8100a007); /* priority 5 */
		memcpy(p, sent, 12);
		memcpy(p + 12, sent + 16, 14 + NET_MTU - 12);
		check(frame_good(p, 14 + NET_MTU));
	}
	rig_free(r);
}

TEST(a_priority_tag_is_taken_out_and_not_returned)
{
	struct rig *r = rig_new(&plain);
	uint8_t p[NET_FRAME_BYTES];
	const uint32_t len = frame_tag(p, frame6_udp(p, "12345678get a\r\n", 15), 0xa000);

	fresh = false;
	answer_bytes = NET_MTU - 48;
	check_answer(r, p, len, our_ip6);
	rig_free(r);
}

/* Receives a router advertisement with that lifetime and preference. */
static void
hear_router(struct rig *r, const uint8_t src[16], uint8_t hop_limit, uint16_t lifetime_s)
{
	uint8_t p[NET_FRAME_BYTES], ra[24] = {134, [4] = 64, [5] = 0x08, [16] = 1, [17] = 1};
	uint32_t len;

	put16(ra + 6, lifetime_s);
	memcpy(ra + 18, peer_mac, 6);
	len = frame6(p, 58, ra, sizeof ra);
	p[AT6_HOP_LIMIT] = hop_limit;
	memcpy(p + AT6_SRC, src, 16);
	memcpy(p + AT6_DST, all_nodes6, 16);
	frame6_fix(p, len);
	hear(r, p, len);
}

TEST(a_router_is_noted_if_it_was_asked_for)
{
	struct rig *r = rig_new(&plain);
	struct router_list *routers = neigh_routers(r->neigh);
	struct ip_addr chosen = {0};

	hear_router(r, peer_link6, 255, 1800);
	check_eq(rig_count(r, DROP_ND_ROUTER), 1);
	router_list_ask(routers);
	hear_router(r, peer_link6, 254, 1800); /* from another link */
	check_eq(rig_count(r, DROP_ND_HOP_LIMIT), 1);
	hear_router(r, peer_ip6, 255, 1800);
	check_eq(rig_count(r, DROP_ND_FORMAT), 1);
	check(!router_list_choose_mt(routers, r->now_ns, &chosen));
	hear_router(r, peer_link6, 255, 1800);
	check_eq(rig_count(r, ND_ROUTER_NOTED), 1);
	check(router_list_choose_mt(routers, r->now_ns, &chosen));
	check_bytes(chosen.b, peer_link6, 16);
	check_eq(routers->router[0].preference, ROUTER_HIGH);
	check(!router_list_choose_mt(routers, r->now_ns + 1799 * NS_PER_S, &chosen));
	check(router_list_choose_mt(routers, r->now_ns + 1801 * NS_PER_S, &chosen));
	check(ip_addr_is_zero(&chosen));
	hear_router(r, peer_link6, 255, 0);
	check(!router_list_choose_mt(routers, r->now_ns, &chosen));
	rig_free(r);
}

TEST(routers_are_solicited_with_the_announcements_of_a_link_up)
{
	struct rig *r = rig_new(&plain);
	uint32_t asked = 0;

	router_list_ask(neigh_routers(r->neigh));
	neigh_announce_mt(r->neigh);
	rig_turn(r, NULL);
	for (uint32_t i = 0; i < r->np->sent_count; i++) {
		const uint8_t *p = r->np->sent[i].bytes;

		if (r->np->sent[i].len != AT6_L4 + 16 || p[AT6_NEXT] != 58 || p[AT6_L4] != 133)
			continue;
		asked++;
		check(frame6_good(p, r->np->sent[i].len));
		check_bytes(p, "\x33\x33\0\0\0\2", 6);
		check_bytes(p + AT6_SRC, our_link6, 16);
		check_eq(p[AT6_HOP_LIMIT], 255);
		check_bytes(p + AT6_L4 + 8, "\1\1", 2);
		check_bytes(p + AT6_L4 + 10, our_mac, 6);
	}
	check_eq(asked, 1);
	rig_free(r);
}

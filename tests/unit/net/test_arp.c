/*
 * ARP on one core. Goal: we answer for our address and no other, learn from requests to us, learn
 * nothing unsolicited, request the next hop of a route at a bounded rate, and meanwhile use the
 * MAC that a peer's frames come from. Method: packets by hand, a virtual clock, next_hop_mac().
 */
#include "support/test.h"
#include "net_frames.h"
#include "net_rig.h"
#include "net/net_inside.h"

#define SECOND 1000000000ull

static struct rig *
rig_with_gateway(uint32_t gateway)
{
	const struct rig_options options = {.gateway = gateway};

	return rig_new(&options);
}

static void
hear(struct rig *r, uint16_t op, uint32_t sender_ip, const uint8_t *sender_mac, uint32_t target_ip)
{
	uint8_t p[NET_FRAME_BYTES];
	const uint32_t len = frame_arp(p, op, sender_ip, sender_mac, target_ip, all_mac);

	r->np->sent_count = 0;
	check(net_port_put(r->np, p, len, 0));
	rig_turn(r, NULL);
}

/* Checks the MAC used for dst when its frames come from other_mac. */
static void
check_hop(struct rig *r, uint32_t dst, const uint8_t *mac)
{
	uint8_t got[6];

	const struct ip_addr ip = ip_addr_v4(dst);

	next_hop_mac(stack_net(r->stack), (struct ip_dest){&ip, LOCAL_V4, 17}, other_mac, got);
	check_bytes(got, mac, 6);
	r->np->sent_count = 0;
	rig_turn(r, NULL);
}

static enum neigh_state
looked_up(const struct rig *r, uint32_t ip)
{
	const struct ip_addr a = ip_addr_v4(ip);
	uint8_t mac[6];

	return neigh_lookup_mt(r->neigh, &a, r->now_ns, mac);
}

/* Checks that the last turn sent one ARP request for ip, and nothing else. */
static void
check_asked(const struct rig *r, uint32_t ip)
{
	const uint8_t *p = r->np->sent[0].bytes;

	check_eq(r->np->sent_count, 1);
	check_eq(r->np->sent[0].len, 42);
	check_bytes(p + AT_ETH_DST, all_mac, 6);
	check_bytes(p + AT_ETH_SRC, our_mac, 6);
	check_eq(get16(p + AT_ARP_OP), 1);
	check_bytes(p + AT_ARP_SENDER_MAC, our_mac, 6);
	check_eq(get32(p + AT_ARP_SENDER_IP), OUR_IP);
	check_eq(get32(p + AT_ARP_TARGET_IP), ip);
}

TEST(a_request_for_us_is_answered_and_its_sender_learned)
{
	struct rig *r = rig_with_gateway(0);
	const uint8_t *p = r->np->sent[0].bytes;

	hear(r, 1, PEER_IP, peer_mac, OUR_IP);
	check_eq(r->np->sent_count, 1);
	check_eq(r->np->sent[0].len, 42);
	check_bytes(p + AT_ETH_DST, peer_mac, 6);
	check_bytes(p + AT_ETH_SRC, our_mac, 6);
	check_eq(get16(p + AT_ETH_TYPE), 0x0806);
	check_eq(get16(p + AT_ARP_OP), 2);
	check_bytes(p + AT_ARP_SENDER_MAC, our_mac, 6);
	check_eq(get32(p + AT_ARP_SENDER_IP), OUR_IP);
	check_bytes(p + AT_ARP_TARGET_MAC, peer_mac, 6);
	check_eq(get32(p + AT_ARP_TARGET_IP), PEER_IP);
	check_hop(r, PEER_IP, peer_mac);
	check_eq(r->np->sent_count, 0);
	rig_free(r);
}

/* A flood of one station's requests, then of many: a station that asks once is answered. */
TEST(a_flood_of_questions_leaves_others_theirs)
{
	struct rig *r = rig_with_gateway(0);
	uint8_t mac[6] = {2, 0, 0, 0, 0, 0};

	for (uint32_t i = 0; i < NEIGH_REPLIES_MAX + 5; i++)
		hear(r, 1, PEER_IP, peer_mac, OUR_IP);
	check_eq(rig_count(r, ARP_REPLIES_SENT), NEIGH_REPLIES_MAX);
	check_eq(rig_count(r, DROP_NEIGH_RATE_LIMIT), 5);
	hear(r, 1, PEER_IP + 1, other_mac, OUR_IP);
	check_eq(r->np->sent_count, 1);
	for (uint32_t i = 0; i < 500; i++) {
		mac[4] = (uint8_t)(i >> 8);
		mac[5] = (uint8_t)i;
		hear(r, 1, PEER_IP, mac, OUR_IP);
	}
	hear(r, 1, PEER_IP + 1, other_mac, OUR_IP);
	check_eq(r->np->sent_count, 1);
	check_bytes(r->np->sent[0].bytes + AT_ETH_DST, other_mac, 6);
	rig_free(r);
}

TEST(requests_and_replies_for_others_are_not_answered)
{
	struct rig *r = rig_with_gateway(0);

	hear(r, 1, PEER_IP, peer_mac, OUR_IP + 7);
	check_eq(r->np->sent_count, 0);
	hear(r, 2, PEER_IP, peer_mac, OUR_IP);
	check_eq(r->np->sent_count, 0);
	check_eq(rig_count(r, ARP_REPLIES_SENT), 0);
	check_eq(rig_count(r, ARP_LEARNED), 0);
	rig_free(r);
}

TEST(nothing_is_planted_unasked_but_what_is_there_is_merged)
{
	struct rig *r = rig_with_gateway(0);

	hear(r, 2, PEER_IP, peer_mac, OUR_IP);     /* an unsolicited reply */
	hear(r, 1, PEER_IP, peer_mac, PEER_IP);    /* an announcement */
	hear(r, 1, PEER_IP, peer_mac, OUR_IP + 7); /* a request for another host */
	check_eq(looked_up(r, PEER_IP), NEIGH_UNKNOWN);

	hear(r, 1, PEER_IP, peer_mac, OUR_IP);
	check_hop(r, PEER_IP, peer_mac);
	hear(r, 1, PEER_IP, gateway_mac, PEER_IP); /* the peer moved and announces its new MAC */
	check_hop(r, PEER_IP, gateway_mac);
	rig_free(r);
}

TEST(a_probe_is_answered_and_not_learned)
{
	struct rig *r = rig_with_gateway(0);

	/* RFC 5227: another host probes for our address; our answer shows that it is in use. */
	hear(r, 1, 0, peer_mac, OUR_IP);
	check_eq(r->np->sent_count, 1);
	check_eq(rig_count(r, ARP_LEARNED), 0);
	/* An address that no route reaches by ARP is not learned either. */
	hear(r, 1, FAR_IP, peer_mac, OUR_IP);
	check_eq(r->np->sent_count, 1);
	check_eq(rig_count(r, ARP_LEARNED), 0);
	rig_free(r);
}

TEST(another_station_with_our_address_is_counted_and_changes_nothing)
{
	struct rig *r = rig_with_gateway(0);

	hear(r, 1, OUR_IP, peer_mac, OUR_IP);
	hear(r, 2, OUR_IP, peer_mac, OUR_IP);
	check_eq(rig_count(r, ARP_CONFLICT), 2);
	check_eq(rig_count(r, ARP_REPLIES_SENT), 0);
	check_eq(looked_up(r, OUR_IP), NEIGH_UNKNOWN);
	rig_free(r);
}

TEST(while_asking_the_way_back_is_used)
{
	struct rig *r = rig_with_gateway(0);

	check_hop(r, PEER_IP, other_mac);
	check_asked(r, PEER_IP);
	check_hop(r, PEER_IP, other_mac);
	check_eq(r->np->sent_count, 0); /* once a second */
	hear(r, 2, PEER_IP, peer_mac, OUR_IP);
	check_hop(r, PEER_IP, peer_mac);
	check_eq(rig_count(r, ARP_REQUESTS_SENT), 1);
	rig_free(r);
}

TEST(far_addresses_go_to_the_gateway)
{
	struct rig *r = rig_with_gateway(GATEWAY_IP);

	check_hop(r, FAR_IP, other_mac);
	check_asked(r, GATEWAY_IP);
	hear(r, 2, GATEWAY_IP, gateway_mac, OUR_IP);
	check_hop(r, FAR_IP, gateway_mac);
	check_hop(r, FAR_IP + 1, gateway_mac);
	check_hop(r, PEER_IP, other_mac);
	check_asked(r, PEER_IP);
	rig_free(r);
}

TEST(without_a_gateway_far_addresses_go_back_the_way_they_came)
{
	struct rig *r = rig_with_gateway(0);

	check_hop(r, FAR_IP, other_mac);
	check_eq(r->np->sent_count, 0);
	rig_free(r);
}

TEST(a_stale_address_is_used_and_asked_for_until_it_is_forgotten)
{
	struct rig *r = rig_with_gateway(0);

	hear(r, 1, PEER_IP, peer_mac, OUR_IP);
	r->now_ns += NEIGH_REACHABLE_NS;
	rig_turn(r, NULL);
	check_hop(r, PEER_IP, peer_mac);
	check_asked(r, PEER_IP);
	check_hop(r, PEER_IP, peer_mac);
	check_eq(r->np->sent_count, 0);
	r->now_ns += SECOND;
	rig_turn(r, NULL);
	check_hop(r, PEER_IP, peer_mac);
	check_asked(r, PEER_IP);
	r->now_ns += NEIGH_EXPIRE_NS;
	rig_turn(r, NULL);
	check_hop(r, PEER_IP, other_mac);
	check_asked(r, PEER_IP);
	rig_free(r);
}

/* The addresses of a flood of spoofed neighbours never answer. */
TEST(questions_are_bounded_by_the_table)
{
	/* A table is for one subnet; seen from /0 every address is a neighbour. */
	const struct rig_options options = {.wide = true};
	struct rig *r = rig_new(&options);
	uint8_t mac[6];

	for (uint32_t ip = 0x01000000; ip < 0x01000000 + 8 * NEIGH_SETS * NEIGH_WAYS; ip++) {
		const struct ip_addr dst = ip_addr_v4(ip);

		next_hop_mac(stack_net(r->stack), (struct ip_dest){&dst, LOCAL_V4, 17}, other_mac,
			     mac);
		check_bytes(mac, other_mac, 6);
		if (tx_queue_room(stack_net(r->stack)) < 8)
			rig_turn(r, NULL);
	}
	check_eq(rig_count(r, ARP_REQUESTS_SENT), NEIGH_SETS * NEIGH_WAYS);
	rig_free(r);
}

/* Returns how many announcements leave until then, in turns of a tenth of a second. */
static uint32_t
announced(struct rig *r, uint64_t until_ns)
{
	uint32_t count = 0;

	for (; r->now_ns < until_ns; r->now_ns += ANNOUNCE_NS / 10) {
		r->np->sent_count = 0;
		rig_turn(r, NULL);
		for (uint32_t i = 0; i < r->np->sent_count; i++)
			count += get32(r->np->sent[i].bytes + AT_ARP_TARGET_IP) == OUR_IP &&
				 get32(r->np->sent[i].bytes + AT_ARP_SENDER_IP) == OUR_IP;
	}
	r->np->sent_count = 0;
	return count;
}

TEST(we_are_announced_again_and_anew_when_the_link_was_down)
{
	const struct rig_options options = {0};
	struct rig *r = rig_new(&options);
	const uint64_t start_ns = r->now_ns;

	check_eq(announced(r, start_ns + ANNOUNCE_NS),
		 0); /* the first was in the rig's first turn */
	check_eq(stack_next_timer(r->stack), start_ns + ANNOUNCE_NS);
	check_eq(announced(r, start_ns + 2 * ANNOUNCE_NS), 1);
	check_eq(announced(r, start_ns + 10 * ANNOUNCE_NS), ANNOUNCE_COUNT - 2);
	check_eq(stack_next_timer(r->stack), UINT64_MAX);
	neigh_announce_mt(r->neigh);
	check(stack_next_timer(r->stack) <= r->now_ns);
	check_eq(announced(r, r->now_ns + 10 * ANNOUNCE_NS), ANNOUNCE_COUNT);
	check(!neigh_may_announce_mt(r->neigh, neigh_announce_round_mt(r->neigh)));
	rig_free(r);
}

TEST(the_first_tick_announces_us_once_for_all_cores)
{
	const struct rig_options options = {.ipv6_off = true};
	struct rig *r = rig_new(&options); /* sent[] has the frame of its first turn */

	check_eq(get32(r->np->sent[0].bytes + AT_ARP_TARGET_IP), OUR_IP);
	r->np->sent_count = 1;
	check_asked(r, OUR_IP);
	r->np->sent_count = 0;
	rig_turn(r, NULL);
	check_eq(r->np->sent_count, 0);
	check(!neigh_may_announce_mt(r->neigh, neigh_announce_round_mt(r->neigh)));
	rig_free(r);
}

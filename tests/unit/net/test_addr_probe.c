/*
 * Addresses before they are used, and afterwards. Goal: each address is probed three times from
 * the unspecified address, at the times of RFC 5227, and is free only after the silence that
 * follows; a host that has it, or probes for it too, is found whichever tag its frames have, and
 * no other host is; an address is defended once in ten seconds, however many packets arrive.
 * Method: frames by hand, a virtual clock.
 */
#include "support/test.h"
#include "net_frames6.h"
#include "net_rig.h"
#include "net/addr_probe.h"
#include "net/net_core.h"

#include <stdlib.h>

#define MS   1000000ull
#define VLAN 7u

static const uint8_t nobody6[16];

static struct ip_addr
addr(const uint8_t b[16])
{
	struct ip_addr a;

	memcpy(a.b, b, sizeof a.b);
	return a;
}

struct asked {
	struct net_port *np;
	struct addr_probe p;
	uint64_t now_ns;
};

/* Returns a table of the three addresses, which lasts until the next call. */
static const struct local_addrs *
table_of(uint16_t vlan)
{
	static void *memory;
	const struct local_addr own[] = {{ip_addr_v4(OUR_IP), 96 + 24, 0}, {addr(our_ip6), 64, 0}};
	struct local_addrs_spec spec = {
		.ipv6 = true, .vlan = vlan, .addr = own, .count = 2, .seed = 3};
	struct region region = {.size = local_addrs_bytes(&spec, NULL)};

	memcpy(spec.mac, our_mac, sizeof spec.mac);
	free(memory);
	region.base = memory = malloc(region.size);
	return local_addrs_make(&region, &spec, NULL);
}

static struct asked
begin(const struct probe_pace *pace, uint16_t vlan)
{
	struct asked a = {.np = net_port_new(our_mac, 0), .now_ns = 5 * MS};

	a.p = (struct addr_probe){
		.port = &a.np->port,
		.addrs = table_of(vlan),
		.pace = pace,
		.seed = 3,
	};
	addr_probe_begin(&a.p, a.now_ns);
	return a;
}

/* Moves the clock by a millisecond and the probe by a step. Returns the new state. */
static enum addr_state
step(struct asked *a)
{
	a->now_ns += MS;
	addr_probe_listen(&a->p, &a->np->port);
	return addr_probe_tick(&a->p, true, a->now_ns);
}

static void
end(struct asked *a)
{
	check_eq(net_port_lent(a->np), 0);
	net_port_free(a->np);
}

static void
check_arp_probe(const struct net_sent *sent)
{
	const uint8_t *p = sent->bytes;

	check_eq(sent->len, 42);
	check_bytes(p + AT_ETH_DST, all_mac, 6);
	check_bytes(p + AT_ETH_SRC, our_mac, 6);
	check_eq(get16(p + AT_ETH_TYPE), 0x0806);
	check_eq(get16(p + AT_ARP_OP), 1);
	check_bytes(p + AT_ARP_SENDER_MAC, our_mac, 6);
	check_eq(get32(p + AT_ARP_SENDER_IP), 0);
	check_eq(get32(p + AT_ARP_TARGET_IP), OUR_IP);
}

static void
check_nd_probe(const struct net_sent *sent, const uint8_t target[16])
{
	const uint8_t *p = sent->bytes;

	check_eq(sent->len, AT6_ND_OPTION);
	check_eq(p[0] << 8 | p[1], 0x3333);
	check_bytes(p + 2, p + AT6_DST + 12, 4);
	check_bytes(p + AT6_SRC, nobody6, 16);
	check_bytes(p + AT6_DST, our_group6, 16);
	check_eq(p[AT6_HOP_LIMIT], 255);
	check_eq(p[AT6_L4], 135);
	check_bytes(p + AT6_ND_TARGET, target, 16);
	check(frame6_good(p, sent->len));
}

static void
check_pace(const struct probe_pace *pace)
{
	struct asked a = begin(pace, 0);
	const uint64_t begun_ns = a.now_ns;
	uint64_t at_ns[PROBE_COUNT] = {0};

	for (uint32_t n = 0; n < PROBE_COUNT; n++) {
		a.np->sent_count = 0;
		while (a.np->sent_count == 0)
			check_eq(step(&a), ADDR_ASKED);
		at_ns[n] = a.now_ns;
		check_eq(a.np->sent_count, 3);
		check_arp_probe(&a.np->sent[0]);
		check_nd_probe(&a.np->sent[1], our_link6);
		check_nd_probe(&a.np->sent[2], our_ip6);
	}
	check(at_ns[0] - begun_ns <= pace->wait_max_ns + MS);
	for (uint32_t n = 1; n < PROBE_COUNT; n++) {
		check(at_ns[n] - at_ns[n - 1] >= pace->min_ns);
		check(at_ns[n] - at_ns[n - 1] <= pace->max_ns + MS);
	}
	a.np->sent_count = 0;
	while (step(&a) == ADDR_ASKED)
		;
	check_eq(a.p.state, ADDR_FREE);
	check_eq(a.now_ns - at_ns[PROBE_COUNT - 1], pace->silence_ns);
	check_eq(a.np->sent_count, 0);
	end(&a);
}

TEST(each_address_is_asked_for_three_times_and_is_free_after_a_silence)
{
	check_pace(&probe_pace_short);
	check_pace(&probe_pace_long);
	check_eq(probe_pace_long.wait_max_ns, 1000 * MS); /* RFC 5227 section 1.1 */
	check_eq(probe_pace_long.min_ns, 1000 * MS);
	check_eq(probe_pace_long.max_ns, 2000 * MS);
	check_eq(probe_pace_long.silence_ns, 2000 * MS);
}

static uint32_t
an_advert(uint8_t *p, const uint8_t target[16], const uint8_t mac[6])
{
	const uint32_t len = frame6_nd(p, 136, target);

	memcpy(p + AT6_ND_OPTION + 2, mac, 6);
	memcpy(p + AT6_DST, all_nodes6, 16);
	put32(p + AT6_ND_FLAGS, 0x20000000);
	frame6_fix(p, len);
	return len;
}

static uint32_t
another_nd_probe(uint8_t *p, const uint8_t target[16])
{
	const uint32_t len = frame6_nd(p, 135, target) - 8;

	memcpy(p + AT6_SRC, nobody6, 16);
	put16(p + AT6_PAYLOAD_LEN, 24);
	frame6_fix(p, len);
	return len;
}

/* Returns the state after one frame in the middle of a probe. */
static enum addr_state
after(const uint8_t *frame, uint32_t len, uint16_t vlan, struct addr_probe *p)
{
	struct asked a = begin(&probe_pace_short, vlan);
	enum addr_state now = ADDR_ASKED;

	for (uint32_t i = 0; i < 120 && now == ADDR_ASKED; i++)
		now = step(&a);
	check_eq(now, ADDR_ASKED);
	check(net_port_put(a.np, frame, len, 0));
	now = step(&a);
	*p = a.p;
	end(&a);
	return now;
}

static void
check_taken(const uint8_t *frame, uint32_t len, const struct ip_addr *ip, const uint8_t mac[6])
{
	uint8_t tagged[NET_FRAME_BYTES];
	struct addr_probe p;

	check_eq(after(frame, len, 0, &p), ADDR_TAKEN);
	check(ip_addr_equal(&p.addrs->ip[p.taken], ip));
	check_bytes(p.taken_by, mac, 6);
	memcpy(tagged, frame, len);
	len = frame_tag(tagged, len, VLAN | 5u << 13);
	check_eq(after(tagged, len, VLAN, &p), ADDR_TAKEN);
	check_eq(after(tagged, len, VLAN + 1, &p), ADDR_ASKED);
	check_eq(after(tagged, len, 0, &p), ADDR_ASKED);
	check_eq(after(frame, len - 4, VLAN, &p), ADDR_ASKED);
}

TEST(who_has_the_address_is_found)
{
	const struct ip_addr v4 = ip_addr_v4(OUR_IP), link = addr(our_link6), six = addr(our_ip6);
	uint8_t p[NET_FRAME_BYTES];

	check_taken(p, frame_arp(p, 2, OUR_IP, other_mac, 0, our_mac), &v4, other_mac);
	check_taken(p, frame_arp(p, 1, OUR_IP, other_mac, PEER_IP, all_mac), &v4, other_mac);
	check_taken(p, an_advert(p, our_ip6, other_mac), &six, other_mac);
	check_taken(p, an_advert(p, our_link6, other_mac), &link, other_mac);
}

TEST(who_asks_for_it_too_has_it_as_well)
{
	const struct ip_addr v4 = ip_addr_v4(OUR_IP), six = addr(our_ip6);
	uint8_t p[NET_FRAME_BYTES];

	check_taken(p, frame_arp(p, 1, 0, other_mac, OUR_IP, all_mac), &v4, other_mac);
	check_taken(p, another_nd_probe(p, our_ip6), &six, peer_mac);
}

TEST(others_and_we_ourselves_have_not)
{
	uint8_t p[NET_FRAME_BYTES];
	struct addr_probe probe;
	uint32_t len;

	/* Clients' ordinary requests for the address, which we may answer, are no conflict. */
	check_eq(after(p, frame_arp(p, 1, PEER_IP, peer_mac, OUR_IP, all_mac), 0, &probe),
		 ADDR_ASKED);
	check_eq(after(p, frame6_nd(p, 135, our_ip6), 0, &probe), ADDR_ASKED);
	check_eq(after(p, frame_arp(p, 2, 0, peer_mac, OUR_IP, all_mac), 0, &probe), ADDR_ASKED);
	check_eq(after(p, frame_arp(p, 1, 0, peer_mac, PEER_IP, all_mac), 0, &probe), ADDR_ASKED);
	check_eq(after(p, an_advert(p, peer_ip6, peer_mac), 0, &probe), ADDR_ASKED);
	/* Our MAC announces the address: a predecessor, or a switch that
	 * returns our own frames. */
	check_eq(after(p, frame_arp(p, 1, OUR_IP, our_mac, OUR_IP, all_mac), 0, &probe),
		 ADDR_ASKED);
	check_eq(after(p, an_advert(p, our_ip6, our_mac), 0, &probe), ADDR_ASKED);
	/* An advertisement that a router has forwarded, and one that is damaged in
	 * any byte, are ignored. */
	len = an_advert(p, our_ip6, other_mac);
	p[AT6_HOP_LIMIT] = 254;
	check_eq(after(p, len, 0, &probe), ADDR_ASKED);
	len = an_advert(p, our_ip6, other_mac);
	for (uint32_t at = AT6_L4; at < AT6_ND_TARGET + 16; at++) {
		p[at] ^= 0x10;
		check_eq(after(p, len, 0, &probe), ADDR_ASKED);
		p[at] ^= 0x10;
	}
	for (uint32_t short_len = 0; short_len < len; short_len++)
		check_eq(after(p, short_len, 0, &probe), ADDR_ASKED);
}

TEST(a_probe_on_a_vlan_is_tagged)
{
	struct asked a = begin(&probe_pace_short, VLAN);

	while (a.np->sent_count == 0)
		step(&a);
	check_eq(get32(a.np->sent[0].bytes + AT_ETH_TYPE), 0x81000000 | VLAN);
	check_eq(get16(a.np->sent[0].bytes + AT_ETH_TYPE + 4), 0x0806);
	check_eq(a.np->sent[0].len, 46);
	end(&a);
}

TEST(a_port_that_sends_nothing_does_not_hold_the_start_for_ever)
{
	struct asked a = begin(&probe_pace_short, 0);
	const uint64_t begun_ns = a.now_ns;

	a.np->tx_limit = 0;
	while (step(&a) == ADDR_ASKED)
		;
	check_eq(a.p.state, ADDR_UNASKED);
	check_eq(a.now_ns - begun_ns, PROBE_SEND_NS);
	end(&a);

	a = begin(&probe_pace_short, 0);
	while (addr_probe_tick(&a.p, false, a.now_ns) == ADDR_ASKED)
		a.now_ns += MS;
	check_eq(a.p.state, ADDR_UNASKED);
	check_eq(a.np->sent_count, 0);
	end(&a);
}

TEST(a_link_that_comes_late_is_probed)
{
	struct asked a = begin(&probe_pace_short, 0);

	for (uint32_t ms = 0; ms < 3000; ms++)
		check_eq(addr_probe_tick(&a.p, false, a.now_ns += MS), ADDR_ASKED);
	while (step(&a) == ADDR_ASKED)
		;
	check_eq(a.p.state, ADDR_FREE);
	check_eq(a.np->sent_count, 3 * PROBE_COUNT);
	end(&a);
}

/* ---- an address in use ---- */

static void
hear_conflict(struct rig *r, bool v6)
{
	uint8_t p[NET_FRAME_BYTES];
	const uint32_t len = v6 ? an_advert(p, our_ip6, other_mac)
				: frame_arp(p, 2, OUR_IP, other_mac, PEER_IP, all_mac);

	check(net_port_put(r->np, p, len, 0));
	rig_turn(r, NULL);
}

/* Checks the frames that are sent in two seconds of a flood, and then at
 * one packet each second. */
static void
check_defended(bool v6)
{
	const struct rig_options options = {0};
	struct rig *r = rig_new(&options);
	struct neigh_conflicts seen;
	const uint32_t burst = 2000;

	r->now_ns += 10000 * MS; /* past our announcements */
	for (uint32_t i = 0; i < ANNOUNCE_COUNT; i++, r->now_ns += ANNOUNCE_NS)
		rig_turn(r, NULL);
	r->np->sent_count = 0;
	check(!neigh_conflicts_mt(r->neigh, &seen));
	for (uint32_t i = 0; i < burst; i++, r->now_ns += MS)
		hear_conflict(r, v6);
	check_eq(rig_count(r, ADDRESS_DEFENDED), 1);
	check_eq(r->np->sent_count, 1);
	if (v6) {
		check_eq(r->np->sent[0].bytes[AT6_L4], 136);
		check_bytes(r->np->sent[0].bytes + AT6_ND_TARGET, our_ip6, 16);
	} else {
		check_eq(get32(r->np->sent[0].bytes + AT_ARP_SENDER_IP), OUR_IP);
		check_eq(get32(r->np->sent[0].bytes + AT_ARP_TARGET_IP), OUR_IP);
		check_bytes(r->np->sent[0].bytes + AT_ARP_SENDER_MAC, our_mac, 6);
	}
	for (uint32_t s = 0; s < 20; s++, r->now_ns += 1000 * MS)
		hear_conflict(r, v6);
	check_eq(rig_count(r, ADDRESS_DEFENDED), 1 + 2);
	check_eq(rig_count(r, v6 ? ND_CONFLICT : ARP_CONFLICT), burst + 20);
	check(neigh_conflicts_mt(r->neigh, &seen));
	check_eq(seen.count, burst + 20);
	check_eq(seen.which, v6 ? LOCAL_GLOBAL6 : LOCAL_V4);
	check_bytes(seen.mac, other_mac, 6);
	rig_free(r);
}

TEST(an_address_is_defended_once_in_ten_seconds)
{
	check_defended(false);
	check_defended(true);
}

TEST(after_a_link_up_others_are_asked_once)
{
	const struct rig_options options = {0};
	struct rig *r = rig_new(&options);

	check_eq(rig_count(r, ADDRESS_PROBES), 0); /* the probe before the start did that */
	for (uint32_t i = 0; i < ANNOUNCE_COUNT; i++, r->now_ns += ANNOUNCE_NS)
		rig_turn(r, NULL);
	neigh_announce_mt(r->neigh);
	r->np->sent_count = 0;
	rig_turn(r, NULL);
	check_eq(r->np->sent_count, 7); /* the first reports groups */
	check_arp_probe(&r->np->sent[1]);
	check_nd_probe(&r->np->sent[2], our_link6);
	check_nd_probe(&r->np->sent[3], our_ip6);
	for (uint32_t i = 0; i < 10; i++, r->now_ns += ANNOUNCE_NS)
		rig_turn(r, NULL);
	check_eq(rig_count(r, ADDRESS_PROBES), 3);
	rig_free(r);
}

/*
 * Several addresses in several VLANs. Goal: a request is answered from the address and in the VLAN
 * that it was sent to: ARP, ND, ping, UDP and a TCP reset; a frame of another VLAN, or for an
 * address of another VLAN, is dropped and counted. Method: frames by hand to every address, with
 * and without the port's checksums, before and after a change of the table.
 */
#include "support/test.h"
#include "net_frames6.h"
#include "net_rig.h"
#include "net/net_core.h"
#include "tcp/tcp_counters.h"

#include <stdlib.h>

#define VIP_IP   0xc6336401u /* 198.51.100.1/32, untagged */
#define SEVEN_IP 0x0a640001u /* 10.100.0.1/24, in VLAN 7 */
#define SEVEN    7u
#define PRIORITY 5u

static const uint8_t vip6[16] = {0x20, 0x01, 0x0d, 0xb8, 0, 7, [15] = 0x77}; /* VLAN 7 */

static struct ip_addr
addr(const uint8_t bytes[16])
{
	struct ip_addr ip;

	memcpy(ip.b, bytes, sizeof ip.b);
	return ip;
}

/* Returns a table of four addresses, or without those of VLAN 7. The last eight stay. */
static const struct local_addrs *
table(bool tagged, const struct local_addrs *was)
{
	static void *memory[8];
	static uint32_t made;
	const struct local_addr own[] = {
		{ip_addr_v4(OUR_IP), 96 + 24, 0}, {addr(our_ip6), 64, 0},
		{ip_addr_v4(VIP_IP), 128, 0},     {ip_addr_v4(SEVEN_IP), 96 + 24, SEVEN},
		{addr(vip6), 64, SEVEN},
	};
	struct local_addrs_spec spec = {.ipv6 = true,
					.vlan_priority = PRIORITY,
					.addr = own,
					.count = tagged ? 5 : 3,
					.seed = 3};
	struct region region = {.size = local_addrs_bytes(&spec, was)};

	memcpy(spec.mac, our_mac, sizeof spec.mac);
	free(memory[made % 8]);
	region.base = memory[made++ % 8] = malloc(region.size);
	return local_addrs_make(&region, &spec, was);
}

/* A destination, and the VLAN that it is in. */
struct place {
	uint32_t ip;        /* 0: ip6 */
	const uint8_t *ip6; /* NULL: ip */
	uint16_t vlan;
};

static const struct place places[] = {
	{OUR_IP, NULL, 0}, {VIP_IP, NULL, 0}, {SEVEN_IP, NULL, SEVEN},
	{0, our_ip6, 0},   {0, vip6, SEVEN},
};
#define PLACES (sizeof places / sizeof places[0])

enum kind { PING, DATAGRAM, SEGMENT, SOLICIT, KINDS };

/* Writes a frame of a kind to a destination, tagged with vlan. Returns its length. */
static uint32_t
frame_to(uint8_t *p, enum kind kind, const struct place *to, uint16_t vlan)
{
	const bool v4 = to->ip6 == NULL;
	uint32_t len = 0;

	switch (kind) {
	case PING:
		len = v4 ? frame_echo(p, "ping", 4, 0) : frame6_echo(p, "ping", 4);
		break;
	case DATAGRAM:
		len = v4 ? frame_udp(p, "datagram", 8, 0) : frame6_udp(p, "datagram", 8);
		break;
	case SEGMENT:
		len = v4 ? frame_tcp(p, "", 0) : frame6_tcp(p, "", 0);
		break;
	default:
		len = v4 ? frame_arp(p, 1, PEER_IP, peer_mac, to->ip, all_mac)
			 : frame6_nd(p, 135, to->ip6);
	}
	if (kind != SOLICIT && v4) {
		put32(p + AT_IP_DST, to->ip);
		frame_fix(p, len);
	} else if (!v4) {
		memcpy(p + AT6_DST, to->ip6, 16);
		frame6_fix(p, len);
	}
	return vlan == 0 ? len : frame_tag(p, len, vlan);
}

static void
answer(struct rig *r)
{
	uint32_t count, room;
	struct datagram *d = stack_datagrams(r->stack, &count);

	for (uint32_t i = 0; i < count; i++) {
		memcpy(udp_reply_buffer(r->stack, &d[i], &room), "ANSWERED", 8);
		udp_reply_in_place(r->stack, &d[i], 8);
	}
}

/* Sends a frame to the place in a VLAN. True: it was answered, from that place. */
static bool
is_answered(struct rig *r, enum kind kind, const struct place *to, uint16_t vlan)
{
	uint8_t p[NET_FRAME_BYTES], *sent = r->np->sent[0].bytes;
	const uint32_t len = frame_to(p, kind, to, vlan);
	uint32_t sent_len;

	r->np->sent_count = 0;
	r->now_ns += 1000000000;
	check(net_port_put(r->np, p, len, 0));
	rig_turn(r, answer);
	if (r->np->sent_count == 0)
		return false;
	check_eq(r->np->sent_count, 1);
	sent_len = r->np->sent[0].len;
	if (to->vlan != 0) {
		check_eq(get16(sent + 12), 0x8100);
		check_eq(get16(sent + 14), to->vlan | PRIORITY << 13);
		memmove(sent + 12, sent + 16, sent_len - 16);
		sent_len -= 4;
	}
	check_bytes(sent, peer_mac, 6);
	if (to->ip6 != NULL) {
		check_eq(get16(sent + 12), 0x86dd);
		check_bytes(sent + AT6_SRC, to->ip6, 16);
		check(frame6_good(sent, sent_len));
	} else if (kind == SOLICIT) {
		check_eq(get32(sent + AT_ARP_SENDER_IP), to->ip);
	} else {
		check_eq(get32(sent + AT_IP_SRC), to->ip);
		check(frame_good(sent, sent_len));
	}
	return true;
}

/* Returns a rig that has announced its addresses. */
static struct rig *
rig_on(const struct local_addrs *addrs, uint32_t caps)
{
	const struct rig_options options = {.addrs = addrs, .udp_port = UDP_PORT, .caps = caps};
	struct rig *r = rig_new(&options);

	for (uint32_t i = 0; i < ANNOUNCE_COUNT; i++) {
		r->now_ns += ANNOUNCE_NS;
		rig_turn(r, NULL);
	}
	return r;
}

TEST(each_address_answers_for_itself_in_its_vlan)
{
	const uint32_t caps[] = {0, PORT_TX_IP_CKSUM | PORT_TX_UDP_CKSUM | PORT_TX_TCP_CKSUM};

	for (uint32_t c = 0; c < 2; c++) {
		struct rig *r = rig_on(table(true, NULL), caps[c]);

		for (uint32_t i = 0; i < PLACES; i++)
			for (uint32_t kind = 0; kind < KINDS; kind++)
				/* The rig's port fills no checksum behind a tag. */
				if (caps[c] == 0 || places[i].vlan == 0)
					check(is_answered(r, (enum kind)kind, &places[i],
							  places[i].vlan));
		rig_free(r);
	}
}

TEST(an_address_answers_in_no_other_vlan)
{
	struct rig *r = rig_on(table(true, NULL), 0);

	for (uint32_t i = 0; i < PLACES; i++)
		for (uint32_t kind = 0; kind < KINDS; kind++) {
			check(!is_answered(r, (enum kind)kind, &places[i],
					   places[i].vlan == 0 ? SEVEN : 0));
			check(!is_answered(r, (enum kind)kind, &places[i], 8));
		}
	check_eq(rig_count(r, DROP_VLAN_OTHER), PLACES * KINDS);
	check_eq(rig_count(r, DROP_IP_NOT_OURS), 3 * 3);
	rig_free(r);
}

TEST(a_source_of_ours_sends_us_nothing)
{
	static const uint32_t ours[] = {OUR_IP, VIP_IP, OUR_IP | 0xff, SEVEN_IP};
	struct rig *r = rig_on(table(true, NULL), 0);
	uint8_t p[NET_FRAME_BYTES];

	for (uint32_t i = 0; i < 4; i++) {
		const uint32_t len = frame_to(p, DATAGRAM, &places[0], 0);

		put32(p + AT_IP_SRC, ours[i]);
		frame_fix(p, len);
		check(net_port_put(r->np, p, len, 0));
		rig_turn(r, answer);
		check_eq(rig_count(r, DROP_IP_SOURCE), i + 1);
	}
	rig_free(r);
}

/* A VLAN is added to a table without any, and removed again, while cores turn. Free frames get room
 * for a tag with the first VLAN, and lose it with the last. */
TEST(vlans_come_and_go_with_a_change_of_the_table)
{
	const struct local_addrs *was = table(false, NULL);
	struct rig *r = rig_on(was, 0);

	for (uint32_t round = 0; round < 6; round++) {
		const bool tagged = round % 2 == 0;

		was = table(tagged, was);
		stack_addrs_set(r->stack, was);
		for (uint32_t i = 0; i < PLACES; i++)
			for (uint32_t kind = 0; kind < KINDS; kind++)
				check_eq(
					is_answered(r, (enum kind)kind, &places[i], places[i].vlan),
					tagged || places[i].vlan == 0);
	}
	rig_free(r);
}

/* Announcements of all addresses go out in their VLANs, some in each turn. */
TEST(every_address_is_announced_in_its_vlan)
{
	struct rig *r = rig_on(table(true, NULL), 0);
	uint32_t in_vlan = 0, untagged = 0;

	neigh_announce_mt(r->neigh);
	r->np->sent_count = 0;
	rig_turn(r, NULL);
	for (uint32_t i = 0; i < r->np->sent_count; i++)
		*(get16(r->np->sent[i].bytes + 12) == 0x8100 ? &in_vlan : &untagged) += 1;
	/* A report of groups; a probe and an announcement of each; a link has a link-local address.
	 */
	check_eq(in_vlan, 1 + 2 * 3);
	check_eq(untagged, 1 + 2 * 4);
	rig_free(r);
}

/*
 * addr_probe.c - probes for our own addresses before the first is used, and evaluates the answers.
 */
#include "addr_probe.h"
#include "base/hash.h"
#include "base/time_units.h"
#include "wire/arp_wire.h"
#include "wire/icmp6_wire.h"
#include "wire/inet_cksum.h"
#include "wire/ipv6_wire.h"

const struct probe_pace probe_pace_long = {NS_PER_S, NS_PER_S, 2 * NS_PER_S, 2 * NS_PER_S};
const struct probe_pace probe_pace_short = {50 * NS_PER_MS, 50 * NS_PER_MS, 100 * NS_PER_MS,
					    100 * NS_PER_MS};

static uint32_t
arp_probe_emit(uint8_t *frame, const uint8_t mac[6], uint32_t ip)
{
	static const uint8_t broadcast[ETH_MAC_BYTES] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	struct arp arp = {.op = ARP_REQUEST,
			  .target_ip = ip}; /* from address 0, which no host learns */

	memcpy(arp.sender_mac, mac, ETH_MAC_BYTES);
	eth_emit(frame, broadcast, mac, ETH_TYPE_ARP);
	arp_emit(frame + ETH_HEADER_BYTES, &arp);
	return ETH_HEADER_BYTES + ARP_PACKET_BYTES;
}

/* Writes a solicitation (RFC 4862 section 5.4.2). It has no option, since it has no source address
 * (RFC 4861 section 4.3). */
static uint32_t
nd_probe_emit(uint8_t *frame, const uint8_t mac[6], const struct ip_addr *ip)
{
	const struct ip_addr nobody = {0}, group = ipv6_solicited_node(ip);
	const struct nd nd = {.type = ICMP6_NEIGH_SOLICIT, .target = *ip};
	struct ipv6_header *h = (struct ipv6_header *)(frame + ETH_HEADER_BYTES);
	uint8_t message[ND_EMIT_BYTES], group_mac[ETH_MAC_BYTES];
	struct be16 cksum;

	ipv6_group_mac(&group, group_mac);
	eth_emit(frame, group_mac, mac, ETH_TYPE_IPV6);
	ipv6_emit((uint8_t *)h, &nobody, &group, IPV6_ICMP, ND_BYTES);
	h->hop_limit = ND_HOP_LIMIT;
	nd_emit(message, &nd);
	cksum = inet_cksum(inet_sum(inet_sum_pseudo6(nobody.b, group.b, IPV6_ICMP, ND_BYTES),
				    message, ND_BYTES));
	memcpy(message + ICMP6_CKSUM_OFFSET, &cksum, sizeof cksum);
	memcpy(h + 1, message, ND_BYTES);
	return ETH_HEADER_BYTES + IPV6_HEADER_BYTES + ND_BYTES;
}

uint32_t
addr_probe_emit(uint8_t *frame, const uint8_t mac[6], const struct ip_addr *ip)
{
	return ip_addr_is_v4(ip) ? arp_probe_emit(frame, mac, ip_addr_v4_get(ip))
				 : nd_probe_emit(frame, mac, ip);
}

/* A received frame: its sender, and the link on which it arrived. */
struct probe_frame {
	uint8_t link;
	const uint8_t *from;
};

static void
taken(struct addr_probe *p, uint8_t link, const struct ip_addr *ip, const uint8_t mac[6])
{
	const uint16_t local = local_addrs_find(p->addrs, ip, link);

	if (p->state == ADDR_TAKEN || local == LOCAL_NONE || eth_mac_equal(mac, p->port->mac))
		return;
	p->state = ADDR_TAKEN;
	p->taken = local;
	memcpy(p->taken_by, mac, sizeof p->taken_by);
}

/* Checks an ARP packet. RFC 5227 section 2.1.1: a conflict is a packet from the address, or another
 * host's probe for it. */
static void
judge_arp(struct addr_probe *p, const uint8_t *packet, uint32_t len, struct probe_frame frame)
{
	struct ip_addr ip;
	struct arp arp;

	if (arp_parse(&arp, packet, len) != ARP_WIRE_OK)
		return;
	if (arp.sender_ip == 0 && arp.op != ARP_REQUEST)
		return;
	ip = ip_addr_v4(arp.sender_ip != 0 ? arp.sender_ip : arp.target_ip);
	taken(p, frame.link, &ip, arp.sender_mac);
}

/* Checks an IPv6 packet. RFC 4862 sections 5.4.3 and 5.4.4: a conflict is an advertisement of the
 * address, or another host's probe for it. A solicitation from a valid address is no conflict: it
 * only asks for the owner. */
static void
judge_ip6(struct addr_probe *p, const uint8_t *packet, uint32_t len, struct probe_frame frame)
{
	const struct ipv6_header *h = (const struct ipv6_header *)packet;
	const struct icmp6_header *icmp;
	struct ipv6_packet ip;
	const uint8_t *l4;
	struct nd nd;

	if (ipv6_parse(&ip, packet, len) != IPV6_WIRE_OK || ip.next != IPV6_ICMP ||
	    h->hop_limit != ND_HOP_LIMIT || ip.l4_len < ND_BYTES)
		return;
	l4 = packet + ip.l4_at;
	icmp = (const struct icmp6_header *)l4;
	if (!inet_sum_good(inet_sum(inet_sum_pseudo6(h->src.b, h->dst.b, IPV6_ICMP, ip.l4_len), l4,
				    ip.l4_len)) ||
	    icmp->code != 0 || nd_parse(&nd, l4, ip.l4_len) != ND_WIRE_OK)
		return;
	if (nd.type == ICMP6_NEIGH_ADVERT ||
	    (nd.type == ICMP6_NEIGH_SOLICIT && ip_addr_is_zero(&h->src)))
		taken(p, frame.link, &nd.target, nd.has_mac ? nd.mac : frame.from);
}

static void
judge_frame(struct addr_probe *p, const uint8_t *frame, uint32_t len)
{
	const struct eth_header *eth = (const struct eth_header *)frame;
	struct probe_frame received = {.from = eth->src};
	uint32_t header = ETH_HEADER_BYTES;
	uint16_t type, vlan = 0;

	if (len < ETH_HEADER_BYTES + ETH_TAG_BYTES || eth_mac_is_group(eth->src) ||
	    eth_mac_equal(eth->src, p->port->mac))
		return;
	type = be16_get(eth->type);
	if (type == ETH_TYPE_VLAN) {
		vlan = eth_vlan_tci(frame) & VLAN_ID;
		header += ETH_TAG_BYTES;
		type = __builtin_bswap16(load_u16(frame + header - sizeof type));
	}
	received.link = p->addrs->link_of_vlan[vlan];
	if (received.link == LINK_NONE)
		return;
	if (type == ETH_TYPE_ARP)
		judge_arp(p, frame + header, len - header, received);
	else if (type == ETH_TYPE_IPV6)
		judge_ip6(p, frame + header, len - header, received);
}

void
addr_probe_listen(struct addr_probe *p, struct port *port)
{
	struct burst b;

	for (uint32_t n = 0; n < PROBE_BURSTS_MAX; n++) {
		b.count = 0;
		port->ops->rx(port, &b, BURST_MAX);
		for (uint32_t i = 0; i < b.count; i++)
			judge_frame(p, b.data[i], b.len[i]);
		port->ops->drop(port, b.frame, b.count);
		if (b.count < BURST_MAX)
			return;
	}
}

/* Sends a probe. False: the port has no frame, or does not accept it. */
static bool
ask(const struct addr_probe *p, uint16_t local)
{
	const struct net_link *link = &p->addrs->link[p->addrs->state[local].link];
	struct burst b;

	p->port->ops->alloc(p->port, &b, 1);
	if (b.count == 0)
		return false;
	if (link->vlan != 0) /* room for the tag in front */
		b.data[0] += ETH_TAG_BYTES;
	b.len[0] = addr_probe_emit(b.data[0], p->port->mac, &p->addrs->ip[local]);
	if (link->vlan != 0) {
		b.data[0] = eth_vlan_insert(b.data[0], link->tag);
		b.len[0] += ETH_TAG_BYTES;
	}
	if (p->port->ops->tx(p->port, &b) == 1)
		return true;
	p->port->ops->drop(p->port, b.frame, 1);
	return false;
}

/* Sends the remaining probes of a round. A probe that the port refuses is sent in the next call. */
static bool
ask_all(struct addr_probe *p)
{
	while (p->sent_now < p->addrs->numbers) {
		if (p->addrs->state[p->sent_now].live && !ask(p, (uint16_t)p->sent_now))
			return false;
		p->sent_now++;
	}
	p->sent_now = 0;
	p->sent++;
	return true;
}

/* Returns a random time, so that two hosts that start together probe at different moments. */
static uint64_t
random_ns(const struct addr_probe *p, uint64_t span_ns)
{
	return hash_word(p->sent, p->seed) % (span_ns + 1);
}

void
addr_probe_begin(struct addr_probe *p, uint64_t now_ns)
{
	p->state = ADDR_ASKED;
	p->sent = p->sent_now = 0;
	p->due_ns = now_ns + random_ns(p, p->pace->wait_max_ns);
	p->given_up_ns = now_ns + PROBE_SEND_NS;
}

enum addr_state
addr_probe_tick(struct addr_probe *p, bool link_up, uint64_t now_ns)
{
	const struct probe_pace *pace = p->pace;

	if (p->state != ADDR_ASKED)
		return p->state;
	if (!link_up) {
		p->sent = p->sent_now = 0;
		p->due_ns = now_ns + random_ns(p, pace->wait_max_ns);
	} else if (now_ns >= p->due_ns) {
		if (p->sent == PROBE_COUNT)
			return p->state = ADDR_FREE;
		if (ask_all(p)) {
			p->due_ns = now_ns +
				    (p->sent == PROBE_COUNT
					     ? pace->silence_ns
					     : pace->min_ns +
						       random_ns(p, pace->max_ns - pace->min_ns));
			p->given_up_ns = p->due_ns + PROBE_SEND_NS;
			return p->state;
		}
	}
	if (now_ns >= p->given_up_ns)
		p->state = ADDR_UNASKED;
	return p->state;
}

/*
 * arp_io.c - ARP (RFC 826): replies to requests, learns from packets, sends requests and
 * announcements.
 */
#include "neigh_table.h"
#include "net_inside.h"
#include "wire/arp_wire.h"

#define ARP_FRAME_BYTES (ETH_HEADER_BYTES + ARP_PACKET_BYTES)

static const uint8_t mac_broadcast[ETH_MAC_BYTES] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/* Requests the MAC of ip, from an address of ours. If ip is that address itself, the request is an
 * announcement. */
bool
arp_send_request(struct net *net, uint16_t local, const struct ip_addr *ip)
{
	uint8_t *p = tx_queue_begin(net);
	struct arp arp = {
		.op = ARP_REQUEST,
		.sender_ip = ip_addr_v4_get(&net->ip[local]),
		.target_ip = ip_addr_v4_get(ip),
	};

	if (p == NULL)
		return false;
	memcpy(arp.sender_mac, net->port->mac, ETH_MAC_BYTES);
	eth_emit(p, mac_broadcast, net->port->mac, ETH_TYPE_ARP);
	arp_emit(p + ETH_HEADER_BYTES, &arp);
	tx_queue_commit(net, local, ARP_FRAME_BYTES, 0);
	return true;
}

/* Learns the sender as RFC 826, "Packet Reception", demands: updates an existing entry, and adds
 * one only if the packet is a request to us. */
static void
arp_learn_sender(struct net *net, const struct arp *arp, uint32_t link, bool to_us)
{
	const struct ip_addr ip = ip_addr_v4(arp->sender_ip);
	bool learned;

	if (!route_uses(net, &ip, link))
		return; /* a probe (RFC 5227: sender 0), or not on-link */
	if (to_us)
		learned = neigh_learn_mt(net->neigh, &ip, arp->sender_mac, net->now_ns);
	else
		learned = neigh_update_mt(net->neigh, &ip, arp->sender_mac, net->now_ns);
	if (learned)
		net_count(net, ARP_LEARNED);
}

/* Answers a request. local: number of the requested address. */
static void
arp_send_reply(struct net *net, uint32_t rx_index, const struct arp *request, uint16_t local)
{
	uint8_t *p = net->in->rx.data[rx_index];
	struct arp reply = {
		.op = ARP_REPLY,
		.sender_ip = request->target_ip,
		.target_ip = request->sender_ip,
	};

	memcpy(reply.sender_mac, net->port->mac, ETH_MAC_BYTES);
	memcpy(reply.target_mac, request->sender_mac, ETH_MAC_BYTES);
	eth_emit(p, request->sender_mac, net->port->mac, ETH_TYPE_ARP);
	arp_emit(p + ETH_HEADER_BYTES, &reply);
	net->in->l3[rx_index].local = local;
	tx_queue_send_rx(net, rx_index, ARP_FRAME_BYTES, 0);
	net_count(net, ARP_REPLIES_SENT);
}

/* Returns the number of our address on the link; LOCAL_NONE: it is not ours. */
static uint16_t
find_ours(const struct net *net, uint32_t ip, uint8_t link)
{
	const struct ip_addr addr = ip_addr_v4(ip);

	return local_addrs_find(net->addrs, &addr, link);
}

/* Returns ARP_LEARNED if the packet is valid, otherwise the reason to drop it. *ours: with
 * ARP_CONFLICT, the number of the sender's address. */
static enum net_counter
check_arp(const struct net *net, struct arp *arp, const struct l3_info *l3, const uint8_t *p,
	  uint16_t *ours)
{
	switch (arp_parse(arp, p, l3->l4_len)) {
	case ARP_WIRE_TRUNCATED:
		return DROP_ARP_TRUNCATED;
	case ARP_WIRE_FORMAT:
		return DROP_ARP_FORMAT;
	case ARP_WIRE_SENDER:
		return DROP_ARP_SENDER;
	case ARP_WIRE_OK:
		break;
	}
	if (eth_mac_equal(arp->sender_mac, net->port->mac))
		return DROP_ARP_SENDER;
	*ours = find_ours(net, arp->sender_ip, l3->link);
	return *ours != LOCAL_NONE ? ARP_CONFLICT : ARP_LEARNED;
}

void
arp_input(struct net *net, uint32_t rx_index)
{
	const struct l3_info *l3 = &net->in->l3[rx_index];
	const uint8_t *p = net->in->rx.data[rx_index] + l3->l4_offset;
	struct arp arp;
	uint16_t local;
	const enum net_counter what = check_arp(net, &arp, l3, p, &local);

	if (what == ARP_LEARNED) {
		local = arp.op == ARP_REQUEST ? find_ours(net, arp.target_ip, l3->link)
					      : LOCAL_NONE;
		arp_learn_sender(net, &arp, l3->link, local != LOCAL_NONE);
		if (local != LOCAL_NONE) {
			if (!neigh_rate_limited(net, arp.sender_mac)) {
				arp_send_reply(net, rx_index, &arp, local);
				return;
			}
			net_count(net, DROP_NEIGH_RATE_LIMIT);
		}
	} else {
		net_count(net, what);
		if (what == ARP_CONFLICT)
			neigh_conflict(net, local, arp.sender_mac);
	}
	rx_frame_drop(net, rx_index);
}

/*
 * arp_io.c - ARP (RFC 826) as one core speaks it: answer, learn, ask, announce.
 *
 * Nobody can plant an entry unasked: a reply, or a request meant for others, only refreshes
 * what is in the table already. Entries are made by a request to us (its sender is about to
 * talk to us) and by our own question.
 */
#include "arp_table.h"
#include "stack_core.h"
#include "wire/arp_wire.h"

#define ARP_FRAME_BYTES (ETH_HEADER_BYTES + ARP_PACKET_BYTES)

static const uint8_t mac_broadcast[ETH_MAC_BYTES] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static bool
on_link(const struct stack *s, uint32_t ip)
{
	return ((ip ^ s->cfg.ipv4) & s->netmask) == 0;
}

static bool
route_uses(const struct stack *s, uint32_t ip)
{
	return ip != 0 && (on_link(s, ip) || ip == s->cfg.gateway);
}

/* Ask for ip, or for our own address: an announcement. */
static bool
arp_request(struct stack *s, uint32_t ip)
{
	uint8_t *p = outbox_begin(s);
	struct arp arp = {.op = ARP_REQUEST, .sender_ip = s->cfg.ipv4, .target_ip = ip};

	if (p == NULL)
		return false;
	memcpy(arp.sender_mac, s->port->mac, ETH_MAC_BYTES);
	eth_emit(p, mac_broadcast, s->port->mac, ETH_TYPE_ARP);
	arp_emit(p + ETH_HEADER_BYTES, &arp);
	outbox_commit(s, ARP_FRAME_BYTES, 0);
	return true;
}

void
next_hop_mac(struct stack *s, const struct ip_addr *dst, const uint8_t fallback[6], uint8_t mac[6])
{
	const uint32_t dst_ip = ip_addr_v4_get(dst);
	const uint32_t hop = on_link(s, dst_ip) ? dst_ip : s->cfg.gateway;
	enum arp_state state;

	memcpy(mac, fallback, ETH_MAC_BYTES);
	if (hop == 0)
		return; /* no route: only the way back is known */
	state = arp_lookup_mt(s->arp, hop, s->now_ns, mac);
	if (likely(state == ARP_REACHABLE))
		return;
	if (outbox_room(s) != 0 && arp_may_ask_mt(s->arp, hop, s->now_ns) && arp_request(s, hop))
		stack_count(s, ARP_ASKED);
}

/* RFC 826, "Packet Reception": merge first; add only if the packet is a request to us. */
static void
arp_note_sender(struct stack *s, const struct arp *arp)
{
	const bool to_us = arp->op == ARP_REQUEST && arp->target_ip == s->cfg.ipv4;
	bool noted;

	if (!route_uses(s, arp->sender_ip))
		return; /* a probe (RFC 5227: sender 0), or nobody we send to by ARP */
	if (to_us)
		noted = arp_learn_mt(s->arp, arp->sender_ip, arp->sender_mac, s->now_ns);
	else
		noted = arp_update_mt(s->arp, arp->sender_ip, arp->sender_mac, s->now_ns);
	if (noted)
		stack_count(s, ARP_LEARNED);
}

static void
arp_answer(struct stack *s, uint32_t rx_index, const struct arp *request)
{
	uint8_t *p = s->in->rx.data[rx_index];
	struct arp reply = {
		.op = ARP_REPLY,
		.sender_ip = s->cfg.ipv4,
		.target_ip = request->sender_ip,
	};

	memcpy(reply.sender_mac, s->port->mac, ETH_MAC_BYTES);
	memcpy(reply.target_mac, request->sender_mac, ETH_MAC_BYTES);
	eth_emit(p, request->sender_mac, s->port->mac, ETH_TYPE_ARP);
	arp_emit(p + ETH_HEADER_BYTES, &reply);
	outbox_return(s, rx_index, ARP_FRAME_BYTES, 0);
	stack_count(s, ARP_ANSWERED);
}

/* The counter of the reason to drop the packet; ARP_LEARNED: it is fine. */
static enum stack_counter
check_arp(const struct stack *s, struct arp *arp, const uint8_t *p, uint32_t len)
{
	switch (arp_parse(arp, p, len)) {
	case ARP_WIRE_CUT:
		return DROP_ARP_CUT;
	case ARP_WIRE_FORMAT:
		return DROP_ARP_FORMAT;
	case ARP_WIRE_SENDER:
		return DROP_ARP_SENDER;
	case ARP_WIRE_OK:
		break;
	}
	if (eth_mac_equal(arp->sender_mac, s->port->mac))
		return DROP_ARP_SENDER;
	if (arp->sender_ip == s->cfg.ipv4)
		return ARP_CONFLICT;
	return ARP_LEARNED;
}

void
arp_input(struct stack *s, uint32_t rx_index)
{
	const struct l3_info *l3 = &s->in->l3[rx_index];
	const uint8_t *p = s->in->rx.data[rx_index] + l3->l4_offset;
	struct arp arp;
	const enum stack_counter what = check_arp(s, &arp, p, l3->l4_len);

	if (what == ARP_LEARNED) {
		arp_note_sender(s, &arp);
		if (arp.op == ARP_REQUEST && arp.target_ip == s->cfg.ipv4) {
			arp_answer(s, rx_index, &arp);
			return;
		}
	} else {
		stack_count(s, what);
	}
	outbox_waive(s, rx_index);
}

void
arp_tick(struct stack *s)
{
	/* Neighbours may still have the MAC of whoever had our address before. */
	if (s->announced || outbox_room(s) == 0)
		return;
	if (arp_may_announce_mt(s->arp) && arp_request(s, s->cfg.ipv4))
		stack_count(s, ARP_ASKED);
	s->announced = true;
}

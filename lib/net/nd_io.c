/*
 * nd_io.c - neighbour discovery (RFC 4861) for a host: answers solicitations, learns from messages,
 * solicits neighbours, and announces our addresses.
 *
 * Addresses and prefixes are configured. Router advertisements yield a default router if the
 * configuration asks for that (router_list.h); otherwise they are counted and ignored, as redirects
 * are. From RFC 4862: probes for our addresses are answered, and conflicts are counted and answered
 * (neigh_io.c). Our own probes are in addr_probe.c.
 */
#include "neigh_table.h"
#include "net_inside.h"
#include "router_list.h"
#include "base/time_units.h"
#include "wire/eth_wire.h"
#include "wire/icmp6_wire.h"
#include "wire/inet_cksum.h"
#include "wire/ipv6_wire.h"

#define ND_FRAME_BYTES (ETH_HEADER_BYTES + IPV6_HEADER_BYTES + ND_EMIT_BYTES)

/* Destination and source of a message. */
struct nd_dest {
	const uint8_t *mac;
	struct ip_addr dst;
	uint16_t local;
};

/* Writes the headers before a message of len bytes, and the checksum. */
static void
nd_wrap(const struct net *net, uint8_t *frame, const struct nd_dest *dest, uint32_t len)
{
	struct ipv6_header *ip = (struct ipv6_header *)(frame + ETH_HEADER_BYTES);
	uint8_t *p = (uint8_t *)(ip + 1);
	struct be16 cksum;

	eth_emit(frame, dest->mac, net->port->mac, ETH_TYPE_IPV6);
	ipv6_emit((uint8_t *)ip, &net->ip[dest->local], &dest->dst, IPV6_ICMP, len);
	ip->hop_limit = ND_HOP_LIMIT;
	cksum = inet_cksum(
		inet_sum(inet_sum_pseudo6(ip->src.b, ip->dst.b, IPV6_ICMP, len), p, len));
	memcpy(p + ICMP6_CKSUM_OFFSET, &cksum, sizeof cksum);
}

static void
nd_write(const struct net *net, uint8_t *frame, const struct nd_dest *dest, struct nd *nd)
{
	memcpy(nd->mac, net->port->mac, ETH_MAC_BYTES);
	nd_emit(frame + ETH_HEADER_BYTES + IPV6_HEADER_BYTES, nd);
	nd_wrap(net, frame, dest, ND_EMIT_BYTES);
}

/* Sends a message in a fresh frame to a group. */
static bool
nd_send(struct net *net, uint16_t local, const struct ip_addr *group, struct nd *nd)
{
	uint8_t *frame = tx_queue_begin(net);
	uint8_t mac[ETH_MAC_BYTES];
	const struct nd_dest dest = {mac, *group, local};

	if (frame == NULL)
		return false;
	ipv6_group_mac(group, mac);
	nd_write(net, frame, &dest, nd);
	tx_queue_commit(net, local, ND_FRAME_BYTES, 0);
	return true;
}

/* Solicits a neighbour (RFC 4861 section 7.2.2), also if it has a stale entry. */
bool
nd_send_solicit(struct net *net, uint16_t local, const struct ip_addr *ip)
{
	const struct ip_addr group = ipv6_solicited_node(ip);
	struct nd nd = {.type = ICMP6_NEIGH_SOLICIT, .target = *ip};

	return net->ipv6_enabled && nd_send(net, local, &group, &nd);
}

/* Sends an unsolicited advertisement (RFC 4861 section 7.2.6), which replaces an old MAC in
 * neighbours' caches. */
bool
nd_send_unsolicited(struct net *net, uint16_t local)
{
	const struct ip_addr all = ipv6_all_nodes();
	struct nd nd = {
		.type = ICMP6_NEIGH_ADVERT,
		.flags = ND_OVERRIDE,
		.target = net->ip[local],
	};

	return nd_send(net, local, &all, &nd);
}

/* Solicits routers (RFC 4861 section 6.3.7), which answer with an advertisement. */
bool
nd_send_router_solicit(struct net *net)
{
	const struct ip_addr all = ipv6_all_routers();
	const uint16_t local = net->addrs->link[LINK_FIRST].local6;
	uint8_t *frame = local == LOCAL_NONE ? NULL : tx_queue_begin(net);
	uint8_t mac[ETH_MAC_BYTES];
	const struct nd_dest dest = {mac, all, local};

	if (frame == NULL)
		return false;
	ipv6_group_mac(&all, mac);
	router_solicit_emit(frame + ETH_HEADER_BYTES + IPV6_HEADER_BYTES, net->port->mac);
	nd_wrap(net, frame, &dest, ROUTER_SOLICIT_BYTES);
	tx_queue_commit(net, local, ETH_HEADER_BYTES + IPV6_HEADER_BYTES + ROUTER_SOLICIT_BYTES, 0);
	return true;
}

/* Answers a solicitation in its own frame: to the sender, or to all nodes if the sender has no
 * address yet. local: number of the target. */
static void
nd_send_advert(struct net *net, uint32_t rx_index, const struct nd *asked, uint16_t local)
{
	const struct ip_addr *src = &net->in->l3[rx_index].src_ip;
	const struct ip_addr all = ipv6_all_nodes();
	const bool probe = ip_addr_is_zero(src);
	uint8_t *frame = net->in->rx.data[rx_index];
	uint8_t mac[ETH_MAC_BYTES];
	const struct nd_dest dest = {mac, probe ? all : *src, local};
	struct nd nd = {
		.type = ICMP6_NEIGH_ADVERT,
		.flags = ND_OVERRIDE | (probe ? 0 : ND_SOLICITED),
		.target = asked->target,
	};

	if (probe)
		ipv6_group_mac(&all, mac);
	else
		memcpy(mac, ((struct eth_header *)frame)->src, sizeof mac);
	nd_write(net, frame, &dest, &nd);
	net->in->l3[rx_index].local = local;
	tx_queue_send_rx(net, rx_index, ND_FRAME_BYTES, 0);
}

static const struct ipv6_header *
header_of(const struct net *net, uint32_t rx_index)
{
	return (const struct ipv6_header *)(net->in->rx.data[rx_index] + ETH_HEADER_BYTES);
}

/* Refreshes or adds the entry of a neighbour that solicits us. */
static bool
learn_source(struct net *net, const struct l3_info *l3, const struct nd *nd)
{
	const struct ip_addr key = neigh_key(net, &l3->src_ip, l3->link);

	return nd->has_mac && route_uses(net, &l3->src_ip, l3->link) &&
	       neigh_learn_mt(net->neigh, &key, nd->mac, net->now_ns);
}

/* Handles a solicitation (RFC 4861 section 7.2.3). local: number of the target. Returns
 * ND_ADVERTS_SENT if an advertisement must be sent. */
static enum net_counter
process_solicitation(struct net *net, uint32_t rx_index, const struct nd *nd, uint16_t local)
{
	const struct l3_info *l3 = &net->in->l3[rx_index];

	if (local == LOCAL_NONE)
		return DROP_ND_TARGET;
	if (ip_addr_is_zero(&l3->src_ip)) {
		/* Section 7.1.1: the checks of a duplicate address probe. */
		if (nd->has_mac || !ipv6_is_group(&header_of(net, rx_index)->dst))
			return DROP_ND_FORMAT;
		net_count(net, ND_CONFLICT);
	} else if (learn_source(net, l3, nd)) {
		net_count(net, ND_LEARNED);
	}
	return neigh_rate_limited(net, ((const struct eth_header *)net->in->rx.data[rx_index])->src)
		       ? DROP_NEIGH_RATE_LIMIT
		       : ND_ADVERTS_SENT;
}

/* Handles an advertisement (RFC 4861 section 7.2.5). If OVERRIDE is clear, a MAC other than the
 * known one is ignored; if SOLICITED is clear, the known MAC is not confirmed. */
static enum net_counter
process_advertisement(struct net *net, uint32_t rx_index, const struct nd *nd, uint16_t local)
{
	const struct eth_header *eth = (const struct eth_header *)net->in->rx.data[rx_index];
	const struct ip_addr key = neigh_key(net, &nd->target, net->in->l3[rx_index].link);
	uint8_t known[ETH_MAC_BYTES];
	enum neigh_state state;

	if (ipv6_is_group(&header_of(net, rx_index)->dst) && (nd->flags & ND_SOLICITED))
		return DROP_ND_FORMAT; /* section 7.1.2 */
	if (local != LOCAL_NONE) {
		neigh_conflict(net, local, nd->has_mac ? nd->mac : eth->src);
		return ND_CONFLICT;
	}
	if (!nd->has_mac)
		return DROP_ND_UNSOLICITED;
	state = neigh_lookup_mt(net->neigh, &key, net->now_ns, known);
	if (state != NEIGH_UNKNOWN &&
	    !(nd->flags & (eth_mac_equal(known, nd->mac) ? ND_SOLICITED : ND_OVERRIDE)))
		return DROP_ND_UNSOLICITED;
	return neigh_update_mt(net->neigh, &key, nd->mac, net->now_ns) ? ND_LEARNED
								       : DROP_ND_UNSOLICITED;
}

/* Notes a router. RFC 4861 section 6.1.2: an advertisement must come from a link-local address. */
static enum net_counter
process_router(struct net *net, uint32_t rx_index)
{
	const struct l3_info *l3 = &net->in->l3[rx_index];
	struct router_list *routers = neigh_routers(net->neigh);
	struct router seen = {.ip = l3->src_ip};
	struct router_advert ra;

	if (!routers->asked || l3->link != LINK_FIRST)
		return DROP_ND_ROUTER;
	if (!ip_addr_is_link_local(&seen.ip) ||
	    !router_advert_parse(&ra, net->in->rx.data[rx_index] + l3->l4_offset, l3->l4_len))
		return DROP_ND_FORMAT;
	if (ra.lifetime_s != 0)
		seen.until_ns = net->now_ns + ra.lifetime_s * NS_PER_S;
	seen.preference = ra.preference;
	return router_list_note_mt(routers, &seen, net->now_ns) ? ND_ROUTER_NOTED : DROP_ND_ROUTER;
}

/* True for a fragment, in which neighbour discovery is dropped (RFC 6980 section 5). classify.c has
 * validated the header chain. */
static bool
in_fragment(const struct ipv6_header *h)
{
	const uint8_t *ext = (const uint8_t *)(h + 1);
	uint8_t next = h->next;

	for (uint32_t n = 0; n < IPV6_EXT_MAX && next != IPV6_ICMP; n++) {
		if (next == IPV6_FRAGMENT)
			return true;
		next = ext[0];
		ext += (ext[1] + 1u) * IPV6_EXT_UNIT;
	}
	return false;
}

static enum net_counter
process_message(struct net *net, uint32_t rx_index)
{
	const struct l3_info *l3 = &net->in->l3[rx_index];
	const uint8_t *p = net->in->rx.data[rx_index] + l3->l4_offset;
	const struct icmp6_header *h = (const struct icmp6_header *)p;
	uint16_t local;
	struct nd nd;

	if (header_of(net, rx_index)->hop_limit != ND_HOP_LIMIT)
		return DROP_ND_HOP_LIMIT;
	if (h->type != ICMP6_NEIGH_SOLICIT && h->type != ICMP6_NEIGH_ADVERT &&
	    h->type != ICMP6_ROUTER_ADVERT)
		return DROP_ND_ROUTER;
	if (h->code != 0 || in_fragment(header_of(net, rx_index)))
		return DROP_ND_FORMAT;
	if (h->type == ICMP6_ROUTER_ADVERT)
		return process_router(net, rx_index);
	switch (nd_parse(&nd, p, l3->l4_len)) {
	case ND_WIRE_TRUNCATED:
	case ND_WIRE_TARGET:
	case ND_WIRE_OPTION:
		return DROP_ND_FORMAT;
	case ND_WIRE_MAC:
		return DROP_ND_SENDER;
	case ND_WIRE_OK:
		break;
	}
	if (nd.has_mac && eth_mac_equal(nd.mac, net->port->mac))
		return DROP_ND_SENDER;
	local = local_addrs_find(net->addrs, &nd.target, l3->link);
	if (h->type == ICMP6_NEIGH_SOLICIT) {
		const enum net_counter what = process_solicitation(net, rx_index, &nd, local);

		if (what == ND_ADVERTS_SENT)
			nd_send_advert(net, rx_index, &nd, local);
		return what;
	}
	return process_advertisement(net, rx_index, &nd, local);
}

void
nd_input(struct net *net, uint32_t rx_index)
{
	const enum net_counter what = process_message(net, rx_index);

	net_count(net, what);
	if (what != ND_ADVERTS_SENT)
		rx_frame_drop(net, rx_index);
}

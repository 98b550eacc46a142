/*
 * neigh_io.c - routing (next hop, source address), resolution of next hops, and announcements, for
 * both families.
 *
 * Invariant: entries are created only by packets that ask for our address and by our own requests;
 * all other packets refresh existing ones (tests/unit/net/test_arp, test_nd).
 */
#include "addr_probe.h"
#include "neigh_table.h"
#include "net_inside.h"
#include "base/hash.h"
#include "wire/eth_wire.h"
#include "wire/ipv6_wire.h"

/* Returns the next hop of a packet from a local address; zero: there is no route on its link. */
static struct ip_addr
next_hop(const struct net *net, struct ip_dest to)
{
	const struct route *route;

	if (unlikely(ip_addr_is_link_local(to.dst)))
		return *to.dst;
	route = routes_find(&net->addrs->routes, to.dst);
	if (route == NULL || route->link != link_of_local(net, to.local))
		return (struct ip_addr){0};
	return ip_addr_is_zero(&route->gateway) ? *to.dst : route->gateway;
}

/* Decides as RFC 4861 section 5.2 does, with the configured prefixes. */
bool
route_uses(const struct net *net, const struct ip_addr *ip, uint32_t link)
{
	const struct routes *routes = &net->addrs->routes;
	const struct route *route;

	if (ip_addr_is_zero(ip) || (ip_addr_is_v4(ip) && ip_addr_v4_get(ip) == 0))
		return false;
	if (ip_addr_is_link_local(ip))
		return true;
	route = routes_find(routes, ip);
	return route != NULL && route->link == link && ip_addr_is_zero(&route->gateway);
}

/* The VLAN ID takes the place of two bytes that are zero in every link-local address (RFC 4291
 * section 2.5.6). */
struct ip_addr
neigh_key(const struct net *net, const struct ip_addr *ip, uint32_t link)
{
	const uint16_t vlan = net->addrs->link[link].vlan;
	struct ip_addr key = *ip;

	if (unlikely(vlan != 0) && ip_addr_is_link_local(ip)) {
		key.b[2] = (uint8_t)(vlan >> 8);
		key.b[3] = (uint8_t)vlan;
	}
	return key;
}

uint16_t
local_addr_select(const struct net *net, const struct ip_addr *dst)
{
	const struct local_addrs *a = net->addrs;
	const struct route *route;
	uint16_t local;

	if (ip_addr_is_link_local(dst))
		return a->link[LINK_FIRST].local6;
	route = routes_find(&a->routes, dst);
	if (route != NULL)
		return route->local;
	local = local_addrs_next(a, 0, ip_addr_is_v4(dst));
	return local == LOCAL_NONE && !ip_addr_is_v4(dst) ? a->link[LINK_FIRST].local6 : local;
}

uint32_t
route_mtu(const struct net *net, const struct ip_addr *dst)
{
	const struct route *route;

	if (likely(net->addrs->routes.mtu_min == 0))
		return net->port->mtu;
	route = routes_find(&net->addrs->routes, dst);
	return route != NULL && route->mtu != 0 && route->mtu < net->port->mtu ? route->mtu
									       : net->port->mtu;
}

/* Each group of stations has its own limit. With a single one a flood of requests would use up all
 * replies, and honest stations could not reach us. */
bool
neigh_rate_limited(struct net *net, const uint8_t mac[6])
{
	const uint64_t station = load_u32(mac) | (uint64_t)load_u16(mac + 4) << 32;
	const uint64_t h = hash_word(station, net->cfg.seed);

	return !rate_limit_allow(&net->neigh_limit[h % NEIGH_LIMITS], net->now_ns,
				 NEIGH_REPLIES_MAX);
}

/* Solicits a next hop, from an address in its subnet, since it may not answer others. blind: no MAC
 * is known for it. */
static void
solicit(struct net *net, const struct ip_addr *hop, uint32_t link, bool blind)
{
	const struct ip_addr key = neigh_key(net, hop, link);
	const uint16_t local = ip_addr_is_link_local(hop) ? net->addrs->link[link].local6
							  : local_addr_select(net, hop);

	if (local == LOCAL_NONE || tx_queue_room(net) == 0 ||
	    !neigh_may_solicit_mt(net->neigh, &key, blind, net->now_ns))
		return;
	if (!ip_addr_is_v4(hop)) {
		if (nd_send_solicit(net, local, hop))
			net_count(net, ND_SOLICITS_SENT);
	} else if (arp_send_request(net, local, hop)) {
		net_count(net, ARP_REQUESTS_SENT);
	}
}

void
next_hop_mac(struct net *net, struct ip_dest to, const uint8_t fallback[6], uint8_t mac[6])
{
	const struct ip_addr hop = next_hop(net, to);
	const uint32_t link = link_of_local(net, to.local);
	const struct ip_addr key = neigh_key(net, &hop, link);
	static const uint8_t unknown[ETH_MAC_BYTES];

	memcpy(mac, fallback, ETH_MAC_BYTES);
	if (ip_addr_is_zero(&hop))
		return; /* no route: the fallback is used */
	if (likely(neigh_lookup_mt(net->neigh, &key, net->now_ns, mac) == NEIGH_REACHABLE))
		return;
	solicit(net, &hop, link, eth_mac_equal(mac, unknown));
}

void
next_hop_doubt(struct net *net, struct ip_dest to)
{
	const struct ip_addr hop = next_hop(net, to);

	if (!ip_addr_is_zero(&hop))
		solicit(net, &hop, link_of_local(net, to.local), false);
}

bool
next_hop_reachable(const struct net *net, struct ip_dest to, uint8_t mac[6], uint64_t *until_ns)
{
	const struct ip_addr hop = next_hop(net, to);
	const struct ip_addr key = neigh_key(net, &hop, link_of_local(net, to.local));

	return !ip_addr_is_zero(&hop) &&
	       neigh_reachable_mt(net->neigh, &key, net->now_ns, mac, until_ns);
}

/* Announces our address again, so that neighbours that believed the other host learn our MAC again.
 * RFC 5227 section 2.4 (c) requires this of a host that must keep its address; RFC 4862 section
 * 5.4.4 permits it. */
void
neigh_conflict(struct net *net, uint16_t local, const uint8_t mac[6])
{
	neigh_note_conflict_mt(net->neigh, local, mac);
	if (tx_queue_room(net) == 0 || !neigh_may_defend_mt(net->neigh, local, net->now_ns))
		return;
	if (local_is_v4(local) ? arp_send_request(net, local, &net->ip[local])
			       : nd_send_unsolicited(net, local))
		net_count(net, ADDRESS_DEFENDED);
}

/* Probes our address again after the link was down, since the link may lead to another network now,
 * in which a host has that address. Its answer counts as a conflict. An address that a reload added
 * is probed as well. */
static void
probe_again(struct net *net, uint16_t local)
{
	uint8_t *frame = tx_queue_begin(net);

	if (frame == NULL)
		return;
	tx_queue_commit(net, local, addr_probe_emit(frame, net->port->mac, &net->ip[local]), 0);
	net_count(net, ADDRESS_PROBES);
}

static void
announce(struct net *net, uint16_t local)
{
	if (local_is_v4(local)) {
		if (arp_send_request(net, local, &net->ip[local]))
			net_count(net, ARP_REQUESTS_SENT);
	} else if (nd_send_unsolicited(net, local)) {
		net_count(net, ND_SOLICITS_SENT);
	}
}

/* Calls what() for up to ANNOUNCE_BURST addresses from announce_next on, while the queue has room.
 * Returns the number at which to continue. */
static uint32_t
each_address(struct net *net, void (*what)(struct net *net, uint16_t local))
{
	uint32_t at = net->announce_next;

	for (uint32_t n = 0; at < net->addrs->numbers; at++) {
		if (!net->addrs->state[at].live)
			continue;
		if (n++ == ANNOUNCE_BURST || tx_queue_room(net) == 0)
			return at;
		what(net, (uint16_t)at);
	}
	return at;
}

/* Solicits routers, if the configuration asks for one, at the start and after a link-up. */
static void
solicit_routers(struct net *net)
{
	if (neigh_routers(net->neigh)->asked && net->ipv6_enabled && tx_queue_room(net) != 0 &&
	    nd_send_router_solicit(net))
		net_count(net, ND_SOLICITS_SENT);
}

/* Announces some addresses. True: all of them are announced. */
static bool
announce_some(struct net *net)
{
	if (tx_queue_room(net) < 2 * ANNOUNCE_BURST)
		return false;
	if (net->announce_next == 0 && !mld_announce(net))
		return false;
	if (net->announces_left == ANNOUNCE_COUNT && net->announce_round != NEIGH_ROUND_FIRST)
		(void)each_address(net, probe_again);
	net->announce_next = each_address(net, announce);
	if (net->announce_next < net->addrs->numbers)
		return false;
	net->announce_next = 0;
	solicit_routers(net);
	return true;
}

/* Announces our addresses (RFC 5227 section 2.3, RFC 4861 section 7.2.6), since neighbours may know
 * another MAC for them and switches another port. Announcements are not acknowledged, so they are
 * repeated. */
void
neigh_tick(struct net *net)
{
	const uint32_t round = neigh_announce_round_mt(net->neigh);

	if (unlikely(round != net->announce_round)) {
		net->announce_round = round;
		net->announces_left = neigh_may_announce_mt(net->neigh, round) ? ANNOUNCE_COUNT : 0;
		net->announce_at_ns = net->now_ns;
		net->announce_next = 0;
		mld_announce_begin(net);
	}
	if (likely(net->announces_left == 0) || net->now_ns < net->announce_at_ns ||
	    !announce_some(net))
		return;
	net->announces_left--;
	net->announce_at_ns = net->now_ns + ANNOUNCE_NS;
}

uint64_t
neigh_next(const struct net *net)
{
	if (neigh_announce_round_mt(net->neigh) != net->announce_round)
		return 0;
	return net->announces_left != 0 && net->announce_at_ns < net->mld.due_ns
		       ? net->announce_at_ns
		       : net->mld.due_ns;
}

/*
 * neigh_io.c - routing (next hop, source address), resolution of next hops, and announcements, for
 * both families.
 *
 * Invariant: only packets that ask for our address and our own requests create entries; all others
 * refresh existing ones (tests/unit/net/test_arp, test_nd).
 */
#include "addr_probe.h"
#include "neigh_table.h"
#include "net_core.h"
#include "base/hash.h"
#include "wire/eth_wire.h"
#include "wire/ipv6_wire.h"

static_assert(NEIGH_OURS == LOCAL_COUNT, "the neighbour table numbers our addresses");

static bool
on_link4(const struct net *net, const struct ip_addr *ip)
{
	return ((ip_addr_v4_get(ip) ^ net->cfg.ipv4) & net->netmask) == 0;
}

/* RFC 4861 section 5.2; prefixes are configured. */
static bool
on_link6(const struct net *net, const struct ip_addr *ip)
{
	return ipv6_is_link_local(ip) ||
	       (!ip_addr_is_zero(&net->cfg.ipv6) &&
		ip_addr_same_prefix(ip, &net->cfg.ipv6, net->cfg.prefix6_len));
}

/* Returns the next hop of dst; zero: no route. */
static const struct ip_addr *
next_hop(const struct net *net, const struct ip_addr *dst)
{
	if (likely(ip_addr_is_v4(dst)))
		return on_link4(net, dst) ? dst : &net->router4;
	return on_link6(net, dst) ? dst : &net->cfg.gateway6;
}

bool
route_uses(const struct net *net, const struct ip_addr *ip)
{
	if (ip_addr_is_v4(ip))
		return ip_addr_v4_get(ip) != 0 &&
		       (on_link4(net, ip) || ip_addr_equal(ip, &net->router4));
	return !ip_addr_is_zero(ip) && (on_link6(net, ip) || ip_addr_equal(ip, &net->cfg.gateway6));
}

/* RFC 6724 section 5, rules 2 and 3: the address of the same scope. */
uint8_t
local_addr_select(const struct net *net, const struct ip_addr *dst)
{
	if (ip_addr_is_v4(dst))
		return LOCAL_V4;
	return ipv6_is_link_local(dst) || ip_addr_is_zero(&net->ip[LOCAL_GLOBAL6]) ? LOCAL_LINK6
										   : LOCAL_GLOBAL6;
}

/* A limit for each group of stations. With a single limit, a flood of requests would use up the
 * replies of honest stations, which then could not reach us. */
bool
neigh_rate_limited(struct net *net, const uint8_t mac[6])
{
	const uint64_t station = load_u32(mac) | (uint64_t)load_u16(mac + 4) << 32;
	const uint64_t h = hash_word(station, net->cfg.seed);

	return !rate_limit_allow(&net->neigh_limit[h % NEIGH_LIMITS], net->now_ns,
				 NEIGH_REPLIES_MAX);
}

static void
solicit(struct net *net, const struct ip_addr *hop)
{
	if (tx_queue_room(net) == 0 || !neigh_may_solicit_mt(net->neigh, hop, net->now_ns))
		return;
	if (!ip_addr_is_v4(hop)) {
		if (nd_send_solicit(net, hop))
			net_count(net, ND_SOLICITS_SENT);
	} else if (arp_send_request(net, hop)) {
		net_count(net, ARP_REQUESTS_SENT);
	}
}

void
next_hop_mac(struct net *net, const struct ip_addr *dst, const uint8_t fallback[6], uint8_t mac[6])
{
	const struct ip_addr *hop = next_hop(net, dst);

	memcpy(mac, fallback, ETH_MAC_BYTES);
	if (ip_addr_is_zero(hop))
		return; /* no route: the fallback is used */
	if (likely(neigh_lookup_mt(net->neigh, hop, net->now_ns, mac) == NEIGH_REACHABLE))
		return;
	solicit(net, hop);
}

void
next_hop_doubt(struct net *net, const struct ip_addr *dst)
{
	const struct ip_addr *hop = next_hop(net, dst);

	if (!ip_addr_is_zero(hop))
		solicit(net, hop);
}

bool
next_hop_reachable(const struct net *net, const struct ip_addr *dst, uint8_t mac[6],
		   uint64_t *until_ns)
{
	const struct ip_addr *hop = next_hop(net, dst);

	return !ip_addr_is_zero(hop) &&
	       neigh_reachable_mt(net->neigh, hop, net->now_ns, mac, until_ns);
}

/*
 * Announces our address again. RFC 5227 section 2.4 (c) has this for a host that must keep its
 * address; RFC 4862 section 5.4.4 leaves it open. Neighbours that believed the other host learn our
 * MAC again.
 */
void
neigh_conflict(struct net *net, uint8_t local, const uint8_t mac[6])
{
	neigh_note_conflict_mt(net->neigh, local, mac);
	if (tx_queue_room(net) == 0 || !neigh_may_defend_mt(net->neigh, local, net->now_ns))
		return;
	if (local == LOCAL_V4 ? arp_send_request(net, &net->ip[LOCAL_V4])
			      : nd_send_unsolicited(net, local))
		net_count(net, ADDRESS_DEFENDED);
}

/* Probes our addresses again after the link was down: it may lead to another network, where others
 * have them. The owner answers, which is a conflict. */
static void
probe_again(struct net *net)
{
	for (uint8_t local = LOCAL_V4; local < LOCAL_COUNT; local++) {
		uint8_t *frame = ip_addr_is_zero(&net->ip[local]) ? NULL : tx_queue_begin(net);

		if (frame == NULL)
			continue;
		tx_queue_commit(net, addr_probe_emit(frame, net->port->mac, &net->ip[local]), 0);
		net_count(net, ADDRESS_PROBES);
	}
}

static void
announce(struct net *net)
{
	if (arp_send_request(net, &net->ip[LOCAL_V4]))
		net_count(net, ARP_REQUESTS_SENT);
	for (uint8_t local = LOCAL_LINK6; local <= LOCAL_GLOBAL6; local++)
		if (!ip_addr_is_zero(&net->ip[local]) && nd_send_unsolicited(net, local))
			net_count(net, ND_SOLICITS_SENT);
}

/*
 * RFC 5227 section 2.3, RFC 4861 section 7.2.6: announces our addresses, for which neighbours may
 * have another MAC and switches another port. Repeated, since announcements are not
 * acknowledged.
 */
void
neigh_tick(struct net *net)
{
	const uint32_t round = neigh_announce_round_mt(net->neigh);

	if (unlikely(round != net->announce_round)) {
		net->announce_round = round;
		net->announces_left = neigh_may_announce_mt(net->neigh, round) ? ANNOUNCE_COUNT : 0;
		net->announce_at_ns = net->now_ns;
	}
	if (likely(net->announces_left == 0) || net->now_ns < net->announce_at_ns ||
	    tx_queue_room(net) < 2 * LOCAL_COUNT)
		return;
	if (net->announces_left == ANNOUNCE_COUNT && net->announce_round != NEIGH_ROUND_FIRST)
		probe_again(net);
	announce(net);
	net->announces_left--;
	net->announce_at_ns = net->now_ns + ANNOUNCE_NS;
}

uint64_t
neigh_next(const struct net *net)
{
	if (neigh_announce_round_mt(net->neigh) != net->announce_round)
		return 0;
	return net->announces_left != 0 ? net->announce_at_ns : UINT64_MAX;
}

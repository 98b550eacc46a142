/*
 * neigh_io.c - routing (next hop, source address), resolution of next hops, and announcements, for
 * both families.
 *
 * Invariant: only packets that ask for our address and our own requests create entries; all others
 * refresh existing ones (tests/unit/stack/test_arp, test_nd).
 */
#include "neigh_table.h"
#include "stack_core.h"
#include "base/hash.h"
#include "wire/eth_wire.h"
#include "wire/ipv6_wire.h"

static bool
on_link4(const struct stack *s, const struct ip_addr *ip)
{
	return ((ip_addr_v4_get(ip) ^ s->cfg.ipv4) & s->netmask) == 0;
}

/* RFC 4861 section 5.2; prefixes are configured. */
static bool
on_link6(const struct stack *s, const struct ip_addr *ip)
{
	return ipv6_is_link_local(ip) ||
	       (!ip_addr_is_zero(&s->cfg.ipv6) &&
		ip_addr_same_prefix(ip, &s->cfg.ipv6, s->cfg.prefix6_len));
}

/* The next hop of dst; zero: no route. */
static const struct ip_addr *
next_hop(const struct stack *s, const struct ip_addr *dst)
{
	if (likely(ip_addr_is_v4(dst)))
		return on_link4(s, dst) ? dst : &s->router4;
	return on_link6(s, dst) ? dst : &s->cfg.gateway6;
}

bool
route_uses(const struct stack *s, const struct ip_addr *ip)
{
	if (ip_addr_is_v4(ip))
		return ip_addr_v4_get(ip) != 0 &&
		       (on_link4(s, ip) || ip_addr_equal(ip, &s->router4));
	return !ip_addr_is_zero(ip) && (on_link6(s, ip) || ip_addr_equal(ip, &s->cfg.gateway6));
}

/* RFC 6724 section 5, rules 2 and 3: the address of the same scope. */
uint8_t
local_addr_select(const struct stack *s, const struct ip_addr *dst)
{
	if (ip_addr_is_v4(dst))
		return LOCAL_V4;
	return ipv6_is_link_local(dst) || ip_addr_is_zero(&s->ip[LOCAL_GLOBAL6]) ? LOCAL_LINK6
										 : LOCAL_GLOBAL6;
}

/* A limit for each group of stations: with one for all, a flood of requests would use up the
 * replies of honest stations, which then could not reach us. */
bool
neigh_rate_limited(struct stack *s, const uint8_t mac[6])
{
	const uint64_t station = load_u32(mac) | (uint64_t)load_u16(mac + 4) << 32;
	const uint64_t h = hash_word(station, s->cfg.seed);

	return !rate_limit_allow(&s->neigh_limit[h % NEIGH_LIMITS], s->now_ns, NEIGH_REPLIES_MAX);
}

static void
solicit(struct stack *s, const struct ip_addr *hop)
{
	if (tx_queue_room(s) == 0 || !neigh_may_solicit_mt(s->neigh, hop, s->now_ns))
		return;
	if (!ip_addr_is_v4(hop)) {
		if (nd_send_solicit(s, hop))
			stack_count(s, ND_SOLICITS_SENT);
	} else if (arp_send_request(s, hop)) {
		stack_count(s, ARP_REQUESTS_SENT);
	}
}

void
next_hop_mac(struct stack *s, const struct ip_addr *dst, const uint8_t fallback[6], uint8_t mac[6])
{
	const struct ip_addr *hop = next_hop(s, dst);

	memcpy(mac, fallback, ETH_MAC_BYTES);
	if (ip_addr_is_zero(hop))
		return; /* no route: fallback */
	if (likely(neigh_lookup_mt(s->neigh, hop, s->now_ns, mac) == NEIGH_REACHABLE))
		return;
	solicit(s, hop);
}

void
next_hop_doubt(struct stack *s, const struct ip_addr *dst)
{
	const struct ip_addr *hop = next_hop(s, dst);

	if (!ip_addr_is_zero(hop))
		solicit(s, hop);
}

bool
next_hop_reachable(const struct stack *s, const struct ip_addr *dst, uint8_t mac[6],
		   uint64_t *until_ns)
{
	const struct ip_addr *hop = next_hop(s, dst);

	return !ip_addr_is_zero(hop) && neigh_reachable_mt(s->neigh, hop, s->now_ns, mac, until_ns);
}

static void
announce(struct stack *s)
{
	if (arp_send_request(s, &s->ip[LOCAL_V4]))
		stack_count(s, ARP_REQUESTS_SENT);
	for (uint8_t local = LOCAL_LINK6; local <= LOCAL_GLOBAL6; local++)
		if (!ip_addr_is_zero(&s->ip[local]) && nd_send_unsolicited(s, local))
			stack_count(s, ND_SOLICITS_SENT);
}

/* RFC 5227 section 2.3, RFC 4861 section 7.2.6: neighbours may have another MAC for our address,
 * and switches another port. Repeated, since announcements are not acknowledged. */
void
neigh_tick(struct stack *s)
{
	const uint32_t round = neigh_announce_round_mt(s->neigh);

	if (unlikely(round != s->announce_round)) {
		s->announce_round = round;
		s->announces_left = neigh_may_announce_mt(s->neigh, round) ? ANNOUNCE_COUNT : 0;
		s->announce_at_ns = s->now_ns;
	}
	if (likely(s->announces_left == 0) || s->now_ns < s->announce_at_ns ||
	    tx_queue_room(s) < LOCAL_COUNT)
		return;
	announce(s);
	s->announces_left--;
	s->announce_at_ns = s->now_ns + ANNOUNCE_NS;
}

uint64_t
neigh_next(const struct stack *s)
{
	if (neigh_announce_round_mt(s->neigh) != s->announce_round)
		return 0;
	return s->announces_left != 0 ? s->announce_at_ns : UINT64_MAX;
}

/*
 * local_addrs.c - makes the table of our addresses: numbers, hashes, links, routes.
 */
#include "local_addrs.h"
#include "wire/eth_wire.h"
#include "wire/ipv6_wire.h"

#define GROUP_BYTES 3u /* bytes of an address that are in its solicited-node group */

/* A table that is being made: the same fields, writable. */
struct maker {
	struct local_addrs *a;
	const struct local_addrs *was;
	struct ip_addr *ip;
	struct local_state *state;
	struct local_slot4 *slots4;
	uint16_t *slots6, *groups;
	struct route *route;
	uint32_t route_count;
};

static uint64_t
hash6(const struct local_addrs *a, const struct ip_addr *ip)
{
	return hash_word(load_u64(ip->b) ^ hash_word(load_u64(ip->b + 8), a->seed), a->seed);
}

static uint64_t
hash_group(const struct local_addrs *a, const struct ip_addr *ip)
{
	const uint8_t *last = ip->b + IP_ADDR_BYTES - GROUP_BYTES;

	return hash_word((uint64_t)last[0] << 16 | last[1] << 8 | last[2], a->seed);
}

static uint32_t
ip_wire_of(const struct ip_addr *ip)
{
	return load_u32(ip->b + IP_ADDR_V4_BITS / 8);
}

uint16_t
local_addrs_find6(const struct local_addrs *a, const struct ip_addr *ip, uint8_t link)
{
	for (uint32_t at = (uint32_t)hash6(a, ip);; at++) {
		const uint16_t local = a->slots6[at & a->mask6];

		if (local == LOCAL_NONE)
			return LOCAL_NONE;
		if (ip_addr_equal(&a->ip[local], ip) && a->state[local].link == link)
			return local;
	}
}

uint16_t
local_addrs_find(const struct local_addrs *a, const struct ip_addr *ip, uint8_t link)
{
	uint16_t local;

	if (!ip_addr_is_v4(ip))
		return local_addrs_find6(a, ip, link);
	local = local_addrs_find4(a, ip_wire_of(ip));
	return local < LOCALS_MAX && a->state[local].link == link ? local : LOCAL_NONE;
}

bool
local_addrs_has(const struct local_addrs *a, const struct ip_addr *ip, uint8_t link)
{
	return ip_addr_is_v4(ip) ? local_addrs_find4(a, ip_wire_of(ip)) != LOCAL_NONE
				 : local_addrs_find6(a, ip, link) != LOCAL_NONE;
}

uint16_t
local_addrs_group_first(const struct local_addrs *a, const struct ip_addr *group, uint8_t link)
{
	const struct ip_addr solicited = ipv6_solicited_node(group);

	if (!ip_addr_equal(group, &solicited))
		return LOCAL_NONE;
	for (uint32_t at = (uint32_t)hash_group(a, group);; at++) {
		const uint16_t local = a->groups[at & a->mask6];

		if (local == LOCAL_NONE)
			return LOCAL_NONE;
		if (a->state[local].link == link &&
		    memcmp(a->ip[local].b + IP_ADDR_BYTES - GROUP_BYTES,
			   group->b + IP_ADDR_BYTES - GROUP_BYTES, GROUP_BYTES) == 0)
			return local;
	}
}

bool
local_addrs_group_is_ours(const struct local_addrs *a, const struct ip_addr *group, uint8_t link)
{
	const struct ip_addr all = ipv6_all_nodes();

	return ip_addr_equal(group, &all) ? a->link[link].local6 != LOCAL_NONE
					  : local_addrs_group_first(a, group, link) != LOCAL_NONE;
}

uint16_t
local_addrs_next(const struct local_addrs *a, uint32_t from, bool v4)
{
	from += local_is_v4(from) != v4;
	for (uint32_t local = from; local < a->numbers; local += 2)
		if (a->state[local].live && (v4 || !ip_addr_is_link_local(&a->ip[local])))
			return (uint16_t)local;
	return LOCAL_NONE;
}

struct ip_addr
local_addrs_ip(const struct local_addrs *a, uint32_t local)
{
	return local < a->numbers ? a->ip[local] : (struct ip_addr){0};
}

/* ---- numbers and hashes ---- */

static bool
is_used(const struct local_addrs_spec *spec, const struct local_addr *addr)
{
	return spec->ipv6 || ip_addr_is_v4(&addr->ip);
}

/* Returns an upper bound for the numbers of a table: each family may have all addresses, those that
 * leave included. */
static uint32_t
numbers_max(const struct local_addrs_spec *spec, const struct local_addrs *was)
{
	return 2 * (spec->count + LINKS_MAX) + LOCAL_COUNT + (was != NULL ? was->numbers : 0);
}

/* Returns the number of slots of a hash. With all addresses and as many broadcast addresses it is
 * at most half full. */
static uint32_t
slots_of(const struct local_addrs_spec *spec)
{
	uint32_t slots = 8;

	while (slots < 4 * (spec->count + LINKS_MAX))
		slots *= 2;
	return slots;
}

static size_t
spec_bytes(const struct local_addrs_spec *spec)
{
	return sizeof *spec + spec->count * sizeof *spec->addr +
	       spec->route_count * sizeof *spec->route + 3 * CACHE_LINE_BYTES;
}

size_t
local_addrs_bytes(const struct local_addrs_spec *spec, const struct local_addrs *was)
{
	const size_t numbers = numbers_max(spec, was), slots = slots_of(spec);
	const uint32_t routes = spec->count + spec->route_count;

	return sizeof(struct local_addrs) +
	       numbers * (sizeof(struct ip_addr) + sizeof(struct local_state)) +
	       slots * (sizeof(struct local_slot4) + 2 * sizeof(uint16_t)) + routes_bytes(routes) +
	       routes * sizeof(struct route) + spec_bytes(spec) + 8 * CACHE_LINE_BYTES;
}

static const struct local_addrs_spec *
spec_copy(struct region *region, const struct local_addrs_spec *spec)
{
	struct local_addrs_spec *copy = region_take(region, sizeof *copy, CACHE_LINE_BYTES);
	struct local_addr *addr = region_take(region, spec->count * sizeof *addr, CACHE_LINE_BYTES);
	struct static_route *route =
		region_take(region, spec->route_count * sizeof *route, CACHE_LINE_BYTES);

	for (uint32_t i = 0; i < spec->count; i++)
		addr[i] = spec->addr[i];
	for (uint32_t i = 0; i < spec->route_count; i++)
		route[i] = spec->route[i];
	*copy = *spec;
	copy->addr = addr;
	copy->route = route;
	return copy;
}

static uint8_t
link_of(struct local_addrs *a, const struct local_addrs_spec *spec, uint16_t vlan)
{
	struct net_link *link = &a->link[a->link_count];

	if (a->link_count != 0 && vlan == 0)
		return LINK_FIRST;
	if (a->link_of_vlan[vlan] != LINK_NONE)
		return a->link_of_vlan[vlan];
	ensure(a->link_count < 2 * LINKS_MAX && vlan < VLAN_ID);
	*link = (struct net_link){
		.vlan = vlan,
		.tag = (uint16_t)(vlan | spec->vlan_priority << VLAN_PRIORITY_SHIFT),
		.local6 = LOCAL_NONE,
		.source6 = LOCAL_NONE,
	};
	a->tagged |= vlan != 0;
	return a->link_of_vlan[vlan] = (uint8_t)a->link_count++;
}

/* Returns the number that an address had, or LOCAL_NONE. */
static uint16_t
number_before(const struct maker *m, const struct ip_addr *ip, uint16_t vlan)
{
	uint8_t link;

	if (m->was == NULL)
		return LOCAL_NONE;
	link = m->was->link_of_vlan[vlan];
	return link == LINK_NONE ? LOCAL_NONE : local_addrs_find(m->was, ip, link);
}

/* True if the number is free in this table, and no core can still use it from the table before. */
static bool
number_is_free(const struct maker *m, uint32_t local)
{
	return ip_addr_is_zero(&m->ip[local]) &&
	       (m->was == NULL || local >= m->was->numbers || !m->was->state[local].live);
}

static uint16_t
number_take(const struct maker *m, uint32_t from)
{
	while (!number_is_free(m, from))
		from += 2;
	return (uint16_t)from;
}

/* Enters an address under a number. live: lookups can find it. */
static void
enter(struct maker *m, uint16_t local, const struct ip_addr *ip, struct local_state state)
{
	struct local_addrs *a = m->a;

	ensure(local < LOCALS_MAX);
	m->ip[local] = *ip;
	m->state[local] = state;
	if (local >= a->numbers)
		a->numbers = local + 1u;
	if (!state.live)
		return;
	if (!ip_addr_is_v4(ip)) {
		uint32_t at = (uint32_t)hash6(a, ip), group = (uint32_t)hash_group(a, ip);

		while (m->slots6[at & a->mask6] != LOCAL_NONE)
			at++;
		m->slots6[at & a->mask6] = local;
		while (m->groups[group & a->mask6] != LOCAL_NONE)
			group++;
		m->groups[group & a->mask6] = local;
		return;
	}
	a->many4 |= local != LOCAL_V4;
}

/* Enters an IPv4 address, which may be a broadcast address, into the hash. If it is there already,
 * the existing entry stays. */
static void
enter_slot4(struct maker *m, uint32_t ip_wire, uint16_t local)
{
	uint32_t at = (uint32_t)hash_word(ip_wire, m->a->seed);

	while (m->slots4[at & m->a->mask4].ip != 0) {
		if (m->slots4[at & m->a->mask4].ip == ip_wire)
			return;
		at++;
	}
	m->slots4[at & m->a->mask4] = (struct local_slot4){ip_wire, local};
}

/* Finds the link of an address, and gives the address the number that it had, or else a new one. */
static void
number_address(struct maker *m, const struct local_addrs_spec *spec, const struct local_addr *addr,
	       bool had)
{
	const uint8_t link = link_of(m->a, spec, addr->vlan);
	const uint16_t before = number_before(m, &addr->ip, m->a->link[link].vlan);
	const bool v4 = ip_addr_is_v4(&addr->ip);
	const struct local_state state = {addr->prefix_len, link, true, before == LOCAL_NONE};

	if ((before != LOCAL_NONE) != had)
		return;
	enter(m, had ? before : number_take(m, v4 ? LOCAL_V4 : LOCAL_GLOBAL6), &addr->ip, state);
}

/* Numbers the link-local address of each link. The first link's number is fixed. */
static void
number_link_locals(struct maker *m, const struct local_addrs_spec *spec, bool had)
{
	const struct ip_addr ip = ipv6_link_local(spec->mac);

	for (uint32_t i = 0; i < m->a->link_count; i++) {
		const uint16_t before = number_before(m, &ip, m->a->link[i].vlan);
		const struct local_state state = {64, (uint8_t)i, true, before == LOCAL_NONE};

		if ((before != LOCAL_NONE) != had)
			continue;
		m->a->link[i].local6 =
			had ? before
			    : number_take(m, i == LINK_FIRST ? LOCAL_LINK6 : LOCAL_GLOBAL6 + 2);
		m->a->link[i].source6 = m->a->link[i].local6;
		enter(m, m->a->link[i].local6, &ip, state);
	}
}

/* Numbers all addresses. Those that were in the table before come first, so that no new one takes
 * their numbers. */
static void
number_all(struct maker *m, const struct local_addrs_spec *spec)
{
	(void)link_of(m->a, spec, spec->vlan);
	for (uint32_t i = 0; i < spec->count; i++)
		if (is_used(spec, &spec->addr[i]))
			(void)link_of(m->a, spec, spec->addr[i].vlan);
	for (int had = 1; had >= 0; had--) {
		if (spec->ipv6)
			number_link_locals(m, spec, had != 0);
		for (uint32_t i = 0; i < spec->count; i++)
			if (is_used(spec, &spec->addr[i]))
				number_address(m, spec, &spec->addr[i], had != 0);
	}
}

/* Keeps the addresses that leave, and their links. */
static void
keep_leaving(struct maker *m, const struct local_addrs_spec *spec)
{
	for (uint32_t local = 0; m->was != NULL && local < m->was->numbers; local++) {
		const struct local_state *was = &m->was->state[local];
		const struct net_link *link = &m->was->link[was->link];
		struct local_state state = {.prefix_len = was->prefix_len};

		if (!was->live || !ip_addr_is_zero(&m->ip[local]))
			continue;
		state.link = link_of(m->a, spec, link->vlan);
		if (local == link->local6)
			m->a->link[state.link].source6 = (uint16_t)local;
		enter(m, (uint16_t)local, &m->was->ip[local], state);
	}
}

/* Fills the hash of IPv4 addresses, beginning with our own. So an address of ours that is also the
 * broadcast address of a wider network counts as ours. */
static void
fill_slots4(struct maker *m)
{
	for (uint32_t local = 0; local < m->a->numbers; local += 2)
		if (m->state[local].live)
			enter_slot4(m, ip_wire_of(&m->ip[local]), (uint16_t)local);
	for (uint32_t local = 0; local < m->a->numbers; local += 2) {
		const uint32_t bits = IP_ADDR_BITS - m->state[local].prefix_len;
		const uint32_t ip = ip_addr_v4_get(&m->ip[local]);

		if (m->state[local].live && bits > 1)
			enter_slot4(
				m,
				load_u32(be32_of(ip | (bits >= 32 ? UINT32_MAX : (1u << bits) - 1))
						 .b),
				LOCAL_BROADCAST);
	}
}

/* ---- routes ---- */

static struct ip_addr
network_of(const struct ip_addr *ip, uint32_t prefix_len)
{
	struct ip_addr net = *ip;

	for (uint32_t i = 0; i < IP_ADDR_BYTES; i++) {
		const uint32_t kept = prefix_len > 8 * i ? prefix_len - 8 * i : 0;

		if (kept < 8)
			net.b[i] &= (uint8_t)(0xff00u >> kept);
	}
	return net;
}

/* Adds a route for the network of each address, on its link. */
static void
add_networks(struct maker *m)
{
	const struct local_addrs *a = m->a;

	for (uint32_t local = 0; local < a->numbers; local++) {
		const struct local_state *state = &m->state[local];

		if (!state->live || state->prefix_len == IP_ADDR_BITS ||
		    ip_addr_is_link_local(&m->ip[local]))
			continue;
		m->route[m->route_count++] = (struct route){
			.net = network_of(&m->ip[local], state->prefix_len),
			.prefix_len = state->prefix_len,
			.link = state->link,
			.local = (uint16_t)local,
		};
	}
}

/* Returns the network with the longest prefix that contains the gateway; NULL: none. */
static const struct route *
network_with(const struct maker *m, uint32_t networks, const struct ip_addr *gateway)
{
	const struct route *found = NULL;

	for (uint32_t i = 0; i < networks; i++) {
		const struct route *r = &m->route[i];

		if (ip_addr_same_prefix(&r->net, gateway, r->prefix_len) &&
		    (found == NULL || r->prefix_len > found->prefix_len) &&
		    (r->prefix_len >= IP_ADDR_V4_BITS || !ip_addr_is_v4(gateway)))
			found = r;
	}
	return found;
}

/* Returns the first IPv6 address of a link that is not link-local; if there is none, the first of
 * any kind. */
static uint16_t
first_on_link6(const struct local_addrs *a, uint8_t link)
{
	uint16_t local = local_addrs_next(a, LOCAL_LINK6, false);

	while (local != LOCAL_NONE && a->state[local].link != link)
		local = local_addrs_next(a, local + 2u, false);
	return local != LOCAL_NONE ? local : local_addrs_next(a, LOCAL_LINK6, false);
}

static void
add_static(struct maker *m, const struct local_addrs_spec *spec)
{
	const uint32_t networks = m->route_count;

	for (uint32_t i = 0; i < spec->route_count; i++) {
		const struct static_route *from = &spec->route[i];
		struct route to = {.net = from->net,
				   .gateway = from->gateway,
				   .prefix_len = from->prefix_len,
				   .mtu = from->mtu};
		const struct route *over = network_with(m, networks, &from->gateway);

		if (!spec->ipv6 && !ip_addr_is_v4(&from->gateway))
			continue;
		if (ip_addr_is_link_local(&from->gateway)) {
			to.link = from->vlan == 0 ? LINK_FIRST : m->a->link_of_vlan[from->vlan];
			to.local = first_on_link6(m->a, to.link);
			if (to.local == LOCAL_NONE)
				to.local = m->a->link[to.link].local6;
		} else if (over != NULL) {
			to.link = over->link;
			to.local = over->local;
		} else {
			continue;
		}
		m->route[m->route_count++] = to;
	}
}

const struct local_addrs *
local_addrs_make(struct region *region, const struct local_addrs_spec *spec,
		 const struct local_addrs *was)
{
	const uint32_t numbers = numbers_max(spec, was), slots = slots_of(spec);
	const uint32_t routes = spec->count + spec->route_count;
	struct local_addrs *a = region_take(region, sizeof *a, CACHE_LINE_BYTES);
	struct maker m = {
		.a = a,
		.was = was,
		.ip = region_take(region, numbers * sizeof *m.ip, CACHE_LINE_BYTES),
		.state = region_take(region, numbers * sizeof *m.state, CACHE_LINE_BYTES),
		.slots4 = region_take(region, slots * sizeof *m.slots4, CACHE_LINE_BYTES),
		.slots6 = region_take(region, slots * sizeof *m.slots6, CACHE_LINE_BYTES),
		.groups = region_take(region, slots * sizeof *m.groups, CACHE_LINE_BYTES),
		.route = region_take(region, routes * sizeof *m.route, CACHE_LINE_BYTES),
	};

	ensure(spec->count <= LOCAL_ADDRS_MAX);
	memset(m.slots6, 0xff, slots * sizeof *m.slots6);
	memset(m.groups, 0xff, slots * sizeof *m.groups);
	memset(a->link_of_vlan, LINK_NONE, sizeof a->link_of_vlan);
	a->ip = m.ip;
	a->state = m.state;
	a->slots4 = m.slots4;
	a->slots6 = m.slots6;
	a->groups = m.groups;
	a->mask4 = a->mask6 = slots - 1;
	a->seed = spec->seed;
	a->numbers = LOCAL_COUNT;
	a->spec = spec_copy(region, spec);
	number_all(&m, spec);
	keep_leaving(&m, spec);
	fill_slots4(&m);
	add_networks(&m);
	add_static(&m, spec);
	routes_make(&a->routes, region, m.route, m.route_count);
	return a;
}

bool
local_addrs_match(const struct local_addrs *a, const struct local_addrs_spec *spec)
{
	const struct local_addrs_spec *was = a->spec;

	if (was->ipv6 != spec->ipv6 || was->vlan != spec->vlan || was->count != spec->count ||
	    was->route_count != spec->route_count)
		return false;
	for (uint32_t i = 0; i < spec->count; i++)
		if (!ip_addr_equal(&was->addr[i].ip, &spec->addr[i].ip) ||
		    was->addr[i].prefix_len != spec->addr[i].prefix_len ||
		    was->addr[i].vlan != spec->addr[i].vlan)
			return false;
	for (uint32_t i = 0; i < spec->route_count; i++)
		if (!ip_addr_equal(&was->route[i].net, &spec->route[i].net) ||
		    !ip_addr_equal(&was->route[i].gateway, &spec->route[i].gateway) ||
		    was->route[i].prefix_len != spec->route[i].prefix_len ||
		    was->route[i].mtu != spec->route[i].mtu ||
		    was->route[i].vlan != spec->route[i].vlan)
			return false;
	return true;
}

/*
 * The table of our addresses. Goal: a destination is ours exactly if it is one of the addresses, on
 * its link; numbers survive a change and are not given twice. Method: tables made one after the
 * other, every address looked up; the source of connections by route.
 */
#include "support/test.h"
#include "net/local_addrs.h"
#include "wire/ipv6_wire.h"

#include <stdlib.h>

#define MANY 2000u

static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
static void *kept[64];
static uint32_t kept_count;

/* Tables stay until the end: a later one is compared with an earlier one. */
static const struct local_addrs *
make(const struct local_addrs_spec *spec, const struct local_addrs *was)
{
	struct region region = {.size = local_addrs_bytes(spec, was)};

	region.base = kept[kept_count++ % 64] = malloc(region.size);
	return local_addrs_make(&region, spec, was);
}

static struct local_addrs_spec
spec_of(const struct local_addr *addr, uint32_t count)
{
	struct local_addrs_spec spec = {.ipv6 = true, .seed = 3, .addr = addr, .count = count};

	memcpy(spec.mac, mac, sizeof mac);
	return spec;
}

static struct local_addr
v4(uint32_t ip, uint32_t len, uint16_t vlan)
{
	return (struct local_addr){ip_addr_v4(ip), (uint8_t)(96 + len), vlan};
}

static struct local_addr
v6(uint8_t net, uint32_t host, uint32_t len, uint16_t vlan)
{
	struct local_addr a = {{{0x20, 1, 0xd, 0xb8, net}}, (uint8_t)len, vlan};

	for (uint32_t i = 0; i < 4; i++)
		a.ip.b[12 + i] = (uint8_t)(host >> (24 - 8 * i));
	return a;
}

static uint16_t
find(const struct local_addrs *a, const struct ip_addr *ip)
{
	return local_addrs_find(a, ip, LINK_FIRST);
}

TEST(the_first_addresses_have_the_fixed_numbers)
{
	const struct local_addr addr[] = {v6(0, 1, 64, 0), v4(0x0a000001, 24, 0)};
	const struct local_addrs_spec spec = spec_of(addr, 2);
	const struct local_addrs *a = make(&spec, NULL);
	const struct ip_addr link = ipv6_link_local(mac), none = {{0}}, zero4 = ip_addr_v4(0),
			     broadcast = ip_addr_v4(0x0a0000ff), other = ip_addr_v4(0x0a000002);

	check_eq(find(a, &addr[1].ip), LOCAL_V4);
	check_eq(find(a, &link), LOCAL_LINK6);
	check_eq(find(a, &addr[0].ip), LOCAL_GLOBAL6);
	check(!a->many4);
	check_eq(find(a, &none), LOCAL_NONE);
	check_eq(find(a, &zero4), LOCAL_NONE);
	check_eq(find(a, &other), LOCAL_NONE);
	check_eq(find(a, &broadcast), LOCAL_NONE);
	check(local_addrs_has(a, &broadcast, LINK_FIRST));
}

TEST(without_ipv6_only_ipv4_is_ours)
{
	const struct local_addr addr[] = {v6(0, 1, 64, 0), v4(0x0a000001, 24, 0)};
	struct local_addrs_spec spec = spec_of(addr, 2);
	const struct ip_addr link = ipv6_link_local(mac), all = ipv6_all_nodes();

	spec.ipv6 = false;
	const struct local_addrs *a = make(&spec, NULL);

	check_eq(find(a, &addr[0].ip), LOCAL_NONE);
	check_eq(find(a, &link), LOCAL_NONE);
	check(!local_addrs_group_is_ours(a, &all, LINK_FIRST));
	check_eq(find(a, &addr[1].ip), LOCAL_V4);
}

TEST(an_address_is_ours_on_its_own_link_only)
{
	const struct local_addr addr[] = {v4(0x0a000001, 24, 0), v4(0x0a010001, 24, 100),
					  v6(1, 1, 64, 100)};
	const struct local_addrs_spec spec = spec_of(addr, 3);
	const struct local_addrs *a = make(&spec, NULL);
	const uint8_t link = a->link_of_vlan[100];
	const struct ip_addr link6 = ipv6_link_local(mac), group = ipv6_solicited_node(&addr[2].ip);

	check_eq(a->link_of_vlan[0], LINK_FIRST);
	check_eq(link, 1);
	check_eq(a->link_of_vlan[101], LINK_NONE);
	for (uint32_t i = 0; i < 3; i++) {
		check((local_addrs_find(a, &addr[i].ip, LINK_FIRST) != LOCAL_NONE) == (i == 0));
		check((local_addrs_find(a, &addr[i].ip, link) != LOCAL_NONE) == (i != 0));
	}
	check(local_addrs_group_is_ours(a, &group, link));
	check(local_addrs_find(a, &link6, LINK_FIRST) != local_addrs_find(a, &link6, link));
	check_eq(a->link[link].local6, local_addrs_find(a, &link6, link));
}

/* Addresses of both families, in many networks. */
static void
fill(struct local_addr *addr, uint32_t from, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		addr[i] = (from + i) % 2 == 0 ? v4(0xc0000001 + 3 * (from + i), 32, 0)
					      : v6(9, 7 * (from + i), 128, 0);
}

TEST(a_table_of_two_thousand_finds_each_and_no_other)
{
	static struct local_addr addr[MANY];
	const struct local_addrs_spec spec = spec_of(addr, MANY);
	bool seen[LOCALS_MAX] = {false};

	fill(addr, 0, MANY);
	const struct local_addrs *a = make(&spec, NULL);

	check(a->many4);
	for (uint32_t i = 0; i < MANY; i++) {
		const uint16_t local = find(a, &addr[i].ip);
		struct ip_addr beside = addr[i].ip, group = ipv6_solicited_node(&addr[i].ip);

		check(local != LOCAL_NONE && !seen[local]);
		seen[local] = true;
		check_eq(local_is_v4(local), ip_addr_is_v4(&addr[i].ip));
		check(ip_addr_equal(&a->ip[local], &addr[i].ip));
		check(ip_addr_is_v4(&addr[i].ip) ||
		      local_addrs_group_is_ours(a, &group, LINK_FIRST));
		beside.b[15] ^= 1;
		check_eq(find(a, &beside), LOCAL_NONE);
	}
}

TEST(numbers_survive_a_change_and_are_not_given_twice)
{
	static struct local_addr addr[MANY];
	const struct local_addrs *was = NULL, *now;

	for (uint32_t round = 0; round < 8; round++) {
		const struct local_addrs_spec spec = spec_of(addr, MANY / 2);

		/* Half of the addresses go in every round. */
		fill(addr, round * MANY / 4, MANY / 2);
		now = make(&spec, was);
		for (uint32_t i = 0; i < MANY / 2; i++) {
			const uint16_t local = find(now, &addr[i].ip),
				       before = was == NULL ? LOCAL_NONE : find(was, &addr[i].ip);

			check(local != LOCAL_NONE);
			check_eq(now->state[local].fresh, before == LOCAL_NONE);
			if (before != LOCAL_NONE)
				check_eq(local, before);
		}
		/* An address that leaves is not found, but replies still leave from it, so its
		 * number is not given to another address. */
		for (uint32_t local = 0; was != NULL && local < was->numbers; local++)
			if (was->state[local].live) {
				check(ip_addr_equal(&was->ip[local], &now->ip[local]));
				check_eq(now->state[local].live,
					 find(now, &was->ip[local]) == local);
			}
		check(now->numbers <= LOCALS_MAX);
		was = now;
	}
	check(now->numbers <= 2 * MANY);
}

TEST(the_source_is_an_address_of_the_next_hops_network)
{
	const struct local_addr addr[] = {v4(0xc0000201, 32, 0), v4(0x0a000001, 24, 0),
					  v4(0x0a010001, 24, 7), v6(1, 5, 64, 7)};
	const struct static_route route[] = {
		{.net = ip_addr_v4(0), .prefix_len = 96, .gateway = ip_addr_v4(0x0a0000fe)},
		{.net = ip_addr_v4(0xac100000),
		 .prefix_len = 96 + 12,
		 .gateway = ip_addr_v4(0x0a0100fe),
		 .mtu = 1400},
		{.gateway = {{0xfe, 0x80, [15] = 9}}, .vlan = 7},
	};
	struct local_addrs_spec spec = spec_of(addr, 4);
	const struct ip_addr far = ip_addr_v4(0x08080808), near = ip_addr_v4(0xac1fffff),
			     on = ip_addr_v4(0x0a010009), six = {{0x20, 2, [15] = 1}};

	spec.route = route;
	spec.route_count = 3;
	const struct local_addrs *a = make(&spec, NULL);

	check_eq(routes_find(&a->routes, &far)->local, find(a, &addr[1].ip));
	check_eq(routes_find(&a->routes, &near)->local, local_addrs_find(a, &addr[2].ip, 1));
	check_eq(routes_find(&a->routes, &near)->mtu, 1400);
	check_eq(routes_find(&a->routes, &near)->link, 1);
	check_eq(routes_find(&a->routes, &on)->local, local_addrs_find(a, &addr[2].ip, 1));
	check_eq(routes_find(&a->routes, &six)->local, local_addrs_find(a, &addr[3].ip, 1));
	check(local_addrs_match(a, &spec));
	spec.route_count = 2;
	check(!local_addrs_match(a, &spec));
}

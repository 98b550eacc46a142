/*
 * Routes. Goal: the longest prefix that contains an address decides, in both families and however
 * prefixes nest. Method: tables by hand, and random ones whose every look-up is compared with a
 * linear search.
 */
#include "support/test.h"
#include "net/routes.h"

#include <stdlib.h>

#define ROUTES  200u
#define LOOKUPS 2000u

static struct routes routes;
static void *memory;

static void
make(const struct route *route, uint32_t count)
{
	struct region region = {.size = routes_bytes(count)};

	free(memory);
	memory = malloc(region.size);
	region.base = memory;
	routes_make(&routes, &region, route, count);
}

static struct ip_addr
masked(struct ip_addr ip, uint32_t bits)
{
	for (uint32_t i = bits; i < IP_ADDR_BITS; i++)
		ip.b[i / 8] &= (uint8_t) ~(0x80u >> i % 8);
	return ip;
}

static struct route
route_of(struct ip_addr ip, uint32_t bits, uint16_t local)
{
	return (struct route){.net = masked(ip, bits), .prefix_len = (uint8_t)bits, .local = local};
}

static uint32_t
found(uint32_t ip)
{
	const struct ip_addr dst = ip_addr_v4(ip);
	const struct route *r = routes_find(&routes, &dst);

	return r == NULL ? 0 : r->local;
}

TEST(the_longest_prefix_decides)
{
	const struct route route[] = {
		route_of(ip_addr_v4(0), 96, 1),
		route_of(ip_addr_v4(0x0a000000), 96 + 8, 2),
		route_of(ip_addr_v4(0x0a010000), 96 + 16, 3),
		route_of(ip_addr_v4(0x0a01ff00), 96 + 24, 4),
		route_of(ip_addr_v4(0x0a01ffff), 96 + 32, 5),
		route_of(ip_addr_v4(0x0a010000), 96 + 16, 6), /* the first of two counts */
	};

	make(route, sizeof route / sizeof route[0]);
	check_eq(found(0x09ffffff), 1);
	check_eq(found(0x0a000000), 2);
	check_eq(found(0x0a00ffff), 2);
	check_eq(found(0x0a010000), 3);
	check_eq(found(0x0a01feff), 3);
	check_eq(found(0x0a01ff00), 4);
	check_eq(found(0x0a01ffff), 5);
	check_eq(found(0x0a020000), 2);
	check_eq(found(0x0b000000), 1);
	check_eq(found(0xffffffff), 1);
}

TEST(a_route_to_all_of_ipv6_is_none_of_ipv4)
{
	const struct route route[] = {route_of((struct ip_addr){{0}}, 0, 1)};
	const struct ip_addr six = {{0x20, 1, [15] = 1}}, last = {{0xff, [15] = 0xff}};

	make(route, 1);
	check_eq(found(0x0a000001), 0);
	check_eq(routes_find(&routes, &six)->local, 1);
	check_eq(routes_find(&routes, &last)->local, 1);
	make(route, 0);
	check(routes_find(&routes, &six) == NULL);
}

static uint64_t
next(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 20;
}

/* Returns an address with few different bits, so that prefixes nest. */
static struct ip_addr
random_ip(uint64_t *state, bool v4)
{
	struct ip_addr ip = ip_addr_v4((uint32_t)next(state) & 0xc3030303);

	if (!v4)
		ip = (struct ip_addr){
			{0x20, (uint8_t)next(state) & 3, [2] = (uint8_t)next(state) & 3,
			 [7] = (uint8_t)next(state) & 3, [8] = (uint8_t)next(state) & 3,
			 [15] = (uint8_t)next(state)}};
	return ip;
}

static const struct route *
linear(const struct route *route, uint32_t count, const struct ip_addr *dst)
{
	const struct route *best = NULL;

	for (uint32_t i = 0; i < count; i++)
		if (ip_addr_same_prefix(&route[i].net, dst, route[i].prefix_len) &&
		    (!ip_addr_is_v4(dst) || route[i].prefix_len >= IP_ADDR_V4_BITS) &&
		    (best == NULL || route[i].prefix_len > best->prefix_len))
			best = &route[i];
	return best;
}

TEST(every_look_up_is_that_of_a_linear_search)
{
	struct route route[ROUTES];
	uint64_t state = 7;

	for (uint32_t round = 0; round < 20; round++) {
		for (uint32_t i = 0; i < ROUTES; i++) {
			const bool v4 = next(&state) % 2 == 0;
			const struct ip_addr ip = random_ip(&state, v4);

			route[i] = route_of(ip, v4 ? 96 + next(&state) % 33 : next(&state) % 129,
					    (uint16_t)i);
		}
		make(route, ROUTES);
		for (uint32_t i = 0; i < LOOKUPS; i++) {
			const struct ip_addr dst = random_ip(&state, i % 2 == 0);
			const struct route *want = linear(route, ROUTES, &dst);
			const struct route *got = routes_find(&routes, &dst);

			check_eq(got == NULL, want == NULL);
			if (want != NULL)
				check_eq(got->local, want->local);
		}
	}
}

/*
 * routes.c - routes as disjoint ranges of addresses: made from nested prefixes, found by a binary
 * search.
 */
#include "routes.h"

#include <stdlib.h>

/* Orders by address, then by length, so that a network precedes those within it. Equal ones keep
 * their order in the array. */
static int
compare_routes(const void *left, const void *right)
{
	const struct route *a = *(const struct route *const *)left;
	const struct route *b = *(const struct route *const *)right;
	const int ip = memcmp(a->net.b, b->net.b, sizeof a->net.b);

	if (ip != 0)
		return ip;
	if (a->prefix_len != b->prefix_len)
		return a->prefix_len < b->prefix_len ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* The networks that contain the one being entered, the widest first. */
struct nest {
	const struct route *route[IP_ADDR_BITS + 1];
	uint32_t depth;
};

/* Begins a range. Replaces a range that begins at the same address. */
static void
route_begin(struct routes *to, struct route_range *ranges, struct ip_position at,
	    const struct route *route)
{
	if (to->range_count != 0 && ip_position_equal(&ranges[to->range_count - 1].from, &at))
		to->range_count--;
	ranges[to->range_count++] = (struct route_range){
		at, route == NULL ? ROUTE_NONE : (uint32_t)(route - to->route)};
}

static void
route_leave(struct nest *nest, struct routes *to, struct route_range *ranges)
{
	const struct route *left = nest->route[--nest->depth];
	struct ip_position behind;

	if (ip_position_behind(&left->net, left->prefix_len, &behind))
		route_begin(to, ranges, behind,
			    nest->depth != 0 ? nest->route[nest->depth - 1] : NULL);
}

static void
make_ranges(struct routes *to, struct route_range *ranges, const struct route **sorted)
{
	struct nest nest = {.depth = 0};

	for (uint32_t i = 0; i < to->count; i++) {
		const struct route *r = sorted[i];

		while (nest.depth != 0 &&
		       !ip_addr_same_prefix(&nest.route[nest.depth - 1]->net, &r->net,
					    nest.route[nest.depth - 1]->prefix_len))
			route_leave(&nest, to, ranges);
		if (nest.depth != 0 && nest.route[nest.depth - 1]->prefix_len == r->prefix_len)
			continue; /* of two routes to one network the first counts */
		route_begin(to, ranges, ip_position_of(&r->net), r);
		nest.route[nest.depth++] = r;
	}
	while (nest.depth != 0)
		route_leave(&nest, to, ranges);
}

size_t
routes_bytes(uint32_t count)
{
	return count * (sizeof(struct route) + sizeof(struct route *) +
			2 * sizeof(struct route_range)) +
	       3 * CACHE_LINE_BYTES;
}

void
routes_make(struct routes *routes, struct region *region, const struct route *route, uint32_t count)
{
	struct route *copy = region_take(region, count * sizeof *copy, CACHE_LINE_BYTES);
	const struct route **sorted = region_take(region, count * sizeof *sorted, CACHE_LINE_BYTES);
	struct route_range *ranges =
		region_take(region, 2ull * count * sizeof *ranges, CACHE_LINE_BYTES);

	ensure(count <= ROUTES_MAX);
	*routes = (struct routes){.route = copy, .range = ranges, .count = count};
	for (uint32_t i = 0; i < count; i++) {
		copy[i] = route[i];
		sorted[i] = &copy[i];
		ensure(route[i].mtu == 0 || route[i].mtu >= ROUTE_MTU_MIN);
		if (route[i].mtu != 0 && (routes->mtu_min == 0 || route[i].mtu < routes->mtu_min))
			routes->mtu_min = route[i].mtu;
	}
	qsort(sorted, count, sizeof *sorted, compare_routes);
	make_ranges(routes, ranges, sorted);
}

const struct route *
routes_find(const struct routes *routes, const struct ip_addr *dst)
{
	const struct ip_position at = ip_position_of(dst);
	const struct route_range *from = routes->range;
	const struct route *found;
	uint32_t left = routes->range_count;

	while (left > 1) {
		const uint32_t half = left / 2;

		from += ip_position_at_or_before(&from[half].from, &at) ? half : 0;
		left -= half;
	}
	if (routes->range_count == 0 || !ip_position_at_or_before(&from->from, &at) ||
	    from->route == ROUTE_NONE)
		return NULL;
	found = &routes->route[from->route];
	/* A route to all of IPv6 also contains the mapped addresses, for which it must not be
	 * used. */
	return found->prefix_len < IP_ADDR_V4_BITS && ip_addr_is_v4(dst) ? NULL : found;
}

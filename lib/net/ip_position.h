/*
 * ip_position.h - makes a number of an address, by which ranges of addresses are sorted.
 *
 * Shape: two words in host order.
 */
#ifndef CLOCKOO_IP_POSITION_H
#define CLOCKOO_IP_POSITION_H

#include "base/ip_addr.h"

struct ip_position {
	uint64_t high, low;
};

static inline struct ip_position
ip_position_of(const struct ip_addr *ip)
{
	return (struct ip_position){__builtin_bswap64(load_u64(ip->b)),
				    __builtin_bswap64(load_u64(ip->b + 8))};
}

static inline bool
ip_position_equal(const struct ip_position *a, const struct ip_position *b)
{
	return a->high == b->high && a->low == b->low;
}

static inline bool
ip_position_at_or_before(const struct ip_position *a, const struct ip_position *b)
{
	return a->high < b->high || (a->high == b->high && a->low <= b->low);
}

/* Computes the first address after a network; false: the network has the last one. */
static inline bool
ip_position_behind(const struct ip_addr *net, uint32_t prefix_len, struct ip_position *behind)
{
	const uint32_t rest = IP_ADDR_BITS - prefix_len;

	*behind = ip_position_of(net);
	if (rest >= 64) {
		behind->high = rest == IP_ADDR_BITS ? 0 : behind->high + (1ull << (rest - 64));
		return behind->high != 0;
	}
	behind->low += 1ull << rest;
	behind->high += behind->low == 0;
	return behind->high != 0 || behind->low != 0;
}

#endif

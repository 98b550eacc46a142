/*
 * udp_rate_limit.h - limits by how many bytes a second the replies to a UDP source may exceed its
 * requests.
 *
 * The source of a datagram can be forged, so a reply that is longer than its request amplifies an
 * attack (US-CERT TA14-017A; memcached's UDP port was the largest known). Networks whose addresses
 * cannot be forged from outside are exempt. Every other source has a budget: the bytes a second by
 * which its replies may exceed its requests. An attacker who can forge one source can forge
 * thousands, so the network of a source has a budget, too, and so have all sources together.
 *
 * Shape:  a sketch for sources, and one for networks: two rows of cells, where each source has one
 *         cell of each row (Cormode and Muthukrishnan, "An improved data stream summary: the
 *         count-min sketch", 2005). A cell counts at least the bytes of its sources, so no source
 *         exceeds its budget. A source that shares both cells with others gets less than its
 *         budget.
 * Units:  bytes of UDP payload, or another unit of the caller's; whole seconds.
 * Thread: core-local.
 * Bounds: SKETCH_ROWS * SKETCH_CELLS cells a sketch, EXEMPT_NETWORKS_MAX exempt networks.
 */
#ifndef CLOCKOO_UDP_RATE_LIMIT_H
#define CLOCKOO_UDP_RATE_LIMIT_H

#include "base/ip_addr.h"

#define SKETCH_ROWS         2u
#define SKETCH_CELLS        2048u /* power of two */
#define EXEMPT_NETWORKS_MAX 16u

struct sketch_cell {
	uint32_t second; /* the second for which `bytes` counts */
	uint32_t bytes;
};

struct sketch {
	struct sketch_cell cells[SKETCH_ROWS][SKETCH_CELLS];
};

/* Budgets of a network, and of all sources together, in budgets of one source. */
#define UDP_NETWORK_SHARES 4u
#define UDP_TOTAL_SHARES   16u

struct udp_rate_limit {
	uint32_t bytes_per_s; /* for one source */
	uint32_t network_count;
	struct ip_addr ip[EXEMPT_NETWORKS_MAX];
	uint32_t prefix_len[EXEMPT_NETWORKS_MAX];
	struct sketch_cell total;
	struct sketch sources, networks;
};

/* Hashes of udp_rate_limit_source() and udp_rate_limit_network() of a source. */
struct udp_source {
	uint64_t hash, network_hash;
};

/* Exempts a network. prefix_len counts from the first of 128 bits. Networks beyond
 * EXEMPT_NETWORKS_MAX are ignored. */
void udp_rate_limit_exempt(struct udp_rate_limit *g, const struct ip_addr *ip, uint32_t prefix_len);

/* Returns the part of an address that has a budget. For IPv6 that is the first 64 bits, since a
 * host with one address in such a network can have all (RFC 7421 section 2). */
struct view udp_rate_limit_source(const struct ip_addr *ip);
/* Returns the network of an address: a /24, or for IPv6 a /56, the usual size of a site (RFC
 * 6177). */
struct view udp_rate_limit_network(const struct ip_addr *ip);

/* True if a reply of `answer` bytes to a request of `asked` bytes from this address needs no
 * budget. */
bool udp_rate_limit_spares(const struct udp_rate_limit *g, const struct ip_addr *ip, uint64_t asked,
			   uint64_t answer);
/* Charges `bytes` bytes by which a reply exceeds its request. False: that would exceed a budget,
 * and nothing is charged. */
bool udp_rate_limit_book(struct udp_rate_limit *g, const struct udp_source *source, uint32_t second,
			 uint64_t bytes);

#endif

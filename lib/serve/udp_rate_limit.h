/*
 * udp_rate_limit.h - bytes a second that may be sent to the source of a datagram.
 *
 * The source of a datagram can be forged, so an answer longer than its request makes us a weapon
 * (US-CERT TA14-017A; memcached's UDP port was the largest known). Networks that cannot be forged
 * from outside are exempt; every other source has a budget of bytes a second beyond what it sent.
 * Who forges one source can forge thousands, so the network of a source has a budget, too, and all
 * sources together have one.
 *
 * Shape:  a sketch for sources and one for networks: two rows of cells, a source in one cell of
 *         each (Cormode and Muthukrishnan, "An improved data stream summary: the count-min sketch",
 *         2005). A cell counts at least what its sources got, so no source ever gets more than the
 *         budget, however many there are; one that shares both cells with others gets less.
 * Units:  bytes of UDP payload, or whatever else there is a budget of; whole seconds.
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
	uint32_t second; /* of which bytes counts */
	uint32_t bytes;
};

struct sketch {
	struct sketch_cell cells[SKETCH_ROWS][SKETCH_CELLS];
};

/* Budgets of the network of a source, and of all sources, as multiples of that of a source. */
#define UDP_NETWORK_SHARES 4u
#define UDP_TOTAL_SHARES   16u

struct udp_rate_limit {
	uint32_t bytes_per_s; /* of one source */
	uint32_t network_count;
	struct ip_addr ip[EXEMPT_NETWORKS_MAX];
	uint32_t prefix_len[EXEMPT_NETWORKS_MAX];
	struct sketch_cell total;
	struct sketch sources, networks;
};

/* Hashes of the source's udp_rate_limit_source and udp_rate_limit_network. */
struct udp_source {
	uint64_t hash, network_hash;
};

/* An exempt network, prefix_len of 128 bits; those beyond EXEMPT_NETWORKS_MAX are not. */
void udp_rate_limit_exempt(struct udp_rate_limit *g, const struct ip_addr *ip, uint32_t prefix_len);

/* The part of an address that has one budget: of an IPv6 one its first 64 bits, since a host that
 * has one address of such a network can have all (RFC 7421 section 2). */
struct view udp_rate_limit_source(const struct ip_addr *ip);
/* The network of an address: a /24, or of IPv6 a /56, as sites are given them (RFC 6177). */
struct view udp_rate_limit_network(const struct ip_addr *ip);

/* True if a request of `asked` bytes from ip needs no budget to be answered with `answer` bytes. */
bool udp_rate_limit_spares(const struct udp_rate_limit *g, const struct ip_addr *ip, uint64_t asked,
			   uint64_t answer);
/* True if the source may get so many bytes more than it sent. They are booked then. */
bool udp_rate_limit_book(struct udp_rate_limit *g, const struct udp_source *source, uint32_t second,
			 uint64_t bytes);

#endif

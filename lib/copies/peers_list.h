/*
 * peers_list.h - the other fronts of a fleet, and where they receive datagrams.
 *
 * Shape:  plain data.
 * Bounds: PEERS_MAX fronts.
 */
#ifndef CLOCKOO_PEERS_LIST_H
#define CLOCKOO_PEERS_LIST_H

#include "base/ip_addr.h"

#define PEERS_MAX 32u

struct peer_address {
	struct ip_addr ip;
	uint16_t port;
};

struct peers_list {
	uint32_t count;
	struct peer_address address[PEERS_MAX];
};

#endif

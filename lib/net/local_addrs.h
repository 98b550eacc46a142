/*
 * local_addrs.h - our addresses, the links that they are on, and routes: one table for all cores.
 * ADDRESSES.md has the invariants.
 *
 * Shape:  an address has a number: even for IPv4, odd for IPv6. Two hashes find the number of an
 *         address. When a table replaces another one, addresses that are in both keep their
 *         numbers.
 * Units:  prefix lengths: of the 128 bits of an ip_addr.h address. ip_wire: an IPv4 address as
 *         loaded from a header.
 * Owner:  the caller of local_addrs_make keeps the region; nothing changes afterwards.
 * Thread: made by one thread, then read by any.
 * Errors: none, provided that addresses are those of hosts, no two are the same on a link, and
 *         VLANs are below 4095.
 * Bounds: LOCAL_ADDRS_MAX addresses, LINKS_MAX links, ROUTES_MAX routes.
 */
#ifndef CLOCKOO_LOCAL_ADDRS_H
#define CLOCKOO_LOCAL_ADDRS_H

#include "base/hash.h"
#include "base/ip_addr.h"
#include "base/region.h"
#include "routes.h"

#define LOCAL_ADDRS_MAX 2048u
#define LINKS_MAX       64u
#define VLAN_IDS        4096u

/* Numbers of the first addresses. */
enum local {
	LOCAL_V4 = 0,
	LOCAL_LINK6 = 1,   /* made from the MAC, on the first link */
	LOCAL_GLOBAL6 = 3, /* the first IPv6 address that is given */
	LOCAL_COUNT,
};
/* Numbers of a table, and those of the one before it, are below LOCALS_MAX. */
#define LOCALS_MAX      (4 * (LOCAL_ADDRS_MAX + LINKS_MAX) + 8)
#define LOCAL_BROADCAST 0xfffeu /* a broadcast address of one of our networks */
#define LOCAL_NONE      0xffffu

#define LINK_FIRST 0u
#define LINK_NONE  0xffu

/* True for the number of an IPv4 address. */
static inline bool
local_is_v4(uint32_t local)
{
	return (local & 1) == 0;
}

/* An address that the operator gives. */
struct local_addr {
	struct ip_addr ip;
	uint8_t prefix_len;
	uint16_t vlan; /* 0: the first link */
};

/* A route that the operator gives. */
struct static_route {
	struct ip_addr net, gateway; /* no bit of net after the prefix is set */
	uint8_t prefix_len;
	uint16_t mtu;  /* 0: the port's */
	uint16_t vlan; /* VLAN of a link-local gateway; 0: the first link */
};

struct local_addrs_spec {
	uint8_t mac[6];
	bool ipv6;             /* false: IPv6 addresses are ignored */
	uint16_t vlan;         /* VLAN of the first link; 0: untagged */
	uint8_t vlan_priority; /* priority of tags */
	uint64_t seed;
	const struct local_addr *addr;
	uint32_t count;
	const struct static_route *route;
	uint32_t route_count;
};

struct local_state {
	uint8_t prefix_len, link;
	bool live;  /* false: unused, or leaving, when packets may still be sent from it */
	bool fresh; /* was not in the table before */
};

struct local_slot4 {
	uint32_t ip; /* ip_wire; 0: free */
	uint16_t local;
};

struct net_link {
	uint16_t vlan;   /* 0: untagged */
	uint16_t tag;    /* tag of frames sent, with vlan */
	uint16_t local6; /* number of its link-local address, or LOCAL_NONE */
	/* As local6; or the link-local address that leaves together with the link. */
	uint16_t source6;
};

struct local_addrs {
	const struct ip_addr *ip;        /* our addresses by number; zero: unused */
	const struct local_state *state; /* states by number */
	uint32_t numbers;                /* all numbers are lower */
	uint32_t mask4, mask6;           /* masks of the hashes */
	const struct local_slot4 *slots4;
	const uint16_t *slots6,
		*groups; /* numbers; LOCAL_NONE: no entry. groups is hashed by the last 24 bits */
	uint64_t seed;
	bool many4;  /* there are more IPv4 addresses than the first */
	bool tagged; /* at least one link is a VLAN */
	uint32_t link_count;
	struct net_link link[2 * LINKS_MAX]; /* includes links of addresses that leave */
	uint8_t link_of_vlan[VLAN_IDS];      /* LINK_NONE: not ours */
	struct routes routes;
	const struct local_addrs_spec *spec; /* a copy, for local_addrs_match */
};

size_t local_addrs_bytes(const struct local_addrs_spec *spec, const struct local_addrs *was);
/* Makes a table. was: the table in use, or NULL. No core may still use a number of the table before
 * `was`. */
const struct local_addrs *local_addrs_make(struct region *region,
					   const struct local_addrs_spec *spec,
					   const struct local_addrs *was);
/* True if the spec would make the same addresses and routes. */
bool local_addrs_match(const struct local_addrs *a, const struct local_addrs_spec *spec);

/* Returns the number of an IPv4 address on any link, LOCAL_BROADCAST, or LOCAL_NONE. */
static inline uint16_t
local_addrs_find4(const struct local_addrs *a, uint32_t ip_wire)
{
	for (uint32_t at = (uint32_t)hash_word(ip_wire, a->seed);; at++) {
		const struct local_slot4 *slot = &a->slots4[at & a->mask4];

		if (slot->ip == ip_wire && ip_wire != 0)
			return slot->local;
		if (slot->ip == 0)
			return LOCAL_NONE;
	}
}

/* Returns the number of an IPv6 address on a link; LOCAL_NONE: none. */
uint16_t local_addrs_find6(const struct local_addrs *a, const struct ip_addr *ip, uint8_t link);

/* Returns the number of our address ip on this link; LOCAL_NONE: it is not ours. Broadcast
 * addresses and groups are not ours. This is the only function that decides whether a destination
 * is ours. */
uint16_t local_addrs_find(const struct local_addrs *a, const struct ip_addr *ip, uint8_t link);

/* Returns the number of the address of ours on the link that has this solicited-node group; if
 * several have it, always the same one. LOCAL_NONE: none has it. */
uint16_t local_addrs_group_first(const struct local_addrs *a, const struct ip_addr *group,
				 uint8_t link);

/* True for the group of all nodes, and for the solicited-node group of any of our addresses on the
 * link. */
bool local_addrs_group_is_ours(const struct local_addrs *a, const struct ip_addr *group,
			       uint8_t link);

/* True if ip is one of our addresses, or a broadcast address of our networks. A packet that we
 * receive cannot have such a source. */
bool local_addrs_has(const struct local_addrs *a, const struct ip_addr *ip, uint8_t link);

/* Returns the first number, counting from `from`, of an address of the family that is not
 * link-local; LOCAL_NONE: there is none. */
uint16_t local_addrs_next(const struct local_addrs *a, uint32_t from, bool v4);

/* Returns the address with this number; zero: unused. Any number is valid. */
struct ip_addr local_addrs_ip(const struct local_addrs *a, uint32_t local);

#endif

/*
 * neigh_table.h - the neighbour table, which has the MACs of on-link addresses of both families,
 * for all cores.
 *
 * The states are those of RFC 4861 section 7.3.2, without DELAY and PROBE: a stale entry is used,
 * and solicited at the same time.
 *
 * Shape:  NEIGH_SETS sets of NEIGH_WAYS entries, each set under one sequence lock. An entry is
 *         incomplete (solicited, no MAC), reachable (confirmed less than NEIGH_REACHABLE_NS ago),
 *         stale (usable, to be solicited), or expired.
 * Units:  ns on the cores' common clock.
 * Thread: neigh_*_mt by any core. A reader tries a set that is being written NEIGH_TRIES_MAX times;
 *         after that the address counts as unknown. A writer that finds the lock taken gives up.
 * Errors: none: an unknown address is solicited again.
 * Bounds: NEIGH_SETS * NEIGH_WAYS addresses; one request for an address in NEIGH_SOLICIT_NS.
 *         Incomplete entries are never replaced. Reachable ones are replaced only by a next hop
 *         without any MAC.
 */
#ifndef CLOCKOO_NEIGH_TABLE_H
#define CLOCKOO_NEIGH_TABLE_H

#include "base/ip_addr.h"
#include "base/region.h"
#include "local_addrs.h"
#include "router_list.h"

#include <stdbool.h>

#define NEIGH_SETS      256u
#define NEIGH_WAYS      4u
#define NEIGH_TRIES_MAX 4u

/* RFC 4861's REACHABLE_TIME; ARP has no such time. */
#define NEIGH_REACHABLE_NS (30ull * 1000000000)
/* RFC 1122 2.3.2.1: out-of-date entries are removed. */
#define NEIGH_EXPIRE_NS (180ull * 1000000000)
/* RFC 1122 2.3.2.1: one request a second for each destination. */
#define NEIGH_SOLICIT_NS (1ull * 1000000000)
#define NEIGH_DEFEND_NS  (10ull * 1000000000) /* RFC 5227 section 1.1, DEFEND_INTERVAL */
#define NEIGH_OURS       LOCALS_MAX           /* most numbers of our addresses */
/* Number of the first round of announcements; each link-up begins another round. */
#define NEIGH_ROUND_FIRST 1u

struct neigh_table;

enum neigh_state {
	NEIGH_UNKNOWN,
	NEIGH_STALE,     /* mac is valid and should be solicited */
	NEIGH_REACHABLE, /* mac is valid */
};

size_t neigh_table_bytes(void);
struct neigh_table *neigh_table_create(struct region *region);

enum neigh_state neigh_lookup_mt(const struct neigh_table *t, const struct ip_addr *ip,
				 uint64_t now_ns, uint8_t mac[6]);

/* True if the address is reachable. *until_ns: how long it will be, if nothing changes. */
bool neigh_reachable_mt(const struct neigh_table *t, const struct ip_addr *ip, uint64_t now_ns,
			uint8_t mac[6], uint64_t *until_ns);

/* Returns a number that changes whenever an address gets another MAC. A result of
 * neigh_reachable_mt() is valid until its time, as long as this number is what it was before that
 * call. */
uint32_t neigh_generation_mt(const struct neigh_table *t);

/* Refreshes an existing entry (RFC 826's merge, RFC 4861 section 7.2.5). False: there is none. */
bool neigh_update_mt(struct neigh_table *t, const struct ip_addr *ip, const uint8_t mac[6],
		     uint64_t now_ns);

/* Refreshes or adds an entry. False: no room, or the set is locked. */
bool neigh_learn_mt(struct neigh_table *t, const struct ip_addr *ip, const uint8_t mac[6],
		    uint64_t now_ns);

/* True: the caller must send a request, which no other core may for NEIGH_SOLICIT_NS. blind: there
 * is no MAC to send to. Then the address may even replace a reachable one, whose peer's packets go
 * to the MAC that its frames come from. */
bool neigh_may_solicit_mt(struct neigh_table *t, const struct ip_addr *ip, bool blind,
			  uint64_t now_ns);

/* Begins a round of announcements after link-up. A new table begins with one. */
void neigh_announce_mt(struct neigh_table *t);
uint32_t neigh_announce_round_mt(const struct neigh_table *t);
/* True for one core in each round, which then makes the announcements. */
bool neigh_may_announce_mt(struct neigh_table *t, uint32_t round);

/* The routers of the link. */
struct router_list *neigh_routers(struct neigh_table *t);

/* Records that this MAC also uses our address number `which`. */
void neigh_note_conflict_mt(struct neigh_table *t, uint32_t which, const uint8_t mac[6]);
/* True: the caller must defend the address, which no other core may for NEIGH_DEFEND_NS. */
bool neigh_may_defend_mt(struct neigh_table *t, uint32_t which, uint64_t now_ns);
/* The number of conflicts, and the address and MAC of the last one, for operators. False: there was
 * none. */
struct neigh_conflicts {
	uint64_t count;
	uint32_t which;
	uint8_t mac[6];
};
bool neigh_conflicts_mt(const struct neigh_table *t, struct neigh_conflicts *c);

/* Records that until until_ns there is a querier of MLDv1 in a VLAN, or on the untagged link
 * (0). */
void neigh_note_mld1_mt(struct neigh_table *t, uint16_t vlan, uint64_t until_ns);
bool neigh_mld1_present_mt(const struct neigh_table *t, uint16_t vlan, uint64_t now_ns);

#endif

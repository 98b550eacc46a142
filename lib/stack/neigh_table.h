/*
 * neigh_table.h - which MAC an on-link address has: one table for all cores and both families.
 *
 * ARP and neighbour discovery differ in their packets; what is known, for how long, and who may
 * ask when, is the same. States as in RFC 4861 section 7.3.2, without DELAY and PROBE: a stale
 * address is used and asked for at the same time.
 *
 * Shape:  NEIGH_SETS sets of NEIGH_WAYS entries, each set under one sequence lock. An entry is
 *         asked for (no MAC yet), reachable (confirmed less than NEIGH_REACHABLE_NS ago), stale
 *         (usable, ask again), or forgotten.
 * Units:  times in ns on the cores' common clock.
 * Thread: neigh_*_mt by any core. Readers never wait: a set being written is looked at again
 *         NEIGH_TRIES_MAX times, then counts as unknown. A writer that meets another gives up.
 * Errors: none that matter: whatever is not known now is asked for again.
 * Bounds: NEIGH_SETS * NEIGH_WAYS addresses; one question an address and NEIGH_SOLICIT_NS. A
 *         reachable entry, and one just asked for, is never replaced by another address.
 */
#ifndef CLOCKOO_NEIGH_TABLE_H
#define CLOCKOO_NEIGH_TABLE_H

#include "base/ip_addr.h"
#include "base/region.h"

#include <stdbool.h>

#define NEIGH_SETS      256u
#define NEIGH_WAYS      4u
#define NEIGH_TRIES_MAX 4u

#define NEIGH_REACHABLE_NS (30ull * 1000000000)  /* RFC 4861's REACHABLE_TIME; ARP names none */
#define NEIGH_EXPIRE_NS    (180ull * 1000000000) /* RFC 1122 2.3.2.1: out-of-date entries go */
#define NEIGH_SOLICIT_NS   (1ull * 1000000000)   /* RFC 1122 2.3.2.1: 1 a second, a destination */

struct neigh_table;

enum neigh_state {
	NEIGH_UNKNOWN,
	NEIGH_STALE,     /* mac is filled in; ask */
	NEIGH_REACHABLE, /* mac is filled in */
};

size_t neigh_table_bytes(void);
struct neigh_table *neigh_table_create(struct region *region);

enum neigh_state neigh_lookup_mt(const struct neigh_table *t, const struct ip_addr *ip,
				 uint64_t now_ns, uint8_t mac[6]);

/* The same, true if it is reachable; and until when it is, if nothing changes. */
bool neigh_reachable_mt(const struct neigh_table *t, const struct ip_addr *ip, uint64_t now_ns,
			uint8_t mac[6], uint64_t *until_ns);

/* Another number whenever an address has got another MAC. As long as it is what it was before
 * neigh_reachable_mt() was asked, the answer holds, until it says. */
uint32_t neigh_generation_mt(const struct neigh_table *t);

/* RFC 826's merge, RFC 4861 section 7.2.5: refresh an entry that is there, or was asked for. False:
 * it is not. */
bool neigh_update_mt(struct neigh_table *t, const struct ip_addr *ip, const uint8_t mac[6],
		     uint64_t now_ns);

/* Refresh or add: for who talks to us. False: no room, or the set is being written. */
bool neigh_learn_mt(struct neigh_table *t, const struct ip_addr *ip, const uint8_t mac[6],
		    uint64_t now_ns);

/* True: the caller sends a request for ip now, and nobody else does for NEIGH_SOLICIT_NS. */
bool neigh_may_solicit_mt(struct neigh_table *t, const struct ip_addr *ip, uint64_t now_ns);

/* Our neighbours are to hear our addresses again: the link was down. A table begins with one round.
 */
void neigh_announce_mt(struct neigh_table *t);
uint32_t neigh_announce_round_mt(const struct neigh_table *t);
/* True once a round: the caller announces our addresses. */
bool neigh_may_announce_mt(struct neigh_table *t, uint32_t round);

#endif

/*
 * arp_table.h - which MAC an on-link IPv4 address has: one table for all cores.
 *
 * Shape:  ARP_SETS sets of ARP_WAYS entries, each set under one sequence lock; the set is the
 *         low bits of the address, so a subnet spreads evenly. An entry is asked for (no MAC
 *         yet), reachable (confirmed less than ARP_REACHABLE_NS ago), stale (usable, ask
 *         again), or forgotten.
 * Units:  addresses in host order; times in ns on the cores' common clock.
 * Thread: arp_*_mt by any core. Readers never wait: a set being written is looked at again
 *         ARP_TRIES_MAX times, then counts as unknown. A writer that meets another gives up.
 * Errors: none that matter: whatever is not known now is asked for again.
 * Bounds: ARP_SETS * ARP_WAYS addresses; one question an address and ARP_ASK_NS. A reachable
 *         entry, and one just asked for, is never replaced by another address.
 */
#ifndef CLOCKOO_ARP_TABLE_H
#define CLOCKOO_ARP_TABLE_H

#include "base/region.h"

#include <stdbool.h>

#define ARP_SETS      256u /* a power of two */
#define ARP_WAYS      4u
#define ARP_TRIES_MAX 4u

#define ARP_REACHABLE_NS (30ull * 1000000000)  /* RFC 4861's REACHABLE_TIME; ARP names none */
#define ARP_FORGET_NS    (180ull * 1000000000) /* RFC 1122 2.3.2.1: out-of-date entries go */
#define ARP_ASK_NS       (1ull * 1000000000)   /* RFC 1122 2.3.2.1: 1 a second, a destination */

struct arp_table;

enum arp_state {
	ARP_UNKNOWN,
	ARP_STALE,     /* mac is filled in; ask */
	ARP_REACHABLE, /* mac is filled in */
};

size_t arp_table_bytes(void);
struct arp_table *arp_table_create(struct region *region);

enum arp_state arp_lookup_mt(const struct arp_table *t, uint32_t ip, uint64_t now_ns,
			     uint8_t mac[6]);

/* RFC 826's merge: refresh an entry that is there, or was asked for. False: it is not. */
bool arp_update_mt(struct arp_table *t, uint32_t ip, const uint8_t mac[6], uint64_t now_ns);

/* Refresh or add: for who talks to us. False: no room, or the set is being written. */
bool arp_learn_mt(struct arp_table *t, uint32_t ip, const uint8_t mac[6], uint64_t now_ns);

/* True: the caller sends a request for ip now, and nobody else does for ARP_ASK_NS. */
bool arp_may_ask_mt(struct arp_table *t, uint32_t ip, uint64_t now_ns);

/* True once in the table's life: the caller announces our address (RFC 5227 section 2.3). */
bool arp_may_announce_mt(struct arp_table *t);

#endif

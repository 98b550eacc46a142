/*
 * neigh_table.c - the neighbour table: sets under sequence locks. Lookups never wait, and a writer
 * that finds a set locked gives up.
 */
#include "neigh_table.h"
#include "base/bytes.h"
#include "base/check.h"

#include <stdatomic.h>

#define MAC_BITS 48u

/* Fields are atomics because readers read while a writer writes. The set's version shows whether
 * the values belong together. */
struct neigh_entry {
	_Atomic uint64_t mac;          /* first byte lowest; 0: solicited, without an answer yet */
	_Atomic uint64_t confirmed_ns; /* when mac was last confirmed */
	_Atomic uint64_t solicited_ns; /* 0: never */
	_Atomic uint64_t ip[2];        /* both 0: the entry is free */
};

struct neigh_set {
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t version; /* odd while it is written */
	struct neigh_entry way[NEIGH_WAYS];
};
static_assert(sizeof(struct neigh_set) == 3 * CACHE_LINE_BYTES, "sets do not share lines");

struct neigh_table {
	_Atomic uint32_t generation;
	_Atomic uint32_t announce_round; /* number of the current round of announcements */
	_Atomic uint32_t announce_taken; /* last round that a core has taken */
	/* Conflicts are rare, or an attack, so they have a cache line that no lookup reads. */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t defended_ns[NEIGH_OURS]; /* 0: never */
	_Atomic uint64_t conflicts;
	/* MAC of the last conflict, and above it the number of our address. */
	_Atomic uint64_t conflict_last;
	/* Until then there is a querier of MLDv1; 0: there was none. */
	_Atomic uint64_t mld1_until_ns[VLAN_IDS];
	_Alignas(CACHE_LINE_BYTES) struct router_list routers;
	struct neigh_set set[NEIGH_SETS];
};
static_assert(NEIGH_SETS == 256, "the set is a byte");

/* The values that a reader copies from an entry. */
struct neigh_copy {
	uint64_t mac, confirmed_ns, solicited_ns;
};

#define GET(field)        atomic_load_explicit(&(field), memory_order_relaxed)
#define SET(field, value) atomic_store_explicit(&(field), (value), memory_order_relaxed)

/* Returns the time since since_ns, but at least 0. Cores read the clock at different moments, so
 * the time of another core may be a little ahead of ours. */
static uint64_t
age(uint64_t since_ns, uint64_t now_ns)
{
	return now_ns > since_ns ? now_ns - since_ns : 0;
}

static bool
solicit_due(uint64_t solicited_ns, uint64_t now_ns)
{
	return solicited_ns == 0 || age(solicited_ns, now_ns) >= NEIGH_SOLICIT_NS;
}

static uint64_t
mac_pack(const uint8_t mac[6])
{
	return load_u32(mac) | (uint64_t)load_u16(mac + 4) << 32;
}

static struct neigh_set *
set_of(struct neigh_table *t, const struct ip_addr *ip)
{
	/* Neighbours mostly differ in the last bytes of their addresses: in an IPv4 subnet, if
	 * hosts are numbered by hand, and if a MAC of one vendor makes the IPv6 address. A
	 * neighbour can fill only one set, the one that its own MAC is in. */
	return &t->set[ip->b[13] ^ ip->b[14] ^ ip->b[15]];
}

static struct neigh_entry *
find(struct neigh_set *set, const struct ip_addr *ip)
{
	const uint64_t words[2] = {load_u64(ip->b), load_u64(ip->b + 8)};

	for (uint32_t i = 0; i < NEIGH_WAYS; i++)
		if (GET(set->way[i].ip[1]) == words[1] && GET(set->way[i].ip[0]) == words[0])
			return &set->way[i];
	return NULL;
}

/* Copies an entry. The acquire load pairs with the release store in unlock: an even version shows
 * the entries as that unlock left them. The fence pairs with the one in try_lock: a reader that saw
 * a later write sees the odd version, too. */
static bool
read_entry(const struct neigh_table *t, const struct ip_addr *ip, struct neigh_copy *copy)
{
	struct neigh_set *set = set_of((struct neigh_table *)t, ip);

	for (uint32_t tries = 0; tries < NEIGH_TRIES_MAX; tries++) {
		const uint32_t version = atomic_load_explicit(&set->version, memory_order_acquire);
		const struct neigh_entry *e = find(set, ip);

		if (e != NULL)
			*copy = (struct neigh_copy){GET(e->mac), GET(e->confirmed_ns),
						    GET(e->solicited_ns)};
		atomic_thread_fence(memory_order_acquire);
		if ((version & 1) == 0 && GET(set->version) == version)
			return e != NULL;
	}
	return false;
}

static bool
try_lock(struct neigh_set *set)
{
	uint32_t version = GET(set->version);

	if (version & 1 ||
	    !atomic_compare_exchange_strong_explicit(&set->version, &version, version + 1,
						     memory_order_acquire, memory_order_relaxed))
		return false;
	atomic_thread_fence(memory_order_release); /* pairs with the fence in read_entry */
	return true;
}

static void
unlock(struct neigh_set *set)
{
	/* Pairs with the acquire load in read_entry, and with the next try_lock. */
	atomic_store_explicit(&set->version, GET(set->version) + 1, memory_order_release);
}

/* Returns for how long an entry has been useless; 0: it must stay. */
static uint64_t
idle_for(const struct neigh_entry *e, uint64_t now_ns)
{
	if ((GET(e->ip[0]) | GET(e->ip[1])) == 0)
		return UINT64_MAX;

	const uint64_t confirmed = age(GET(e->confirmed_ns), now_ns);
	const uint64_t asked = age(GET(e->solicited_ns), now_ns);

	if (GET(e->mac) == 0)
		return asked < NEIGH_SOLICIT_NS ? 0 : asked;
	return confirmed < NEIGH_REACHABLE_NS ? 0 : confirmed;
}

/* Returns the entry to reuse for another address: the one that has been useless longest. If all
 * must stay: NULL, or for a blind caller the reachable one whose confirmation is oldest. */
static struct neigh_entry *
victim(struct neigh_set *set, bool blind, uint64_t now_ns)
{
	struct neigh_entry *found = NULL, *oldest = NULL;
	uint64_t longest = 0;

	for (uint32_t i = 0; i < NEIGH_WAYS; i++) {
		struct neigh_entry *e = &set->way[i];
		const uint64_t idle = idle_for(e, now_ns);

		if (idle > longest) {
			longest = idle;
			found = e;
		}
		if (GET(e->mac) != 0 &&
		    (oldest == NULL || GET(e->confirmed_ns) < GET(oldest->confirmed_ns)))
			oldest = e;
	}
	return found == NULL && blind ? oldest : found;
}

/* Returns the entry of an address, which is added if necessary. Called under the lock. NULL: all
 * entries must stay. */
static struct neigh_entry *
find_or_add(struct neigh_set *set, const struct ip_addr *ip, bool blind, uint64_t now_ns)
{
	struct neigh_entry *e = find(set, ip);

	if (e != NULL)
		return e;
	e = victim(set, blind, now_ns);
	if (e == NULL)
		return NULL;
	SET(e->ip[0], load_u64(ip->b));
	SET(e->ip[1], load_u64(ip->b + 8));
	SET(e->mac, 0);
	SET(e->confirmed_ns, 0);
	SET(e->solicited_ns, 0);
	return e;
}

/* Confirms an entry. True if a core may have used another MAC for the address. */
static bool
confirm(struct neigh_entry *e, const uint8_t mac[6], uint64_t now_ns)
{
	const uint64_t was = GET(e->mac), is = mac_pack(mac);

	SET(e->mac, is);
	SET(e->confirmed_ns, now_ns);
	return was != 0 && was != is;
}

/* Called after the unlock that published the change. Pairs with the acquire in
 * neigh_generation_mt. */
static void
publish_change(struct neigh_table *t)
{
	atomic_fetch_add_explicit(&t->generation, 1, memory_order_release);
}

size_t
neigh_table_bytes(void)
{
	return sizeof(struct neigh_table) + CACHE_LINE_BYTES;
}

struct neigh_table *
neigh_table_create(struct region *region)
{
	struct neigh_table *t = region_take(region, sizeof *t, CACHE_LINE_BYTES);

	neigh_announce_mt(t);
	return t;
}

static enum neigh_state
entry_state(const struct neigh_copy *copy, uint64_t now_ns, uint8_t mac[6])
{
	const uint64_t age_ns = age(copy->confirmed_ns, now_ns);

	if (copy->mac == 0 || age_ns >= NEIGH_EXPIRE_NS)
		return NEIGH_UNKNOWN;
	memcpy(mac, &copy->mac, 6);
	return age_ns < NEIGH_REACHABLE_NS ? NEIGH_REACHABLE : NEIGH_STALE;
}

enum neigh_state
neigh_lookup_mt(const struct neigh_table *t, const struct ip_addr *ip, uint64_t now_ns,
		uint8_t mac[6])
{
	struct neigh_copy copy;

	return read_entry(t, ip, &copy) ? entry_state(&copy, now_ns, mac) : NEIGH_UNKNOWN;
}

bool
neigh_reachable_mt(const struct neigh_table *t, const struct ip_addr *ip, uint64_t now_ns,
		   uint8_t mac[6], uint64_t *until_ns)
{
	struct neigh_copy copy;

	if (!read_entry(t, ip, &copy))
		return false;
	*until_ns = copy.confirmed_ns + NEIGH_REACHABLE_NS;
	return entry_state(&copy, now_ns, mac) == NEIGH_REACHABLE;
}

/* Acquire: pairs with the release in publish_change. A core that reads the new generation finds the
 * change in the table. */
uint32_t
neigh_generation_mt(const struct neigh_table *t)
{
	return atomic_load_explicit(&t->generation, memory_order_acquire);
}

/* Confirms an entry. adds: creates it if there is none. False: the set is locked or full, or has no
 * such entry. */
static bool
entry_confirm(struct neigh_table *t, const struct ip_addr *ip, const uint8_t mac[6],
	      uint64_t now_ns, bool adds)
{
	struct neigh_set *set = set_of(t, ip);
	struct neigh_entry *e;
	bool changed;

	if (!try_lock(set))
		return false;
	e = adds ? find_or_add(set, ip, false, now_ns) : find(set, ip);
	changed = e != NULL && confirm(e, mac, now_ns);
	unlock(set);
	if (changed)
		publish_change(t);
	return e != NULL;
}

bool
neigh_update_mt(struct neigh_table *t, const struct ip_addr *ip, const uint8_t mac[6],
		uint64_t now_ns)
{
	return entry_confirm(t, ip, mac, now_ns, false);
}

bool
neigh_learn_mt(struct neigh_table *t, const struct ip_addr *ip, const uint8_t mac[6],
	       uint64_t now_ns)
{
	return entry_confirm(t, ip, mac, now_ns, true);
}

bool
neigh_may_solicit_mt(struct neigh_table *t, const struct ip_addr *ip, bool blind, uint64_t now_ns)
{
	struct neigh_set *set = set_of(t, ip);
	struct neigh_copy copy;
	struct neigh_entry *e;
	bool due;

	/* Most calls end here without writing, since every segment to a stale address makes a
	 * call. */
	if (read_entry(t, ip, &copy) && !solicit_due(copy.solicited_ns, now_ns))
		return false;
	if (!try_lock(set))
		return false;
	e = find_or_add(set, ip, blind, now_ns);
	due = e != NULL && solicit_due(GET(e->solicited_ns), now_ns);
	if (due)
		SET(e->solicited_ns, now_ns != 0 ? now_ns : 1);
	unlock(set);
	/* The reachable entry that was replaced may still be in use by a core, which no update
	 * would reach. */
	if (due && blind)
		publish_change(t);
	return due;
}

struct router_list *
neigh_routers(struct neigh_table *t)
{
	return &t->routers;
}

void
neigh_announce_mt(struct neigh_table *t)
{
	atomic_fetch_add_explicit(&t->announce_round, 1, memory_order_relaxed);
}

uint32_t
neigh_announce_round_mt(const struct neigh_table *t)
{
	return GET(t->announce_round);
}

bool
neigh_may_announce_mt(struct neigh_table *t, uint32_t round)
{
	return atomic_exchange_explicit(&t->announce_taken, round, memory_order_relaxed) != round;
}

void
neigh_note_conflict_mt(struct neigh_table *t, uint32_t which, const uint8_t mac[6])
{
	ensure(which < NEIGH_OURS);
	SET(t->conflict_last, mac_pack(mac) | (uint64_t)which << MAC_BITS);
	/* Release: pairs with the load in neigh_conflicts_mt. A reader that sees the count sees a
	 * MAC, too. */
	atomic_fetch_add_explicit(&t->conflicts, 1, memory_order_release);
}

bool
neigh_may_defend_mt(struct neigh_table *t, uint32_t which, uint64_t now_ns)
{
	uint64_t last = GET(t->defended_ns[which]);

	return (last == 0 || age(last, now_ns) >= NEIGH_DEFEND_NS) &&
	       atomic_compare_exchange_strong_explicit(&t->defended_ns[which], &last,
						       now_ns != 0 ? now_ns : 1,
						       memory_order_relaxed, memory_order_relaxed);
}

bool
neigh_conflicts_mt(const struct neigh_table *t, struct neigh_conflicts *c)
{
	uint64_t last;

	c->count = atomic_load_explicit(&t->conflicts, memory_order_acquire);
	last = GET(t->conflict_last);
	c->which = (uint32_t)(last >> MAC_BITS);
	for (uint32_t i = 0; i < sizeof c->mac; i++)
		c->mac[i] = (uint8_t)(last >> 8 * i);
	return c->count != 0;
}

void
neigh_note_mld1_mt(struct neigh_table *t, uint16_t vlan, uint64_t until_ns)
{
	SET(t->mld1_until_ns[vlan], until_ns);
}

bool
neigh_mld1_present_mt(const struct neigh_table *t, uint16_t vlan, uint64_t now_ns)
{
	return now_ns < GET(t->mld1_until_ns[vlan]);
}

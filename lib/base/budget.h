/*
 * budget.h - a pool that peers can use up: shares while it is short, and a reserve (BUDGET.md).
 *
 * Holders take units and give them back. While enough units are free, a holder may take all that
 * are left. While the pool is short, a holder has a share: the units without the reserve are
 * divided equally among the prefixes of all holders, a prefix's part among its addresses, and an
 * address's part among its holders. A holder that makes progress may borrow some of the units that
 * are left, the reserve excepted. The reserve is for holders without any unit.
 *
 * Shape:  the pool's user keeps the number of units of each holder, and a struct budget_place for
 *         it. A place counts in the cells of its address and prefix while its holder has joined
 *         this shortage. Cells and places of earlier shortages count as empty, so nothing need be
 *         reset when a shortage ends.
 * Units:  those of the pool: frames, descriptors, bytes or places.
 * Owner:  cells are taken from the region; places are the caller's, zero at first.
 * Thread: core-local.
 * Errors: a source that finds no free cell shares that of another source.
 * Bounds: BUDGET_CELLS cells of each kind, of which BUDGET_PROBES are searched for a source; a
 *         search for the holder that yields examines BUDGET_LOOKS holders.
 */
#ifndef CLOCKOO_BUDGET_H
#define CLOCKOO_BUDGET_H

#include "bytes.h"
#include "ip_addr.h"
#include "list.h"
#include "region.h"

#define BUDGET_CELLS  1024u /* cells of addresses, and as many of prefixes */
#define BUDGET_PROBES 8u
#define BUDGET_LOOKS  64u
#define BUDGET_KEEPS  UINT32_MAX /* the rank of a holder that never yields */
/* A shortage begins when 1/BUDGET_SHORT_PART of the units, without the reserve, is left. It ends
 * when twice as many are left. */
#define BUDGET_SHORT_PART 4u
/* A borrower must leave BUDGET_LENT_PART times what it holds, in addition to the reserve: a dynamic
 * threshold (Choudhury and Hahne 1998). */
#define BUDGET_LENT_PART 8u

/* The part of a holder in a shortage. */
struct budget_place {
	uint32_t shortage; /* number of the shortage that it has joined; 0: none */
	uint16_t source;   /* cell of its address */
};

/* An address with the number of its holders, or a prefix with the number of its addresses. */
struct budget_cell {
	uint32_t shortage; /* number of the shortage in which it counts */
	uint32_t tag;
	uint32_t count;
	uint16_t network; /* for an address: the cell of its prefix */
};

struct budget {
	uint32_t total, left;
	uint32_t reserve;
	uint32_t low;    /* the pool is short when fewer units are left */
	uint32_t enough; /* units left at which the shortage ends */
	/* Number of this shortage or of the last one; counts from 1, and wraps. */
	uint32_t shortage;
	bool is_short;
	uint32_t prefixes, holders; /* those that have joined this shortage */
	uint64_t seed;
	struct budget_cell *addresses, *networks;
};

size_t budget_bytes(void);
/* Creates a budget of which all units are left. reserve < total. */
void budget_create(struct budget *b, struct region *region, uint32_t total, uint32_t reserve,
		   uint64_t seed);

/* Makes holders count from now on even while the pool is not short. For a pool whose units are
 * rarely taken. */
void budget_count_always(struct budget *b);

/* True if there is no shortage, and none begins or ends just now. */
static inline bool
budget_is_plenty(const struct budget *b)
{
	return b->left >= b->low && !b->is_short;
}

/* Begins or ends a shortage. To be called once a turn. */
static inline void
budget_look(struct budget *b)
{
	if (likely(budget_is_plenty(b)))
		return;
	if (!b->is_short) {
		b->is_short = true;
		b->shortage += b->shortage == UINT32_MAX ? 2 : 1;
		b->prefixes = b->holders = 0;
	} else if (b->left >= b->enough) {
		b->is_short = false;
	}
}

static inline void
budget_take(struct budget *b, uint32_t n)
{
	b->left -= n;
}

static inline void
budget_give(struct budget *b, uint32_t n)
{
	b->left += n;
}

static inline bool
budget_has_joined(const struct budget *b, const struct budget_place *p)
{
	return p->shortage == b->shortage && b->is_short;
}

/* Counts the holder from now on; a second call has no effect. To be called while the pool is
 * short. */
void budget_join(struct budget *b, struct budget_place *p, const struct ip_addr *ip);
/* Stops counting the holder, which has no units or ends. No effect if it has not joined. */
void budget_leave(struct budget *b, struct budget_place *p);
/* Returns how many units a holder that has joined may hold; at least 1. */
uint32_t budget_share(const struct budget *b, const struct budget_place *p);

/* True if the address has more holders than units in its part. */
bool budget_source_is_over(const struct budget *b, const struct budget_place *p);

/* Returns the link of the holder that yields its place to a newcomer: the one with the lowest rank
 * among the first BUDGET_LOOKS of the line, of equal ones the first. Those that keep their places
 * go to the end of the line, so that a later search examines others. NULL: all keep theirs. */
struct list *budget_loser(struct list *line, uint32_t (*rank)(void *arg, struct list *link),
			  void *arg);

/* True if a holder above its share that makes progress may take n more units while the pool is
 * short. */
bool budget_may_borrow(const struct budget *b, uint32_t held, uint32_t n);

bool budget_may_take_short(struct budget *b, struct budget_place *p, const struct ip_addr *ip,
			   uint32_t held, uint32_t n);

/* True if a holder of `held` units may take n more units. */
static inline bool
budget_may_take(struct budget *b, struct budget_place *p, const struct ip_addr *ip, uint32_t held,
		uint32_t n)
{
	if (likely(b->left >= b->low + n && !b->is_short))
		return true;
	return budget_may_take_short(b, p, ip, held, n);
}

#endif

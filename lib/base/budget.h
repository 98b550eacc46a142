/*
 * budget.h - a pool that peers can fill: shares while it is short, and a reserve (BUDGET.md).
 *
 * Units are taken and given back by holders. While enough units are free any holder takes as many
 * as are left. While the pool is short a holder takes up to its share only: what is not in reserve
 * is divided equally among the prefixes of those who hold, a prefix's part among its addresses, an
 * address's part among its holders. The reserve is for holders that hold nothing yet.
 *
 * Shape:  the pool's user keeps how much each holder holds, and a struct budget_place for each. A
 *         place counts in the cells of its address and prefix while its holder is joined to this
 *         shortage. A cell, or a place, of an earlier shortage counts as empty, so that nothing is
 *         walked when a shortage ends.
 * Units:  of the pool: frames, descriptors, bytes, places.
 * Owner:  cells are taken from the region; places are the caller's, zero at first.
 * Thread: core-local.
 * Errors: a source that finds no cell of its own shares that of another one.
 * Bounds: BUDGET_CELLS cells of each kind, BUDGET_PROBES looked at for a source.
 */
#ifndef CLOCKOO_BUDGET_H
#define CLOCKOO_BUDGET_H

#include "bytes.h"
#include "ip_addr.h"
#include "region.h"

#define BUDGET_CELLS  1024u /* of addresses, and as many of prefixes */
#define BUDGET_PROBES 8u
/* A shortage begins with this part of the common units left, and ends with twice as many. */
#define BUDGET_SHORT_PART 4u

/* A holder's part in a shortage. */
struct budget_place {
	uint32_t shortage; /* that it has joined; 0: none */
	uint16_t source;   /* cell of its address */
};

/* An address, or a prefix, and how many holders, or addresses, it has. */
struct budget_cell {
	uint32_t shortage; /* of which it counts */
	uint32_t tag;
	uint32_t count;
	uint16_t network; /* of an address: the cell of its prefix */
};

struct budget {
	uint32_t total, left;
	uint32_t reserve;
	uint32_t low;      /* with fewer left it is short */
	uint32_t enough;   /* with so many left it is short no longer */
	uint32_t shortage; /* number of this one, or of the last; from 1, wraps */
	bool is_short;
	uint32_t prefixes, holders; /* joined to this shortage */
	uint64_t seed;
	struct budget_cell *addresses, *networks;
};

size_t budget_bytes(void);
/* Creates a budget of which all units are left. reserve < total. */
void budget_create(struct budget *b, struct region *region, uint32_t total, uint32_t reserve,
		   uint64_t seed);

/* Holders are counted from now on, short or not: of a pool whose units are taken rarely. */
void budget_count_always(struct budget *b);

/* Begins or ends a shortage, once a turn. */
static inline void
budget_look(struct budget *b)
{
	if (likely(b->left >= b->low && !b->is_short))
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

/* The holder counts from now on; again is harmless. While the pool is short. */
void budget_join(struct budget *b, struct budget_place *p, const struct ip_addr *ip);
/* The holder counts no more: it holds nothing, or ends. Harmless if it has not joined. */
void budget_leave(struct budget *b, struct budget_place *p);
/* Units that a holder which has joined may hold; 1 at least. */
uint32_t budget_share(const struct budget *b, const struct budget_place *p);

/* True if the holders of its address have more than the address's part, each holding one unit. */
bool budget_source_is_over(const struct budget *b, const struct budget_place *p);

bool budget_may_take_short(struct budget *b, struct budget_place *p, const struct ip_addr *ip,
			   uint32_t held, uint32_t n);

/* True if a holder of `held` units may take n more. */
static inline bool
budget_may_take(struct budget *b, struct budget_place *p, const struct ip_addr *ip, uint32_t held,
		uint32_t n)
{
	if (likely(b->left >= b->low + n && !b->is_short))
		return true;
	return budget_may_take_short(b, p, ip, held, n);
}

#endif

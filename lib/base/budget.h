/*
 * budget.h - a pool that peers can fill: shares while it is short, and a reserve (BUDGET.md).
 *
 * Units are taken and given back by holders. While enough units are free any holder takes as many
 * as are left. While the pool is short a holder takes up to its share only: what is not in reserve
 * is divided equally among the prefixes of those who hold, a prefix's part among its addresses, an
 * address's part among its holders. Of what is left beyond the reserve a holder that makes progress
 * may borrow a part. The reserve is for holders that hold nothing yet.
 *
 * Shape:  the pool's user keeps how much each holder holds, and a struct budget_place for each. A
 *         place counts in the cells of its address and prefix while its holder is joined to this
 *         shortage. A cell, or a place, of an earlier shortage counts as empty, so that nothing is
 *         walked when a shortage ends.
 * Units:  of the pool: frames, descriptors, bytes, places.
 * Owner:  cells are taken from the region; places are the caller's, zero at first.
 * Thread: core-local.
 * Errors: a source that finds no cell of its own shares that of another one.
 * Bounds: BUDGET_CELLS cells of each kind, BUDGET_PROBES looked at for a source; BUDGET_LOOKS
 *         holders examined by a search for the one that yields.
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
/* A shortage begins with this part of the common units left, and ends with twice as many. */
#define BUDGET_SHORT_PART 4u
/* A borrower leaves this many times what it holds, and the reserve: a dynamic threshold (Choudhury
 * and Hahne 1998). */
#define BUDGET_LENT_PART 8u

/* A holder's part in a shortage. */
struct budget_place {
	uint32_t shortage; /* the shortage it has joined; 0: none */
	uint16_t source;   /* cell of its address */
};

/* An address and the number of its holders, or a prefix and the number of its addresses. */
struct budget_cell {
	uint32_t shortage; /* the shortage it counts in */
	uint32_t tag;
	uint32_t count;
	uint16_t network; /* for an address: the cell of its prefix */
};

struct budget {
	uint32_t total, left;
	uint32_t reserve;
	uint32_t low;      /* with fewer units left the pool is short */
	uint32_t enough;   /* units left at which the shortage ends */
	uint32_t shortage; /* number of this shortage, or of the last; from 1, wraps */
	bool is_short;
	uint32_t prefixes, holders; /* that have joined this shortage */
	uint64_t seed;
	struct budget_cell *addresses, *networks;
};

size_t budget_bytes(void);
/* Creates a budget of which all units are left. reserve < total. */
void budget_create(struct budget *b, struct region *region, uint32_t total, uint32_t reserve,
		   uint64_t seed);

/* Counts holders from now on, even while the pool is not short: for a pool whose units are taken
 * rarely. */
void budget_count_always(struct budget *b);

/* True if there is no shortage, and none begins or ends now. */
static inline bool
budget_is_plenty(const struct budget *b)
{
	return b->left >= b->low && !b->is_short;
}

/* Begins or ends a shortage. Call once a turn. */
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

/* Counts the holder from now on; a second call is harmless. Call while the pool is short. */
void budget_join(struct budget *b, struct budget_place *p, const struct ip_addr *ip);
/* Stops counting the holder, which holds nothing or ends. Harmless if it has not joined. */
void budget_leave(struct budget *b, struct budget_place *p);
/* Returns how many units a holder that has joined may hold; at least 1. */
uint32_t budget_share(const struct budget *b, const struct budget_place *p);

/* True if the address has more holders than its part, even at one unit each. */
bool budget_source_is_over(const struct budget *b, const struct budget_place *p);

/* Returns the link of the holder that yields its place to a newcomer: of the first BUDGET_LOOKS of
 * the line the one with the lowest rank, of equals the first. Those that keep their places go to
 * the end, so that a later search finds others. NULL: all keep theirs. */
struct list *budget_loser(struct list *line, uint32_t (*rank)(void *arg, struct list *link),
			  void *arg);

/* True if a holder above its share, which makes progress, may take n more while the pool is
 * short. */
bool budget_may_borrow(const struct budget *b, uint32_t held, uint32_t n);

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

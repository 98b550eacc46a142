/*
 * lru_links.h - an exact LRU as in memcached: a doubly linked list through the items.
 *
 * Shape:  an item's two links lie `before` bytes in front of its key; the struct has the list's
 *         ends.
 * Thread: under the caller's lock, also for every get.
 */
#ifndef CLOCKOO_LRU_LINKS_H
#define CLOCKOO_LRU_LINKS_H

#include "paper_item.h"

struct lru_pair {
	struct paper_item *newer, *older;
};

struct lru_links {
	struct paper_item *newest, *oldest;
	uint32_t before;
};

static inline struct lru_pair *
lru_pair_of(const struct lru_links *l, struct paper_item *it)
{
	return (struct lru_pair *)(void *)((uint8_t *)it - l->before);
}

static inline void
lru_links_add(struct lru_links *l, struct paper_item *it)
{
	*lru_pair_of(l, it) = (struct lru_pair){.older = l->newest};
	if (l->newest != NULL)
		lru_pair_of(l, l->newest)->newer = it;
	else
		l->oldest = it;
	l->newest = it;
}

static inline void
lru_links_take_out(struct lru_links *l, struct paper_item *it)
{
	const struct lru_pair pair = *lru_pair_of(l, it);

	if (pair.newer != NULL)
		lru_pair_of(l, pair.newer)->older = pair.older;
	else
		l->newest = pair.older;
	if (pair.older != NULL)
		lru_pair_of(l, pair.older)->newer = pair.newer;
	else
		l->oldest = pair.newer;
}

static inline void
lru_links_use(struct lru_links *l, struct paper_item *it)
{
	if (l->newest == it)
		return;
	lru_links_take_out(l, it);
	lru_links_add(l, it);
}

#endif

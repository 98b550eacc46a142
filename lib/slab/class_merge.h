/*
 * class_merge.h - classes that hardly fill their only page share one.
 *
 * Thread: the core that has the rebalancer's lock.
 */
#ifndef CLOCKOO_CLASS_MERGE_H
#define CLOCKOO_CLASS_MERGE_H

#include "slab_pages.h"

#define HELD_BY_PARTS 8

/* True if a page of the class holds parts of many values that are larger than it. Such parts do not
 * move: taking the page evicts all of these values, each of which has at least a chunk, so that
 * HELD_BY_PARTS times the page's memory is lost. A class that has few of them beside its own items
 * gives pages as others do. */
static inline bool
class_holds_values(const struct slab *sl, const struct slab_class *c)
{
	const int64_t parts = atomic_load_explicit(&c->value_parts, memory_order_relaxed),
		      pages = slab_class_pages(c);

	return unlikely(parts > 0) && c->size != SLAB_OBJECT_MAX &&
	       parts * SLAB_OBJECT_MAX >= HELD_BY_PARTS * (pages << sl->arena->page_shift);
}

/* Merges a class into a larger one with free objects for all of its items: its page is evacuated.
 * False: no class can be merged. */
bool class_merge(struct slab *sl);
/* Returns the class that gets a page meant for this class: the class itself, or one that was merged
 * into it and should have its own objects again. items, item_bytes: the class's items and their
 * bytes. */
uint32_t class_split(struct slab *sl, uint32_t class, uint64_t items, uint64_t item_bytes);
/* True if the pool has free pages, beyond those to keep, for classes that share a page. Pages
 * become free without an eviction, too, by deletes or a flush. Relaxed: the next step sees it. */
static inline bool
class_unmerge_is_due(const struct slab *sl, uint32_t keep)
{
	return atomic_load_explicit(&sl->merged, memory_order_relaxed) &&
	       slab_pool(sl) > keep + slab_moves_max(sl);
}
/* Each class takes objects of its own again. */
void class_unmerge(struct slab *sl);

#endif

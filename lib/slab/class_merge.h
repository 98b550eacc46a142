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
 * move, so to take the page is to evict all of these values. Each has at least one chunk, so that
 * HELD_BY_PARTS times the page's memory is lost. A class with few such parts among its own items
 * gives pages as others do. */
static inline bool
class_holds_values(const struct slab *sl, const struct slab_class *c)
{
	const int64_t parts = atomic_load_explicit(&c->value_parts, memory_order_relaxed),
		      pages = slab_class_pages(c);

	return unlikely(parts > 0) && c->size != SLAB_OBJECT_MAX &&
	       parts * SLAB_OBJECT_MAX >= HELD_BY_PARTS * (pages << sl->arena->page_shift);
}

/* Merges a class into a larger one that has free objects for all of its items. The class's page is
 * then evacuated. False: no class can be merged. */
bool class_merge(struct slab *sl);
/* Returns the class to which a page meant for this class goes: itself, or a class merged into it
 * that should have objects of its own again. items, item_bytes: what the class holds. */
uint32_t class_split(struct slab *sl, uint32_t class, uint64_t items, uint64_t item_bytes);
/* True if the pool has pages beyond those to keep, so that classes that share a page can have their
 * own. Deletes and flushes free pages, too. Relaxed: the next step sees what this one misses. */
static inline bool
class_unmerge_is_due(const struct slab *sl, uint32_t keep)
{
	return atomic_load_explicit(&sl->merged, memory_order_relaxed) &&
	       slab_pool(sl) > keep + slab_moves_max(sl);
}
/* Ends all merges: each class takes objects of its own again. */
void class_unmerge(struct slab *sl);

#endif

/*
 * class_merge.c - classes that hardly fill their only page share one.
 *
 * In a small memory most classes have one page. If few keys have a class's sizes, they fill a small
 * part of that page. If a larger class has enough free objects, the items move there, later sets of
 * these sizes take objects of the larger class, and the page goes to other classes. The price is
 * more rounding, in memory that was free. Once the larger class is full, it gets pages by the speed
 * of its hand, as all classes do. If a page can be spared then, it goes to the merged sizes below
 * the mean item, which have a class of their own again.
 */
#include "class_merge.h"

/* A class is merged if its items take at most 1/MERGE_LIVE of a page in the larger class; if beyond
 * the free objects that the larger class keeps ahead 1/MERGE_SPARE of a page stays free there; and
 * if 1/MERGE_PARTS of all memory was evicted since the class got its page, which it may otherwise
 * still fill. */
#define MERGE_LIVE  2u
#define MERGE_SPARE 8u
#define MERGE_PARTS 2u

static uint32_t
class_free_count(const struct slab_class *c)
{
	return atomic_load_explicit(&c->free_count, memory_order_relaxed);
}

/* Returns the objects that are not free in a class of one page. */
static uint32_t
class_used(const struct slab_class *c)
{
	const uint32_t free = class_free_count(c);

	return free < c->per_page ? c->per_page - free : 0;
}

/* True if the class may give its only page. The class of chunks, and one with parts of chunked
 * values, may not, since those do not move. */
static bool
class_may_merge(const struct slab *sl, const struct slab_class *c)
{
	return slab_class_pages(c) == 1 && c->size != SLAB_OBJECT_MAX &&
	       !class_holds_values(sl, c) &&
	       !slab_age_within(sl, atomic_load_explicit(&c->grown_at, memory_order_relaxed),
				MERGE_PARTS);
}

/* Returns the next larger class with free objects for all of a class's items; the class itself:
 * there is none. */
static uint32_t
class_with_room(const struct slab *sl, uint32_t class)
{
	const uint32_t used = class_used(&sl->classes[class]);
	const uint64_t most = (1ull << sl->arena->page_shift) / MERGE_LIVE;

	for (uint32_t i = class + 1; i < sl->class_count; i++) {
		const struct slab_class *c = &sl->classes[i];

		if (c->size == SLAB_OBJECT_MAX || (uint64_t)used * c->size > most)
			break;
		if (slab_class_pages(c) != 0 && slab_class_taken(sl, i) == i &&
		    class_free_count(c) >= used + slab_class_ahead(c) + c->per_page / MERGE_SPARE)
			return i;
	}
	return class;
}

/* Makes all sizes up to up_to that took objects of class `from` take objects of class `to`. */
static void
redirect(struct slab *sl, uint32_t up_to, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i <= up_to; i++)
		if (slab_class_taken(sl, i) == from)
			slab_class_take(sl, i, to);
}

bool
class_merge(struct slab *sl)
{
	for (uint32_t i = 0; i < sl->class_count; i++) {
		const uint32_t into =
			class_may_merge(sl, &sl->classes[i]) ? class_with_room(sl, i) : i;

		if (into == i || !slab_evacuate_last(sl, i))
			continue;
		redirect(sl, i, i, into);
		/* Counts the larger class's pages as spared now: the objects that move into it had
		 * no time to be used. */
		atomic_store_explicit(&sl->classes[into].spared_at, slab_age(sl),
				      memory_order_relaxed);
		atomic_store_explicit(&sl->merged, true, memory_order_relaxed);
		return true;
	}
	return false;
}

void
class_unmerge(struct slab *sl)
{
	for (uint32_t i = 0; i < sl->class_count; i++)
		slab_class_take(sl, i, i);
	atomic_store_explicit(&sl->merged, false, memory_order_relaxed);
}

uint32_t
class_split(struct slab *sl, uint32_t class, uint64_t items, uint64_t item_bytes)
{
	const uint32_t size = sl->classes[class].size;

	if (items == 0 || item_bytes / items >= size)
		return class;

	/* The mean size splits the sizes: at least half of the items are no larger, if small ones
	 * are more frequent. */
	uint32_t mean = 0;

	while (sl->classes[mean].size < item_bytes / items)
		mean++;

	const uint64_t saved = items / 2 * (size - sl->classes[mean].size);

	if (slab_class_taken(sl, mean) != class || saved < 1ull << sl->arena->page_shift)
		return class;
	redirect(sl, mean, class, mean);
	return mean;
}

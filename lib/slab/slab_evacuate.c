/*
 * slab_evacuate.c - empties a page: chooses it, lists its live objects slice by slice, and releases
 * it.
 *
 * The caller moves or evicts the items of the listed objects.
 */
#include "hand.h"

#define LOOKS_MAX 8u /* most pages compared to choose one */
/* Objects of the pages compared that are enough: pages of many small objects differ little. */
#define LOOKS_ENOUGH 8192u
#define PASSED_PAGES 256u /* most pages with a pinned object that are skipped meanwhile */

/* ---- the choice ---- */

void
slab_evacuate_page(struct slab *sl, struct slab_class *c, struct page *p)
{
	const uint32_t index_pages = atomic_load_explicit(&sl->index_pages, memory_order_relaxed);

	slab_page_goes(c, p);
	list_unlink(&p->of_class);
	list_unlink(&p->has_free);
	atomic_fetch_sub_explicit(&c->page_count, 1, memory_order_relaxed);
	slab_class_count_free(c, -slab_page_free(p));
	atomic_store_explicit(&p->state, PAGE_EVACUATING, memory_order_relaxed);
	list_push_back(&sl->evacuating, &p->of_class);
	atomic_fetch_add_explicit(&sl->evacuating_count, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&sl->index_claimed_count, slab_page_number(sl, p) < index_pages,
				  memory_order_relaxed);
	if (unlikely(slab_page_pinned(p) != 0) && slab_page_number(sl, p) >= index_pages)
		atomic_fetch_add_explicit(&sl->stuck_count, 1, memory_order_relaxed);
	/* Release: pairs with the acquire in answer_recall (store.c). A core that sees the new
	 * count sees the page's state, too. */
	atomic_fetch_add_explicit(&c->recall, 1, memory_order_release);
	atomic_fetch_add_explicit(&sl->recall, 1, memory_order_release);
}

/* A page is spared once if most of its live objects have their reference bit set. To move them
 * takes free objects, for which others are evicted, and chunks cannot move at all. Their bits are
 * cleared, and count as passed by the hand. */
static bool
page_is_spared(struct slab *sl, struct slab_class *c, const struct page *p, struct page_load load)
{
	if (2 * load.used <= load.live)
		return false;
	slab_page_clear_referenced(sl, p);
	atomic_store_explicit(&c->spared_at, slab_age(sl), memory_order_relaxed);
	atomic_fetch_add_explicit(&c->passed, PASSED_USED * load.used, memory_order_relaxed);
	return true;
}

/* Returns the page to evacuate. Compares the pages that the hand reaches next, whose objects had
 * most time to be used again. Leaves out a page of which half is being filled, which will not be
 * empty soon, one with a pinned object, which may never be, and with `spare` those that are spared.
 * NULL: all are left out. Under the class's lock. */
static struct page *
page_to_evacuate(struct slab *sl, struct slab_class *c, bool spare)
{
	struct page *best = NULL;
	uint32_t best_cost = UINT32_MAX, looks = 0, passed = 0;
	const uint32_t enough = LOOKS_ENOUGH / c->per_page;

	for (struct list *at = c->pages.next;
	     at != &c->pages &&
	     looks < (best != NULL && enough < LOOKS_MAX ? enough : LOOKS_MAX);) {
		struct page *p = container_of(at, struct page, of_class);

		at = at->next;
		if (unlikely(slab_page_pinned(p) != 0 || slab_page_is_extended(sl, p))) {
			if (++passed > PASSED_PAGES)
				break;
			continue;
		}
		looks++;

		const struct page_load load = slab_page_load(sl, p);
		const uint32_t filling = p->objects - slab_page_free(p) - load.live;
		/* Large objects are not in magazines, so those that are neither free nor live are
		 * being filled or retired. A page with such objects is chosen last. */
		const uint32_t each = c->batch == 0 ? 4 * p->objects : 4;
		const uint32_t cost = load.live + 2 * load.used + each * filling;

		if (2 * filling < p->objects && cost < best_cost &&
		    !(spare && page_is_spared(sl, c, p, load))) {
			best_cost = cost;
			best = p;
		}
	}
	if (unlikely(best == NULL && passed != 0))
		slab_pins_block(sl);
	return best;
}

static bool
evacuate_start(struct slab *sl, uint32_t class, bool spare)
{
	struct slab_class *c = &sl->classes[class];
	struct page *p;

	spin_lock(&c->lock);
	p = page_to_evacuate(sl, c, spare);
	if (p != NULL) {
		spin_lock(&sl->pool_lock);
		slab_evacuate_page(sl, c, p);
		spin_unlock(&sl->pool_lock);
		slab_page_check(sl, c, p); /* all objects of the page may be free already */
	}
	spin_unlock(&c->lock);
	return p != NULL;
}

bool
slab_evacuate_start(struct slab *sl, uint32_t class)
{
	return evacuate_start(sl, class, true);
}

bool
slab_evacuate_last(struct slab *sl, uint32_t class)
{
	return evacuate_start(sl, class, false);
}

void
slab_evacuate_retired(struct slab *sl, const uint32_t *refs, uint32_t count, uint32_t epoch)
{
	struct page *p = &sl->pages[slab_page_of(sl, refs[0])];
	struct slab_class *c = &sl->classes[p->class];

	spin_lock(&c->lock);
	ensure(atomic_load_explicit(&p->state, memory_order_relaxed) == PAGE_EVACUATING);
	/* Several cores may empty the page. The latest of their epochs counts. */
	if (p->retired == 0 || (int32_t)(epoch - p->retired_epoch) > 0)
		p->retired_epoch = epoch;
	p->retired += count;
	slab_page_check(sl, c, p);
	spin_unlock(&c->lock);
}

void
slab_collect(struct slab *sl, uint64_t oldest, bool (*passed)(uint32_t epoch, uint64_t oldest))
{
	spin_lock(&sl->pool_lock);
	while (!list_empty(&sl->evacuated)) {
		struct page *p = container_of(sl->evacuated.next, struct page, of_class);

		if (!passed(p->retired_epoch, oldest))
			break;
		atomic_fetch_sub_explicit(&sl->evacuated_count, 1, memory_order_relaxed);
		slab_page_release(sl, p);
	}
	spin_unlock(&sl->pool_lock);
}

/* ---- live objects ---- */

/* Returns the number of an object in its page. */
static uint32_t
object_number(const struct slab *sl, const struct page *p, uint32_t ref)
{
	return (uint32_t)((ref & sl->page_mask) * sl->reciprocal[slab_page_number(sl, p)] >>
			  RECIPROCAL_SHIFT);
}

/* Returns how many of these objects fit into the slice, at least one. */
static uint32_t
objects_for(const struct slab *sl, const uint32_t *refs, uint32_t count,
	    const struct evacuation_slice *slice)
{
	uint32_t n = 0, cost = 0;

	while (n < count && n < slice->objects) {
		cost += slice->cost(sl, refs[n]);
		if (n != 0 && cost > slice->work)
			break;
		n++;
	}
	return n;
}

/* Lists live objects of the page, *count of them. Returns the number of the next object. */
static uint32_t
list_live_from(const struct slab *sl, const struct page *p, const struct evacuation_slice *slice,
	       uint32_t *refs, uint32_t *count)
{
	const uint32_t words = slab_page_words(p);
	uint64_t passed = p->evacuate_next % OBJECTS_PER_WORD * STATE_BITS;
	uint32_t found = 0, w = p->evacuate_next / OBJECTS_PER_WORD;

	for (; w < words && found < slice->objects; w++, passed = 0)
		found +=
			hand_list(sl, p, w, states_in(hand_states(sl, p, w)) & UINT64_MAX << passed,
				  refs + found);
	*count = objects_for(sl, refs, found, slice);
	return *count == found ? w * OBJECTS_PER_WORD : object_number(sl, p, refs[*count]);
}

uint32_t
slab_evacuate_live(struct slab *sl, uint32_t *refs, const struct evacuation_slice *slice,
		   uint32_t epoch)
{
	uint32_t count = 0;

	spin_lock(&sl->pool_lock);
	if (!list_empty(&sl->evacuating)) {
		struct list *front = sl->evacuating.next;
		struct page *p = container_of(front, struct page, of_class);

		p->evacuate_next = list_live_from(sl, p, slice, refs, &count);
		p->busy += count != 0;
		p->walk_found |= count != 0;
		/* The walk has passed all objects of the page. Those that are left wait for
		 * readers, a fill, or free objects elsewhere; the walk continues on the next
		 * page. */
		if (p->evacuate_next >= p->objects) {
			p->evacuate_next = 0;
			slab_page_walked(sl, p, epoch);
			p->walk_found = false;
			list_unlink(front);
			list_push_back(&sl->evacuating, front);
		}
	}
	spin_unlock(&sl->pool_lock);
	return count;
}

void
slab_evacuate_done(struct slab *sl, uint32_t ref)
{
	struct page *p = &sl->pages[slab_page_of(sl, ref)];

	spin_lock(&sl->pool_lock);
	ensure(p->busy != 0);
	p->busy--;
	spin_unlock(&sl->pool_lock);
}

/*
 * index_pages.c - pages for the index: the first ones of the arena, in order.
 *
 * Shape:  pages with numbers below slab.index_pages belong to the index, or will once
 *         slab_page_release() is called for them.
 *
 * Thread: slab_index_claim and slab_index_release under the resize's lock, which comes before all
 *         others.
 */
#include "slab_pages.h"

static uint8_t
page_state(const struct page *p)
{
	return atomic_load_explicit(&p->state, memory_order_relaxed);
}

/* Claims the page for the index as far as its state allows. Called under the pool's lock. True: a
 * class owns the page, and the caller must evacuate it. */
static bool
claim_by_state(struct slab *sl, struct page *p)
{
	switch (page_state(p)) {
	case PAGE_POOL:
		atomic_fetch_sub_explicit(&sl->pool_count, 1, memory_order_relaxed);
		list_unlink(&p->of_class);
		atomic_store_explicit(&p->state, PAGE_INDEX, memory_order_relaxed);
		return false;
	case PAGE_EVACUATING:
		atomic_fetch_add_explicit(&sl->index_claimed_count, 1, memory_order_relaxed);
		if (slab_page_pinned(p) != 0)
			atomic_fetch_sub_explicit(&sl->stuck_count, 1, memory_order_relaxed);
		slab_page_waits_no_more(sl, p);
		return false;
	default:
		return page_state(p) == PAGE_CLASS;
	}
}

/* Evacuates the page, unless it has left its class since then. In that case it is the index's, or
 * will be. */
static void
claim_of_class(struct slab *sl, struct page *p, uint32_t class)
{
	struct slab_class *c = &sl->classes[class];

	spin_lock(&c->lock);
	spin_lock(&sl->pool_lock);

	const bool still = page_state(p) == PAGE_CLASS;

	if (still)
		slab_evacuate_page(sl, c, p);
	spin_unlock(&sl->pool_lock);
	if (still)
		slab_page_check(sl, c, p);
	spin_unlock(&c->lock);
}

bool
slab_index_claim(struct slab *sl)
{
	const uint32_t n = atomic_load_explicit(&sl->index_pages, memory_order_relaxed);
	struct page *p = &sl->pages[n];
	uint32_t class;
	bool in_class;

	if (n == sl->arena->page_count)
		return false;
	spin_lock(&sl->pool_lock);
	/* index_pages is raised first, under the lock: from now on slab_page_release() gives this
	 * page to the index. */
	atomic_store_explicit(&sl->index_pages, n + 1, memory_order_relaxed);
	in_class = claim_by_state(sl, p);
	class = p->class;
	spin_unlock(&sl->pool_lock);
	if (in_class)
		claim_of_class(sl, p, class);
	return true;
}

bool
slab_index_claim_is_met(struct slab *sl, uint32_t page)
{
	bool met;

	/* The lock orders this after all writes by the core that released the page. */
	spin_lock(&sl->pool_lock);
	met = page_state(&sl->pages[page]) == PAGE_INDEX;
	spin_unlock(&sl->pool_lock);
	return met;
}

void
slab_index_release(struct slab *sl, uint32_t pages, uint32_t epoch)
{
	const uint32_t end = atomic_load_explicit(&sl->index_pages, memory_order_relaxed);

	spin_lock(&sl->pool_lock);
	atomic_store_explicit(&sl->index_pages, pages, memory_order_relaxed);
	for (uint32_t n = pages; n < end; n++) {
		struct page *p = &sl->pages[n];

		/* The index has claimed it, but it is not yet empty. */
		if (page_state(p) == PAGE_EVACUATING) {
			atomic_fetch_sub_explicit(&sl->index_claimed_count, 1,
						  memory_order_relaxed);
			if (slab_page_pinned(p) != 0)
				atomic_fetch_add_explicit(&sl->stuck_count, 1,
							  memory_order_relaxed);
			continue;
		}
		p->retired_epoch = epoch;
		/* Some states of its objects may never have been cleared. */
		p->class = SLAB_CLASSES_MAX;
		atomic_store_explicit(&p->state, PAGE_EVACUATING, memory_order_relaxed);
		list_push_back(&sl->evacuated, &p->of_class);
		atomic_fetch_add_explicit(&sl->evacuated_count, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&sl->evacuating_count, 1, memory_order_relaxed);
	}
	spin_unlock(&sl->pool_lock);
}

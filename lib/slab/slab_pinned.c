/*
 * slab_pinned.c - objects that keep a page from being evacuated: those that are being filled, and
 * pinned ones. Pinned ones are retired and past their grace period, and are freed after their last
 * pin.
 *
 * A page with a pinned object is not chosen to be evacuated. A page that has a pinned object while
 * it is evacuated is stuck, and goes back to its class after a while. Such a page may also wait for
 * a fill, which may wait for its client. Neither counts as a page on its way to the pool, so that
 * others are evacuated instead.
 *
 * Thread: a page's count is written under the pool's lock, and read without it as a hint.
 */
#include "slab_pages.h"

/* Stuck pages that do not count as on their way to the pool: up to STUCK_MIN and 1/STUCK_SHARE
 * of all. Most replies end soon, so that evacuating more pages instead would be for nothing. */
#define STUCK_MIN   4u
#define STUCK_SHARE 64u
/* Pages that wait for fills and do not count: up to 1/WAITING_SHARE of all, which is as much
 * as unfinished values may take. A page waits for a fill once it has had no live object for
 * WAITING_EPOCHS epochs. */
#define WAITING_SHARE  4u
#define WAITING_EPOCHS 8u

static bool
waits_for_pool(const struct slab *sl, const struct page *p)
{
	const uint32_t index_pages = atomic_load_explicit(&sl->index_pages, memory_order_relaxed);

	return atomic_load_explicit(&p->state, memory_order_relaxed) == PAGE_EVACUATING &&
	       (uint32_t)(p - sl->pages) >= index_pages;
}

static void
count_one(struct slab *sl, struct page *p, bool more)
{
	const uint32_t was = slab_page_pinned(p);
	const uint32_t now = more ? was + 1 : was - 1;

	atomic_store_explicit(&p->pinned, now, memory_order_relaxed);
	atomic_fetch_add_explicit(&sl->classes[p->class].pinned_count, now - was,
				  memory_order_relaxed);
	if ((was == 0 || now == 0) && waits_for_pool(sl, p))
		atomic_fetch_add_explicit(&sl->stuck_count, now - was, memory_order_relaxed);
}

void
slab_count_pinned(struct slab *sl, const uint32_t *refs, uint32_t count, bool more)
{
	spin_lock(&sl->pool_lock);
	for (uint32_t i = 0; i < count; i++)
		count_one(sl, &sl->pages[slab_page_of(sl, refs[i])], more);
	spin_unlock(&sl->pool_lock);
}

uint32_t
slab_evacuating_for_pool(const struct slab *sl)
{
	return atomic_load_explicit(&sl->evacuating_count, memory_order_relaxed) -
	       atomic_load_explicit(&sl->index_claimed_count, memory_order_relaxed);
}

static uint32_t
at_most(const _Atomic uint32_t *count, uint32_t most)
{
	const uint32_t n = atomic_load_explicit(count, memory_order_relaxed);

	return n < most ? n : most;
}

uint32_t
slab_coming(const struct slab *sl)
{
	const uint32_t coming = slab_evacuating_for_pool(sl), pages = sl->arena->page_count;
	const uint32_t less = at_most(&sl->stuck_count, STUCK_MIN + pages / STUCK_SHARE) +
			      at_most(&sl->waiting_count, pages / WAITING_SHARE);

	return coming > less ? coming - less : 0;
}

void
slab_page_waits_no_more(struct slab *sl, struct page *p)
{
	atomic_fetch_sub_explicit(&sl->waiting_count, p->waiting, memory_order_relaxed);
	p->waiting = p->drained = p->walk_found = false;
}

/* An object in a magazine or on a retire list is freed within some epochs; one that is still not
 * free is being filled. */
void
slab_page_walked(struct slab *sl, struct page *p, uint32_t epoch)
{
	if (p->walk_found || !waits_for_pool(sl, p)) {
		slab_page_waits_no_more(sl, p);
	} else if (!p->drained) {
		p->drained = true;
		p->drained_epoch = epoch;
	} else if (!p->waiting && epoch - p->drained_epoch >= WAITING_EPOCHS) {
		p->waiting = true;
		atomic_fetch_add_explicit(&sl->waiting_count, 1, memory_order_relaxed);
	}
}

/* True, under both locks, if the page may return to its class: no objects wait with it, since those
 * are on no list, and no core is evacuating objects of it. */
static bool
may_go_back(const struct slab *sl, const struct page *p)
{
	return waits_for_pool(sl, p) && p->retired == 0 && p->busy == 0;
}

static void
go_back(struct slab *sl, struct slab_class *c, struct page *p)
{
	atomic_fetch_sub_explicit(&sl->evacuating_count, 1, memory_order_relaxed);
	if (slab_page_pinned(p) != 0)
		atomic_fetch_sub_explicit(&sl->stuck_count, 1, memory_order_relaxed);
	slab_page_waits_no_more(sl, p);
	list_unlink(&p->of_class);
	p->evacuate_next = 0;
	atomic_store_explicit(&p->state, PAGE_CLASS, memory_order_relaxed);
	slab_page_comes(sl, c, p);
	if (slab_page_free(p) != 0)
		list_push_back(&c->has_free, &p->has_free);
	atomic_fetch_add_explicit(&c->page_count, 1, memory_order_relaxed);
	slab_class_count_free(c, slab_page_free(p));
}

bool
slab_evacuate_undo(struct slab *sl, uint32_t ref)
{
	struct page *p = &sl->pages[slab_page_of(sl, ref)];
	struct slab_class *c = &sl->classes[p->class];
	bool gone_back;

	spin_lock(&c->lock);
	spin_lock(&sl->pool_lock);
	gone_back = may_go_back(sl, p);
	if (gone_back)
		go_back(sl, c, p);
	spin_unlock(&sl->pool_lock);
	spin_unlock(&c->lock);
	return gone_back;
}

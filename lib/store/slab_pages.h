/*
 * slab_pages.h - pages that come and go: the CLOCK hand over what lies in them, pages being
 * evacuated, pages for the index.
 *
 * Shape, units, locks and errors: slab.h.
 *
 * Thread: any core; the class's lock comes before the pool's.
 * Bounds: as each function says; refs has room for a word of the bitmaps more than max.
 */
#ifndef CLOCKOO_SLAB_PAGES_H
#define CLOCKOO_SLAB_PAGES_H

#include "slab.h"

/* Under the class's lock: nothing on the page was used before now, as far as reference bits tell;
 * before it goes to the end of the class's list. */
void slab_page_hand_passed(struct slab *sl, struct slab_class *c, struct page *p);

/* References of up to max live objects of a class whose clock bit was clear, clearing bits as
 * the hand passes. refs has room for max + BITS_PER_WORD. */
uint32_t slab_clock_hand(struct slab *sl, uint32_t class, uint32_t *refs, uint32_t max);

/* Start to empty a page of a class: of those the hand comes to next, the one with least in use.
 * False: it has none, or something on each is pinned. */
bool slab_evacuate_start(struct slab *sl, uint32_t class);
/* References of up to max live objects of one page that is being evacuated, and after all of it, of
 * the next. refs has room for max + BITS_PER_WORD. Whoever got some says when he is done with them.
 */
uint32_t slab_evacuate_live(struct slab *sl, uint32_t *refs, uint32_t max);
void slab_evacuate_done(struct slab *sl, uint32_t ref);

static inline bool
slab_evacuating(const struct slab *sl, uint32_t ref)
{
	return atomic_load_explicit(&sl->pages[slab_page_of(sl, ref)].state,
				    memory_order_relaxed) == PAGE_EVACUATING;
}

/* What a page holds: live objects, and of those the ones used since the hand came by. */
struct page_load {
	uint32_t live, used;
};
struct page_load slab_page_load(const struct slab *sl, const struct page *p);
/* As if the hand had come by. */
void slab_page_clear_clock(struct slab *sl, const struct page *p);
/* Objects of one such page, out of the index since epoch. They wait for their readers together
 * with the page, not on a retire list. */
void slab_evacuate_retired(struct slab *sl, const uint32_t *refs, uint32_t count, uint32_t epoch);
/* Emptied pages to the pool, if passed says that of their epoch. */
void slab_collect(struct slab *sl, uint64_t oldest,
		  bool (*passed)(uint32_t epoch, uint64_t oldest));
/* A page of the pool for a class that should have more, if leave pages stay. */
bool slab_grant(struct slab *sl, uint32_t class, uint32_t leave);

/* ---- index_pages.c: pages for the index ---- */

/* The page after those that are the index's: from the pool at once, from a class once it is empty.
 * False: the arena has no more. */
bool slab_index_claim(struct slab *sl);
/* Does the index have this page, or does it still wait for it? */
bool slab_index_claim_is_met(struct slab *sl, uint32_t page);
/* The index has let go of all pages from this number on, in this epoch. */
void slab_index_release(struct slab *sl, uint32_t pages, uint32_t epoch);

/* ---- slab_pinned.c: objects that are out of the index, and that somebody is still sent ---- */

static inline uint32_t
slab_page_pinned(const struct page *p)
{
	return atomic_load_explicit(&p->pinned, memory_order_relaxed);
}

static inline uint32_t
slab_class_pinned(const struct slab_class *c)
{
	return atomic_load_explicit(&c->pinned_count, memory_order_relaxed);
}

/* Past their grace period, and pinned; or, if not more, no longer. */
void slab_count_pinned(struct slab *sl, const uint32_t *refs, uint32_t count, bool more);
/* The page of such an object goes back to its class instead of being emptied. False: it cannot, now
 * or at all: the index waits for it, or objects of it wait with it. */
bool slab_evacuate_undo(struct slab *sl, uint32_t ref);
/* Somebody wants a page, and pins keep it from him. */
static inline void
slab_pins_block(struct slab *sl)
{
	atomic_store_explicit(&sl->blocked_s,
			      atomic_load_explicit(&sl->now_s, memory_order_relaxed),
			      memory_order_relaxed);
}

/* Pages that are on their way to the pool, and not stuck. */
uint32_t slab_coming(const struct slab *sl);

/* ---- between slab.c and index_pages.c ---- */

static inline uint32_t
slab_page_free(const struct page *p)
{
	return p->free_count + (p->objects - p->fresh);
}

/* Under both locks, the class's and the pool's: a page of the class is to be emptied. */
void slab_evacuate_page(struct slab *sl, struct slab_class *c, struct page *p);
/* Under the class's lock: have all its objects come back? */
void slab_page_check(struct slab *sl, struct slab_class *c, struct page *p);
/* Under the pool's lock: an empty page goes to the index if that waits for it, or to the pool. */
void slab_page_release(struct slab *sl, struct page *p);

#endif

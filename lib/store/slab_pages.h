/*
 * slab_pages.h - pages that move: the CLOCK hand over what lies in them, pages being evacuated,
 * pages for the index.
 *
 * Thread: any core; the class's lock comes before the pool's. The rest as slab.h.
 *
 * Bounds: as each function says; refs has space for max + OBJECTS_PER_LOOK.
 */
#ifndef CLOCKOO_SLAB_PAGES_H
#define CLOCKOO_SLAB_PAGES_H

#include "slab_states.h"

/* The class whose objects the sizes of a class take; and from now on. */
static inline uint32_t
slab_class_taken(const struct slab *sl, uint32_t class)
{
	return slab_class_for(sl, sl->classes[class].size);
}
void slab_class_take(struct slab *sl, uint32_t class, uint32_t from);

/* Is then, in slab_age, less than a parts-th of all memory evicted ago? */
static inline bool
slab_age_within(const struct slab *sl, uint32_t then, uint32_t parts)
{
	return slab_age(sl) - then <= sl->arena->page_count * AGE_PAGE / parts;
}

/* Nothing is to be balanced until slab_age is another one. Every core looks before it takes the
 * lock: cores that only read would take its line from each other for nothing. Relaxed: one that
 * sees it late does a step too many, or leaves one to the next. */
static inline bool
slab_is_settled(const struct slab *sl)
{
	return atomic_load_explicit(&sl->settled_at, memory_order_relaxed) ==
	       (uint64_t)slab_age(sl) + 1;
}

/* Under the balance lock. */
static inline void
slab_settle(struct slab *sl, bool settled)
{
	atomic_store_explicit(&sl->settled_at, settled ? (uint64_t)sl->checked_at + 1 : 0,
			      memory_order_relaxed);
}

/* Under the class's lock: note when the hand passed the page; called before the page goes to the
 * end of the class's list. */
void slab_page_hand_passed(struct slab *sl, struct slab_class *c, struct page *p);

/* Under the class's lock: both hands will come to the page; or no longer. The caller of the latter
 * takes the page from the class's list. */
void slab_page_comes(struct slab *sl, struct slab_class *c, struct page *p);
void slab_page_goes(struct slab_class *c, struct page *p);

/* The next objects on probation under the hand of new objects: up to max, or fewer if the hand has
 * passed as many objects as its pace allows for max evictions. */
uint32_t slab_new_hand(struct slab *sl, struct magazine *mags, uint32_t class, uint32_t *refs,
		       uint32_t max);

/* How long probation is (probation.h). */
static inline uint32_t
slab_probation_step(const struct slab_class *c)
{
	return atomic_load_explicit(&c->probation_step, memory_order_relaxed) & ~PROBATION_ASKED;
}

/* True if misses of gets made it that step. */
static inline bool
slab_probation_is_asked(const struct slab_class *c)
{
	return (atomic_load_explicit(&c->probation_step, memory_order_relaxed) & PROBATION_ASKED) !=
	       0;
}

/* One look of the hand of expiry: the live objects under it, if some page has something due by
 * now_s; *passed is what it passed, in objects and pages skipped. refs has room for
 * OBJECTS_PER_LOOK. */
uint32_t slab_due_hand(struct slab *sl, uint32_t class, uint32_t now_s, uint32_t *refs,
		       uint32_t *passed);
/* Has the hand of expiry a round to begin, or to end? */
static inline bool
slab_class_is_due(const struct slab_class *c, uint32_t now_s)
{
	return atomic_load_explicit(&c->due_s, memory_order_relaxed) <= now_s ||
	       atomic_load_explicit(&c->due_pages, memory_order_relaxed) != 0;
}
/* Under the class's lock: the hand of expiry leaves a page that goes. */
void slab_due_page_goes(struct slab_class *c, const struct page *p);
/* The live objects of a word of a page's states. */
uint32_t slab_list_live(const struct slab *sl, const struct page *p, uint32_t word, uint32_t *refs);

/* The CLOCK hand clears reference bits, and returns up to max live objects whose bit was clear. */
uint32_t slab_clock_hand(struct slab *sl, struct magazine *mags, uint32_t class, uint32_t *refs,
			 uint32_t max);

#define MOVING_SHARE 64u

/* Pages under way at once from class to class: two, and one for every MOVING_SHARE pages. Some wait
 * long for a fill. */
static inline uint32_t
slab_moves_max(const struct slab *sl)
{
	return 2 + sl->arena->page_count / MOVING_SHARE;
}

/* Start to evacuate a page of a class: of those the hand comes to next, the one with least to move
 * or to evict. False: it has none, or each has a pinned object, or is being filled. */
bool slab_evacuate_start(struct slab *sl, uint32_t class);
/* The same of a class whose items have free objects elsewhere: no page is spared since it is in
 * use. */
bool slab_evacuate_last(struct slab *sl, uint32_t class);
/* So many objects at most, that cost so much at most; one is taken at any cost. */
struct evacuation_slice {
	uint32_t objects, work;
	uint32_t (*cost)(const struct slab *sl, uint32_t ref);
};
/* Live objects of the page whose turn it is to be emptied; after its last object the next page
 * follows. A caller that got some calls slab_evacuate_done afterwards. epoch is the present one: it
 * tells how long a page has waited for a fill. */
uint32_t slab_evacuate_live(struct slab *sl, uint32_t *refs, const struct evacuation_slice *slice,
			    uint32_t epoch);
void slab_evacuate_done(struct slab *sl, uint32_t ref);

static inline bool
slab_evacuating(const struct slab *sl, uint32_t ref)
{
	return atomic_load_explicit(&sl->pages[slab_page_of(sl, ref)].state,
				    memory_order_relaxed) == PAGE_EVACUATING;
}

/* Live objects of a page, and those of them with their reference bit set. */
struct page_load {
	uint32_t live, used;
};
struct page_load slab_page_load(const struct slab *sl, const struct page *p);
/* Clear the reference bits of a page, as the hand does. */
void slab_page_clear_referenced(struct slab *sl, const struct page *p);
/* Objects of one page being evacuated left the index in this epoch. They wait for their grace
 * period together with the page, on no retire list. */
void slab_evacuate_retired(struct slab *sl, const uint32_t *refs, uint32_t count, uint32_t epoch);
/* Evacuated pages whose grace period is over, as passed() says, go to the pool. */
void slab_collect(struct slab *sl, uint64_t oldest,
		  bool (*passed)(uint32_t epoch, uint64_t oldest));
/* A page goes from the pool to a class, if leave pages stay. */
bool slab_grant(struct slab *sl, uint32_t class, uint32_t leave);

/* ---- index_pages.c: pages for the index ---- */

/* Claim the next page for the index: from the pool at once, from a class once it is evacuated.
 * False: the arena has no more. */
bool slab_index_claim(struct slab *sl);
/* Has the page that was claimed come free for the index? */
bool slab_index_claim_is_met(struct slab *sl, uint32_t page);
/* The index has left all pages from this number on, in this epoch. */
void slab_index_release(struct slab *sl, uint32_t pages, uint32_t epoch);

/* ---- slab_pinned.c: retired objects that replies still send ---- */

/* True if the page holds a part of a value whose new version waits for memory. */
static inline bool
slab_page_is_extended(const struct slab *sl, const struct page *p)
{
	const uint32_t now = atomic_load_explicit(&sl->extended, memory_order_relaxed);

	return now != 0 && atomic_load_explicit(&p->extended, memory_order_relaxed) == now;
}

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

/* Count objects past their grace period as pinned (more), or as pinned no longer. */
void slab_count_pinned(struct slab *sl, const uint32_t *refs, uint32_t count, bool more);
/* The page of a pinned object goes back to its class instead of being evacuated. False: it cannot,
 * since the index waits for it, retired objects wait with it, or a core is at work on it. */
bool slab_evacuate_undo(struct slab *sl, uint32_t ref);
/* Note that pins keep a page from being evacuated (store_pins_memory_pressure). */
static inline void
slab_pins_block(struct slab *sl)
{
	atomic_store_explicit(&sl->blocked_s,
			      atomic_load_explicit(&sl->now_s, memory_order_relaxed),
			      memory_order_relaxed);
}

/* Pages on their way to the pool; those of them that neither pins nor fills keep. */
uint32_t slab_evacuating_for_pool(const struct slab *sl);
uint32_t slab_coming(const struct slab *sl);
/* Under the pool's lock: a walk has passed all words of a page being evacuated. */
void slab_page_walked(struct slab *sl, struct page *p, uint32_t epoch);
/* Under the pool's lock: the page does not wait for a fill. */
void slab_page_waits_no_more(struct slab *sl, struct page *p);

/* ---- between the files of the slab ---- */

static inline uint32_t
slab_page_free(const struct page *p)
{
	return p->free_count + (p->objects - p->fresh);
}

/* Under the class's lock, so without an atomic addition: the class has so many more free objects;
 * modulo 2^32. */
static inline void
slab_class_count_free(struct slab_class *c, uint32_t more)
{
	const uint32_t now = atomic_load_explicit(&c->free_count, memory_order_relaxed);

	atomic_store_explicit(&c->free_count, now + more, memory_order_relaxed);
}

/* Under the class's and the pool's lock: the evacuation of a page begins. */
void slab_evacuate_page(struct slab *sl, struct slab_class *c, struct page *p);
/* Under the class's lock: if all objects are free the page leaves the class, at once or, if some
 * are retired with it, after their grace period. */
void slab_page_check(struct slab *sl, struct slab_class *c, struct page *p);
/* Under the pool's lock: a free page goes to the index if that waits for it, else to the pool. */
void slab_page_release(struct slab *sl, struct page *p);

#endif

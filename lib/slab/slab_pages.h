/*
 * slab_pages.h - pages that move: pages of the hands, pages being evacuated, pages for the index.
 *
 * Thread: any core; the class's lock comes before the pool's. The rest as slab.h.
 *
 * Bounds: as each function says; refs has space for max + OBJECTS_PER_LOOK.
 */
#ifndef CLOCKOO_SLAB_PAGES_H
#define CLOCKOO_SLAB_PAGES_H

#include "slab_states.h"

/* Returns the class whose objects the sizes of a class take. */
static inline uint32_t
slab_class_taken(const struct slab *sl, uint32_t class)
{
	return slab_class_for(sl, sl->classes[class].size);
}
/* Makes the sizes of a class take the objects of class from. */
void slab_class_take(struct slab *sl, uint32_t class, uint32_t from);

/* True if less than a parts-th of all memory was evicted since then, a slab_age. */
static inline bool
slab_age_within(const struct slab *sl, uint32_t then, uint32_t parts)
{
	return slab_age(sl) - then <= sl->arena->page_count * AGE_PAGE / parts;
}

/* True if there is nothing to balance until slab_age changes. Every core checks before it takes the
 * lock: cores that only read would take its line from each other for nothing. Relaxed: a core that
 * sees the change late does a step too many, or leaves one to the next. */
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

/* Notes, under the class's lock, when the hand passed the page; called before the page goes to the
 * end of the class's list. */
void slab_page_hand_passed(struct slab *sl, struct slab_class *c, struct page *p);

/* Add a page to both hands' rounds, or remove it, under the class's lock. The caller of the latter
 * takes the page from the class's list. */
void slab_page_comes(struct slab *sl, struct slab_class *c, struct page *p);
void slab_page_goes(struct slab_class *c, struct page *p);

/* Returns the step of the class's probation (probation.h). */
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

/* Makes one look of the hand of expiry: lists the live objects under it, if some page has something
 * due by now_s. *passed is the number of objects passed, and of those in pages skipped. refs has
 * room for OBJECTS_PER_LOOK. */
uint32_t slab_due_hand(struct slab *sl, uint32_t class, uint32_t now_s, uint32_t *refs,
		       uint32_t *passed);
/* True if the hand of expiry has a round to begin, or to end. */
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
/* Starts to evacuate a page of a class whose items have free objects elsewhere: no page is spared
 * for being in use. */
bool slab_evacuate_last(struct slab *sl, uint32_t class);
/* Limits of one slice of an evacuation: objects, and their work. One object is taken at any
 * cost. */
struct evacuation_slice {
	uint32_t objects, work;
	uint32_t (*cost)(const struct slab *sl, uint32_t ref);
};
/* Lists live objects of the page being emptied now; after its last object the next page follows. A
 * caller that got some calls slab_evacuate_done afterwards. epoch is the present one: the page's
 * wait for a fill is measured in epochs. */
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
/* True if the page that was claimed is free for the index. */
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

/* Returns the number of pages on their way to the pool. */
uint32_t slab_evacuating_for_pool(const struct slab *sl);
/* Returns the number of these pages that neither pins nor fills keep. */
uint32_t slab_coming(const struct slab *sl);
/* Notes, under the pool's lock, that a walk has passed all words of a page being evacuated. */
void slab_page_walked(struct slab *sl, struct page *p, uint32_t epoch);
/* Notes, under the pool's lock, that the page does not wait for a fill. */
void slab_page_waits_no_more(struct slab *sl, struct page *p);

/* ---- between the files of the slab ---- */

static inline uint32_t
slab_page_number(const struct slab *sl, const struct page *p)
{
	return (uint32_t)(p - sl->pages);
}

/* Returns the number of words with the states of a page's objects. */
static inline uint32_t
slab_page_words(const struct page *p)
{
	return (p->objects + OBJECTS_PER_WORD - 1) / OBJECTS_PER_WORD;
}

static inline uint32_t
slab_page_free(const struct page *p)
{
	return p->free_count + (p->objects - p->fresh);
}

/* Adds free objects to the class, modulo 2^32. Under the class's lock, so without an atomic
 * addition. */
static inline void
slab_class_count_free(struct slab_class *c, uint32_t more)
{
	const uint32_t now = atomic_load_explicit(&c->free_count, memory_order_relaxed);

	atomic_store_explicit(&c->free_count, now + more, memory_order_relaxed);
}

/* Begins the evacuation of a page, under the class's and the pool's lock. */
void slab_evacuate_page(struct slab *sl, struct slab_class *c, struct page *p);
/* Takes a page with only free objects from its class, under the class's lock: at once or, if some
 * are retired with it, after their grace period. */
void slab_page_check(struct slab *sl, struct slab_class *c, struct page *p);
/* Gives a free page to the index if that waits for it, else to the pool, under the pool's lock. */
void slab_page_release(struct slab *sl, struct page *p);

#endif

/*
 * slab_pages.h - pages that move: in the order of the hands, being evacuated, for the index.
 *
 * Thread: any core; the class's lock is taken before the pool's. Otherwise as slab.h.
 *
 * Bounds: those that each function names; refs has space for max + OBJECTS_PER_LOOK.
 */
#ifndef CLOCKOO_SLAB_PAGES_H
#define CLOCKOO_SLAB_PAGES_H

#include "slab_states.h"

/* Returns the class from which objects of a class's sizes are allocated: itself, or the one it is
 * merged into. */
static inline uint32_t
slab_class_taken(const struct slab *sl, uint32_t class)
{
	return slab_class_for(sl, sl->classes[class].size);
}
/* Makes allocations of a class's sizes take objects of class `from`. */
void slab_class_take(struct slab *sl, uint32_t class, uint32_t from);

/* True if, since the slab_age `then`, less than 1/parts of all memory was evicted. */
static inline bool
slab_age_within(const struct slab *sl, uint32_t then, uint32_t parts)
{
	return slab_age(sl) - then <= sl->arena->page_count * AGE_PAGE / parts;
}

/* True if there is nothing to balance until slab_age changes. Checked before the lock is taken: if
 * cores that only read took the lock, they would pass its cache line around for nothing. Relaxed: a
 * core that sees a change late does one step too many, or leaves one to the next. */
static inline bool
slab_is_settled(const struct slab *sl)
{
	return atomic_load_explicit(&sl->settled_at, memory_order_relaxed) ==
	       (uint64_t)slab_age(sl) + 1;
}

/* Notes whether there is nothing to balance. Under the balance lock. */
static inline void
slab_settle(struct slab *sl, bool settled)
{
	atomic_store_explicit(&sl->settled_at, settled ? (uint64_t)sl->checked_at + 1 : 0,
			      memory_order_relaxed);
}

/* Notes that the hand passes the page now. Called under the class's lock, before the page goes to
 * the end of the class's list. */
void slab_page_hand_passed(struct slab *sl, struct slab_class *c, struct page *p);

/* Add a page to both hands' rounds, and remove it. Called under the class's lock. The caller of the
 * second function also takes the page from the class's list. */
void slab_page_comes(struct slab *sl, struct slab_class *c, struct page *p);
void slab_page_goes(struct slab_class *c, struct page *p);

/* Returns the step of the class's probation (probation.h). */
static inline uint32_t
slab_probation_step(const struct slab_class *c)
{
	return atomic_load_explicit(&c->probation_step, memory_order_relaxed) & ~PROBATION_ASKED;
}

/* True if reads that missed made it that step. */
static inline bool
slab_probation_is_asked(const struct slab_class *c)
{
	return (atomic_load_explicit(&c->probation_step, memory_order_relaxed) & PROBATION_ASKED) !=
	       0;
}

/* Makes one look of the expiry hand: lists the live objects under it, on a page where something is
 * due by now_s. *passed is the number of objects passed, those of skipped pages included. refs has
 * room for OBJECTS_PER_LOOK. */
uint32_t slab_due_hand(struct slab *sl, uint32_t class, uint32_t now_s, uint32_t *refs,
		       uint32_t *passed);
/* True if the expiry hand is within a round, or has one to begin. */
static inline bool
slab_class_is_due(const struct slab_class *c, uint32_t now_s)
{
	return atomic_load_explicit(&c->due_s, memory_order_relaxed) <= now_s ||
	       atomic_load_explicit(&c->due_pages, memory_order_relaxed) != 0;
}
/* Moves the expiry hand off a page that leaves the class. Called under the class's lock. */
void slab_due_page_goes(struct slab_class *c, const struct page *p);
/* Lists the live objects of a word of a page's states. */
uint32_t slab_list_live(const struct slab *sl, const struct page *p, uint32_t word, uint32_t *refs);

#define MOVING_SHARE 64u

/* Returns how many pages may be on their way from class to class at once: two, and one more for
 * every MOVING_SHARE pages. Some wait long for a fill. */
static inline uint32_t
slab_moves_max(const struct slab *sl)
{
	return 2 + sl->arena->page_count / MOVING_SHARE;
}

/* Starts to evacuate a page of a class: of those that the hand reaches next, the one with least to
 * move or evict. False: the class has no page, or on each an object is pinned or too many are being
 * filled. */
bool slab_evacuate_start(struct slab *sl, uint32_t class);
/* Starts to evacuate a page of a class whose items have free objects elsewhere. No page is spared
 * because it is in use. */
bool slab_evacuate_last(struct slab *sl, uint32_t class);
/* Limits of one slice of an evacuation: the number of objects, and their work. The first object may
 * exceed them. */
struct evacuation_slice {
	uint32_t objects, work;
	uint32_t (*cost)(const struct slab *sl, uint32_t ref);
};
/* Lists live objects of the page being emptied now, and after its last object those of the next
 * page. A caller that gets some calls slab_evacuate_done afterwards. epoch: the present one; the
 * page's wait for a fill is measured in epochs. */
uint32_t slab_evacuate_live(struct slab *sl, uint32_t *refs, const struct evacuation_slice *slice,
			    uint32_t epoch);
void slab_evacuate_done(struct slab *sl, uint32_t ref);

static inline bool
slab_evacuating(const struct slab *sl, uint32_t ref)
{
	return atomic_load_explicit(&sl->pages[slab_page_of(sl, ref)].state,
				    memory_order_relaxed) == PAGE_EVACUATING;
}

/* A page's live objects, and how many of them have their reference bit set. */
struct page_load {
	uint32_t live, used;
};
struct page_load slab_page_load(const struct slab *sl, const struct page *p);
/* Clears the reference bits of a page, as the hand does. */
void slab_page_clear_referenced(struct slab *sl, const struct page *p);
/* Notes that objects of one evacuated page left the index in this epoch. They spend their grace
 * period with the page, on no retire list. */
void slab_evacuate_retired(struct slab *sl, const uint32_t *refs, uint32_t count, uint32_t epoch);
/* Moves evacuated pages whose grace period is over, as passed() says, to the pool. */
void slab_collect(struct slab *sl, uint64_t oldest,
		  bool (*passed)(uint32_t epoch, uint64_t oldest));
/* Gives a page of the pool to a class, if `leave` pages stay. False: they would not. */
bool slab_grant(struct slab *sl, uint32_t class, uint32_t leave);

/* ---- index_pages.c: pages for the index ---- */

/* Claims the next page for the index: at once from the pool, or from a class that must be evacuated
 * first. False: the arena has no more pages. */
bool slab_index_claim(struct slab *sl);
/* True if the claimed page is free for the index. */
bool slab_index_claim_is_met(struct slab *sl, uint32_t page);
/* Gives back all pages from this number on, which the index left in this epoch. */
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

/* Adds objects past their grace period to the counts of pinned ones (more), or takes them off. */
void slab_count_pinned(struct slab *sl, const uint32_t *refs, uint32_t count, bool more);
/* Returns a pinned object's page to its class instead of evacuating it further. False: that is not
 * possible, since the index has claimed the page, retired objects wait with it, or a core is
 * evacuating objects of it. */
bool slab_evacuate_undo(struct slab *sl, uint32_t ref);
/* Notes that pins keep a page from being evacuated (store_pins_memory_pressure). */
static inline void
slab_pins_block(struct slab *sl)
{
	atomic_store_explicit(&sl->blocked_s,
			      atomic_load_explicit(&sl->now_s, memory_order_relaxed),
			      memory_order_relaxed);
}

/* Returns the number of pages on their way to the pool. */
uint32_t slab_evacuating_for_pool(const struct slab *sl);
/* Returns how many of these pages neither pins nor fills keep from it. */
uint32_t slab_coming(const struct slab *sl);
/* Notes, under the pool's lock, that a walk has passed all words of a page being evacuated. */
void slab_page_walked(struct slab *sl, struct page *p, uint32_t epoch);
/* Notes, under the pool's lock, that the page waits for no fill any more. */
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

/* Adds to the class's count of free objects, modulo 2^32. Under the class's lock, so the addition
 * need not be atomic. */
static inline void
slab_class_count_free(struct slab_class *c, uint32_t more)
{
	const uint32_t now = atomic_load_explicit(&c->free_count, memory_order_relaxed);

	atomic_store_explicit(&c->free_count, now + more, memory_order_relaxed);
}

/* Begins the evacuation of a page, under the class's and the pool's lock. */
void slab_evacuate_page(struct slab *sl, struct slab_class *c, struct page *p);
/* Takes a page with only free objects from its class, under the class's lock: at once, or after the
 * grace period of objects that wait with it. */
void slab_page_check(struct slab *sl, struct slab_class *c, struct page *p);
/* Gives a free page to the index if that has claimed it, otherwise to the pool. Under the pool's
 * lock. */
void slab_page_release(struct slab *sl, struct page *p);

#endif

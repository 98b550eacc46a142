/*
 * slab.h - size classes, their pages, and free objects.
 *
 * Shape:  a class has pages, each cut into objects of the class's size, and a state of two bits an
 *         object (slab_states.h). Every core has a magazine of free objects a class, so that most
 *         allocations touch nothing shared.
 *
 * Units:  an object is named by its reference (arena.h).
 * Owner:  an allocated object belongs to its taker until slab_free.
 *
 * Thread: every function names its magazines' core. What is shared is under the class's lock, then
 *         the pool's. States are in atomic words.
 *
 * Errors: 0: no object.
 *
 * Bounds: slab_sizes.h; MAGAZINE_BATCH_MAX objects move between magazine and class at once.
 */
#ifndef CLOCKOO_SLAB_H
#define CLOCKOO_SLAB_H

#include "arena.h"
#include "magazine.h"
#include "slab_class.h"
#include "base/bytes.h"

#include <stdbool.h>

#define MAGAZINE_BATCH_BYTES 8192u
#define OBJECTS_PER_WORD     32u /* of states */
#define WORDS_PER_LOOK       2u  /* of a hand */
#define OBJECTS_PER_LOOK     (OBJECTS_PER_WORD * WORDS_PER_LOOK)

/* The number of an object in its page is its offset, in granules, times the class's reciprocal,
 * shifted down by this. That is exact for offsets below 2^21 and sizes up to 2^16, since the
 * reciprocal's error is below size / 2^40 (Granlund and Montgomery 1994). */
#define RECIPROCAL_SHIFT 40u

struct eviction_policy; /* eviction.h */

struct slab {
	const struct arena *arena;
	struct page *pages;
	uint64_t *reciprocal; /* of each page, kept dense for gets */
	_Atomic uint64_t *states;
	uint32_t stride; /* words of states a page */
	/* Stride as a power of two, and the arena's measures in granules, for slab_state_of. */
	uint32_t stride_shift, page_shift, page_mask;
	_Atomic uint32_t reference_stamp; /* shifted as in an item's first word */
	uint32_t class_count;
	uint32_t reserve; /* pages to keep in the pool for classes that have none */
	const struct eviction_policy *policy;              /* slab_init's is eviction_clock */
	struct asked *asked;                               /* a sample of keys, for the policy */
	_Atomic uint8_t class_of[SLAB_OBJECT_MAX / 8 + 1]; /* or that one is merged into */
	struct slab_class classes[SLAB_CLASSES_MAX];

	_Alignas(CACHE_LINE_BYTES) struct spin pool_lock;
	struct list pool;
	struct list evacuating;           /* pages being evacuated */
	struct list evacuated;            /* pages that only wait for their grace period */
	_Atomic uint64_t evacuated_pages; /* ever */
	/* Every turn reads these, and a page that moves writes some of them. */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t pool_count;
	_Atomic uint32_t evacuating_count; /* evacuated ones too */
	_Atomic uint32_t evacuated_count;
	_Atomic uint32_t index_claimed_count; /* of those: the index waits for them */
	_Atomic uint32_t stuck_count;         /* of the others: they hold something pinned */
	_Atomic uint32_t waiting_count;       /* of the others: they wait for a fill */
	_Atomic uint32_t extended; /* pages with this number hold the value that is extended now */
	_Atomic uint32_t index_pages; /* pages below this are the index's, or will be */
	_Atomic uint32_t recall;      /* stepped with any class's */
	_Atomic uint32_t withheld;    /* pages the pool keeps: store_limit_mt */
	_Atomic uint32_t now_s;
	_Atomic uint32_t blocked_s; /* when pins last kept a page that was wanted; 0: never */

	_Alignas(CACHE_LINE_BYTES) struct spin balance_lock;
	/* Under it: pages that move for balance; slab_age of what was done last. */
	uint32_t moving, moved_at, halved_at, checked_at;
	uint32_t idle_class; /* whose pages are searched for expired items, if it is idle */
	_Atomic bool merged; /* some class takes another one's objects (class_merge.c) */
	_Atomic uint64_t evicted_bytes, settled_at; /* ever; until when (slab_is_settled) */
	/* Class that borrowed last (memory.c), and one; slab_age when one of large objects gave. */
	_Atomic uint32_t borrower, borrowed_at;
};

/* Bytes beside the pages, a page. */
size_t slab_bytes_per_page(uint32_t page_shift, uint32_t shift);
/* Words of states of a page. */
static inline uint32_t
slab_state_words(uint32_t page_shift, uint32_t shift)
{
	return (1u << page_shift) / slab_object_min(shift) / OBJECTS_PER_WORD;
}
/* Makes each size as large as the number of objects in a page allows. Returns the number of sizes,
 * SLAB_CLASSES_MAX at most. */
uint32_t slab_class_sizes(const struct arena *arena, uint32_t *sizes);

/* The addresses of the tables. */
struct slab_tables {
	struct page *pages;
	uint64_t *reciprocal;
	_Atomic uint64_t *states;
};
/* No page is in a class, or in the pool, yet. */
void slab_init(struct slab *sl, const struct slab_tables *tables, const struct arena *arena,
	       uint32_t reserve);
/* Moves all pages to the pool; the content of the tables is ignored. */
void slab_fill_pool(struct slab *sl);

/* Pages of the pool that a class may get. */
static inline uint32_t
slab_pool(const struct slab *sl)
{
	const uint32_t pool = atomic_load_explicit(&sl->pool_count, memory_order_relaxed);
	const uint32_t withheld = atomic_load_explicit(&sl->withheld, memory_order_relaxed);

	return pool > withheld ? pool - withheld : 0;
}

/* Notes a new second; the first core to see it writes it. */
static inline void
slab_tick(struct slab *sl, uint32_t now_s)
{
	if (unlikely(atomic_load_explicit(&sl->now_s, memory_order_relaxed) < now_s))
		atomic_store_explicit(&sl->now_s, now_s, memory_order_relaxed);
}

/* Weights of what hands pass; an object evicted from probation counts one. */
#define PASSED_KEPT 8u   /* evicted by the CLOCK hand */
#define PASSED_USED 128u /* referenced; or evicted, and asked for again */

/* The rebalancer's clock: bytes ever evicted for want of memory, in eighths of a page. It wraps. */
#define AGE_PAGE 8u

static inline uint32_t
slab_age(const struct slab *sl)
{
	return (uint32_t)(atomic_load_explicit(&sl->evicted_bytes, memory_order_relaxed) *
				  AGE_PAGE >>
			  sl->arena->page_shift);
}

static inline uint32_t
slab_class_pages(const struct slab_class *c)
{
	return atomic_load_explicit(&c->page_count, memory_order_relaxed);
}

/* Objects that are free, or will be after a grace period; none that is pinned. */
static inline uint32_t
slab_class_waiting(const struct slab_class *c)
{
	return atomic_load_explicit(&c->free_count, memory_order_relaxed) +
	       atomic_load_explicit(&c->retired_count, memory_order_relaxed);
}

/* Returns slab_class_waiting and the objects whose items wait for the tier (leaving.h). */
static inline uint32_t
slab_class_coming(const struct slab_class *c)
{
	return slab_class_waiting(c) + atomic_load_explicit(&c->leaving, memory_order_relaxed);
}

/* A class keeps a 64th of its objects free or on retire lists. Where that is little, it keeps as
 * many as it took within a grace period lately, but no more than AHEAD_MIN, or than a 16th of its
 * objects and two. */
#define NEED_SHIFT  4u /* of the fraction of what is needed; and the part forgotten at a time */
#define AHEAD_SHARE 64u
#define AHEAD_MIN   48u /* of chunks: three values of the default size, two of them retired */
#define AHEAD_MAX   1024u
#define AHEAD_PART  16u

static inline uint32_t
slab_class_ahead(const struct slab_class *c)
{
	const uint32_t owned = slab_class_pages(c) * c->per_page;
	const uint32_t parts = atomic_load_explicit(&c->need, memory_order_relaxed);
	const uint32_t need = (parts + (1u << NEED_SHIFT) - 1) >> NEED_SHIFT;
	uint32_t most = owned / AHEAD_PART + 2;

	if (owned / AHEAD_SHARE >= AHEAD_MIN)
		return owned / AHEAD_SHARE < AHEAD_MAX ? owned / AHEAD_SHARE : AHEAD_MAX;
	if (most > owned / 4 || c->size == SLAB_OBJECT_MAX)
		most = owned / 4;
	if (most > AHEAD_MIN)
		most = AHEAD_MIN;
	return need < most ? need : most;
}

static inline uint32_t
slab_class_for(const struct slab *sl, uint32_t bytes)
{
	return atomic_load_explicit(&sl->class_of[(bytes + 7) / 8], memory_order_relaxed);
}

static inline uint32_t
slab_page_of(const struct slab *sl, uint32_t ref)
{
	return ref >> sl->page_shift;
}

static inline uint32_t
slab_class_of_ref(const struct slab *sl, uint32_t ref)
{
	return sl->pages[slab_page_of(sl, ref)].class;
}

static inline uint32_t
slab_size_of_ref(const struct slab *sl, uint32_t ref)
{
	return sl->classes[slab_class_of_ref(sl, ref)].size;
}

/* Allocate an object of the class: from the magazine, from the class's pages, or from a page that
 * the pool gives to the class as long as it keeps leave pages. 0: there is none. */
#define SLAB_NO_PAGE UINT32_MAX /* as leave: no page, and the class is not seen to allocate */
uint32_t slab_alloc(struct slab *sl, struct magazine *mags, uint32_t class, uint32_t leave);
void slab_free(struct slab *sl, struct magazine *mags, uint32_t ref);

/* slab_free if the magazine has space, as it mostly has. False: nothing was done. */
static inline bool
slab_free_fast(struct slab *sl, struct magazine *mags, const struct page *p, uint32_t ref)
{
	struct magazine *m = &mags[p->class];
	const uint32_t count = magazine_count(m);

	if (unlikely(count >= sl->classes[p->class].keep ||
		     atomic_load_explicit(&p->state, memory_order_relaxed) == PAGE_EVACUATING))
		return false;
	m->ref[count] = ref;
	magazine_set(m, count + 1);
	return true;
}
/* The page of this object is not chosen to be evacuated until another value is extended, or none.
 */
void slab_note_extended(struct slab *sl, uint32_t ref);
/* Starts the extension of the value with this number; 0: no page is kept for one any more. */
void slab_extend(struct slab *sl, uint32_t number);
/* Ends the use of magazines: every core then finds all free objects. Before the first allocation.
 */
void slab_use_no_magazines(struct slab *sl);
/* Free what this core's magazine of a class holds of pages being evacuated. */
void slab_answer_recall(struct slab *sl, struct magazine *mags, uint32_t class);
/* Empties this core's magazine of a class, and returns how many objects it held; or all of them. */
uint32_t slab_empty_magazine(struct slab *sl, struct magazine *mags, uint32_t class);
void slab_empty_magazines(struct slab *sl, struct magazine *mags);

#endif

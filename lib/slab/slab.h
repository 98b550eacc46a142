/*
 * slab.h - size classes, their pages, and free objects.
 *
 * Shape:  a class has pages, each cut into objects of the class's size, and a state of two bits an
 *         object (slab_states.h). Every core has a magazine of free objects for each class, so that
 *         most allocations touch nothing shared.
 *
 * Units:  an object is named by its reference (arena.h).
 * Owner:  an allocated object belongs to the caller until slab_free.
 *
 * Thread: a function that takes magazines is called by the core that they belong to. Shared fields
 *         are under the class's lock or the pool's, which is taken second. States are in atomic
 *         words.
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
#define OBJECTS_PER_WORD     32u /* objects whose states fit into a word */
#define WORDS_PER_LOOK       2u  /* words of states that a hand passes in one look */
#define OBJECTS_PER_LOOK     (OBJECTS_PER_WORD * WORDS_PER_LOOK)

/* The number of an object in its page is its offset in granules, times the reciprocal of its class,
 * shifted right by this. The result is exact for offsets below 2^21 and sizes up to 2^16, since the
 * reciprocal's error is below size / 2^40 (Granlund and Montgomery 1994). */
#define RECIPROCAL_SHIFT 40u

struct eviction_policy; /* eviction.h */

struct slab {
	const struct arena *arena;
	struct page *pages;
	/* For each page the reciprocal of its class; a dense table, since gets read it. */
	uint64_t *reciprocal;
	_Atomic uint64_t *states;
	uint32_t stride; /* words of states for each page */
	/* log2 of the stride, and the arena's measures in granules, by which slab_states.h finds a
	 * state. */
	uint32_t stride_shift, page_shift, page_mask;
	/* The current stamp, shifted to its place in an item's first word. */
	_Atomic uint32_t reference_stamp;
	uint32_t class_count;
	uint32_t reserve; /* pages that the pool keeps for classes that have none */
	/* The eviction policy; eviction_clock after slab_init. */
	const struct eviction_policy *policy;
	struct asked *asked; /* a sample of keys, for the policy */
	/* Class for each size in units of 8 bytes: the size's own, or the one it is merged into. */
	_Atomic uint8_t class_of[SLAB_OBJECT_MAX / 8 + 1];
	struct slab_class classes[SLAB_CLASSES_MAX];

	_Alignas(CACHE_LINE_BYTES) struct spin pool_lock;
	struct list pool;
	struct list evacuating;           /* pages being evacuated */
	struct list evacuated;            /* pages that are empty and within their grace period */
	_Atomic uint64_t evacuated_pages; /* pages ever evacuated */
	/* Every turn reads these, and a page that moves writes some of them. */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t pool_count;
	_Atomic uint32_t evacuating_count; /* pages being evacuated, or within their grace period */
	_Atomic uint32_t evacuated_count;
	_Atomic uint32_t index_claimed_count; /* those of them that the index has claimed */
	_Atomic uint32_t stuck_count;         /* those of the others that hold a pinned object */
	_Atomic uint32_t waiting_count;       /* those of the others that wait for a fill */
	/* Number of the value that is being extended; pages that hold a part of it have the same
	 * number. */
	_Atomic uint32_t extended;
	_Atomic uint32_t index_pages; /* pages with a lower number belong to the index, or will */
	_Atomic uint32_t recall;      /* incremented whenever a class's recall is */
	/* Pages that the pool does not give away: see store_limit_mt. */
	_Atomic uint32_t withheld;
	_Atomic uint32_t now_s;
	/* The second in which pins last kept a page from being evacuated; 0: never. */
	_Atomic uint32_t blocked_s;

	_Alignas(CACHE_LINE_BYTES) struct spin balance_lock;
	/* Under the balance lock: pages on their way to another class; slab_age when one last began
	 * to move, when counts were last halved, and when the idle test was last made. */
	uint32_t moving, moved_at, halved_at, checked_at;
	uint32_t idle_class; /* the class to be searched for expired items, if it is idle */
	_Atomic bool merged; /* some class takes another one's objects (class_merge.c) */
	/* Bytes ever evicted; the slab_age at which nothing was left to balance
	 * (slab_is_settled). */
	_Atomic uint64_t evicted_bytes, settled_at;
	/* The class that last took a page of the reserve (memory.c), plus 1; 0: none. slab_age when
	 * a class of large objects last gave a page because of that. */
	_Atomic uint32_t borrower, borrowed_at;
};

/* Returns the bytes of tables that each page needs. */
size_t slab_bytes_per_page(uint32_t page_shift, uint32_t shift);
/* Returns the words of states that each page has. */
static inline uint32_t
slab_state_words(uint32_t page_shift, uint32_t shift)
{
	return (1u << page_shift) / slab_object_min(shift) / OBJECTS_PER_WORD;
}
/* Sets the sizes of the classes: each as large as the same number of objects in a page allows.
 * Returns how many there are, at most SLAB_CLASSES_MAX. */
uint32_t slab_class_sizes(const struct arena *arena, uint32_t *sizes);

/* The addresses of the tables. */
struct slab_tables {
	struct page *pages;
	uint64_t *reciprocal;
	_Atomic uint64_t *states;
};
/* Sets up the slab with all pages outside of the classes and the pool. */
void slab_init(struct slab *sl, const struct slab_tables *tables, const struct arena *arena,
	       uint32_t reserve);
/* Moves all pages to the pool, independent of what the tables say. */
void slab_fill_pool(struct slab *sl);

/* Returns how many pages of the pool a class may get. */
static inline uint32_t
slab_pool(const struct slab *sl)
{
	const uint32_t pool = atomic_load_explicit(&sl->pool_count, memory_order_relaxed);
	const uint32_t withheld = atomic_load_explicit(&sl->withheld, memory_order_relaxed);

	return pool > withheld ? pool - withheld : 0;
}

/* Notes the present second. The first core to see a new one writes it. */
static inline void
slab_tick(struct slab *sl, uint32_t now_s)
{
	if (unlikely(atomic_load_explicit(&sl->now_s, memory_order_relaxed) < now_s))
		atomic_store_explicit(&sl->now_s, now_s, memory_order_relaxed);
}

/* Weights of the objects that hands pass. An object evicted from probation weighs 1. */
#define PASSED_KEPT 8u   /* evicted by the CLOCK hand */
#define PASSED_USED 128u /* referenced; or evicted, with a key that was stored again soon */

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

/* Returns the objects of a class that are free, or will be after a grace period. Pinned ones do not
 * count. */
static inline uint32_t
slab_class_waiting(const struct slab_class *c)
{
	return atomic_load_explicit(&c->free_count, memory_order_relaxed) +
	       atomic_load_explicit(&c->retired_count, memory_order_relaxed);
}

/* Returns slab_class_waiting, and in addition the objects whose items wait for the tier
 * (leaving.h). */
static inline uint32_t
slab_class_coming(const struct slab_class *c)
{
	return slab_class_waiting(c) + atomic_load_explicit(&c->leaving, memory_order_relaxed);
}

/* A class keeps 1/AHEAD_SHARE of its objects free or on retire lists. If that is less than
 * AHEAD_MIN, it keeps as many as were lately taken within a grace period, but at most AHEAD_MIN,
 * and at most 1/AHEAD_PART of its objects and two. */
/* A need is counted in parts of 1/2^NEED_SHIFT object, and loses that part of itself at a time. */
#define NEED_SHIFT  4u
#define AHEAD_SHARE 64u
#define AHEAD_MIN   48u /* for chunks: three values of the default size, two of which are retired */
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

/* Allocates an object of the class: from the magazine, the class's pages, or a page of the pool,
 * which keeps `leave` pages. 0: there is none. */
/* As `leave`: take no page, and do not count as an allocation by the class. */
#define SLAB_NO_PAGE UINT32_MAX
uint32_t slab_alloc(struct slab *sl, struct magazine *mags, uint32_t class, uint32_t leave);
void slab_free(struct slab *sl, struct magazine *mags, uint32_t ref);

/* Does what slab_free does, if the magazine has space, as mostly. False: nothing was done. */
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
/* Protects the object's page from evacuation until slab_extend is called for another value, or for
 * none. */
void slab_note_extended(struct slab *sl, uint32_t ref);
/* Begins the extension of the value with this number; 0: no value's pages are protected any
 * more. */
void slab_extend(struct slab *sl, uint32_t number);
/* Switches magazines off, so that every core finds all free objects. To be called before the first
 * allocation. */
void slab_use_no_magazines(struct slab *sl);
/* Frees the objects in this core's magazine of a class that are on pages being evacuated. */
void slab_answer_recall(struct slab *sl, struct magazine *mags, uint32_t class);
/* Empties this core's magazine of a class, and returns how many objects it held. The second does it
 * for all classes. */
uint32_t slab_empty_magazine(struct slab *sl, struct magazine *mags, uint32_t class);
void slab_empty_magazines(struct slab *sl, struct magazine *mags);

#endif

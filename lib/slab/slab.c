/*
 * slab.c - size classes and their pages; allocates and frees objects.
 *
 * A magazine serves most calls. A class refills magazines from its pages, under its lock. The pool
 * gives pages to classes, under its own lock.
 */
#include "slab_pages.h"
#include "eviction.h"

size_t
slab_bytes_per_page(uint32_t page_shift, uint32_t shift)
{
	return sizeof(struct page) + sizeof(uint64_t) +
	       slab_state_words(page_shift, shift) * sizeof(uint64_t);
}

/* Returns the capacity of a magazine. For small objects it is more than two batches: with several
 * cores the grace periods of two bursts sometimes end together. Objects for which there is no room
 * return to their page, and later allocations take others, which are in no cache. */
static uint32_t
magazine_keep(uint32_t batch, uint32_t size)
{
	const uint32_t keep = MAGAZINE_BATCH_BYTES / size;

	return keep < 2 * batch ? 2 * batch : keep < MAGAZINE_MAX ? keep : MAGAZINE_MAX;
}

static void
add_class(struct slab *sl, uint32_t size)
{
	struct slab_class *c = &sl->classes[sl->class_count];
	const uint32_t batch = MAGAZINE_BATCH_BYTES / size;
	const uint32_t granules = size >> sl->arena->shift;

	ensure(sl->class_count < SLAB_CLASSES_MAX);
	c->size = size;
	c->per_page = (1u << sl->arena->page_shift) / size;
	c->batch = (uint16_t)(batch < MAGAZINE_BATCH_MAX ? batch : MAGAZINE_BATCH_MAX);
	c->keep = (uint16_t)magazine_keep(c->batch, size);
	c->reciprocal = ((1ull << RECIPROCAL_SHIFT) + granules - 1) / granules;
	list_init(&c->pages);
	list_init(&c->has_free);
	list_init(&c->new_pages);
	atomic_init(&c->due_s, UINT32_MAX);
	sl->class_count++;
}

uint32_t
slab_class_sizes(const struct arena *arena, uint32_t *sizes)
{
	const uint32_t page = 1u << arena->page_shift, granule = 1u << arena->shift;
	uint32_t below = 0, count = 0;

	for (uint32_t size = slab_object_min(arena->shift); below < SLAB_OBJECT_MAX;
	     size = slab_size_after(size, granule, arena->page_count)) {
		const uint32_t want = size < SLAB_OBJECT_MAX ? size : SLAB_OBJECT_MAX;
		const uint32_t stretched = page / (page / want) & ~(granule - 1);
		const uint32_t fit = stretched < SLAB_OBJECT_MAX ? stretched : SLAB_OBJECT_MAX;

		if (fit == below)
			continue;
		ensure(count < SLAB_CLASSES_MAX);
		sizes[count++] = below = fit;
	}
	return count;
}

static void
init_classes(struct slab *sl)
{
	uint32_t sizes[SLAB_CLASSES_MAX];
	const uint32_t count = slab_class_sizes(sl->arena, sizes);

	for (uint32_t i = 0; i < count; i++) {
		add_class(sl, sizes[i]);
		slab_class_take(sl, i, i);
	}
}

void
slab_class_take(struct slab *sl, uint32_t class, uint32_t from)
{
	uint32_t n = class != 0 ? sl->classes[class - 1].size / 8 + 1 : 0;

	for (; n <= sl->classes[class].size / 8; n++)
		atomic_store_explicit(&sl->class_of[n], (uint8_t)from, memory_order_relaxed);
}

void
slab_init(struct slab *sl, const struct slab_tables *tables, const struct arena *arena,
	  uint32_t reserve)
{
	sl->arena = arena;
	sl->reserve = reserve;
	sl->policy = &eviction_clock;
	sl->stride = slab_state_words(arena->page_shift, arena->shift);
	sl->stride_shift = (uint32_t)__builtin_ctz(sl->stride);
	sl->page_shift = arena->page_shift - arena->shift;
	sl->page_mask = (1u << sl->page_shift) - 1;
	sl->states = tables->states;
	sl->reciprocal = tables->reciprocal;
	sl->pages = tables->pages;
	init_classes(sl);
	list_init(&sl->pool);
	list_init(&sl->evacuating);
	list_init(&sl->evacuated);
	atomic_init(&sl->reference_stamp, 1u << SLAB_STAMP_SHIFT);
}

void
slab_fill_pool(struct slab *sl)
{
	const uint32_t pages = sl->arena->page_count;

	memset(sl->pages, 0, pages * sizeof *sl->pages);
	for (uint32_t i = 0; i < pages; i++) {
		list_init(&sl->pages[i].has_free);
		list_init(&sl->pages[i].of_new);
		list_push_front(&sl->pool, &sl->pages[i].of_class);
	}
	atomic_init(&sl->pool_count, pages);
}

/* Notes the second of a store into the page. Writes at most once a second, since every get reads
 * the same cache line. */
static inline void
page_stored(struct slab *sl, uint32_t ref)
{
	struct page *p = &sl->pages[slab_page_of(sl, ref)];
	const uint32_t now_s = atomic_load_explicit(&sl->now_s, memory_order_relaxed);

	if (unlikely(atomic_load_explicit(&p->stored_s, memory_order_relaxed) != now_s))
		atomic_store_explicit(&p->stored_s, now_s, memory_order_relaxed);
}

void
slab_set_live(struct slab *sl, uint32_t ref, enum object_state state)
{
	uint32_t shift;
	_Atomic uint64_t *word = slab_state_word(sl, ref, &shift);

	/* Release: pairs with the acquire in hand_states; a core that sees the state may read the
	 * item. Sequentially consistent, so that the note of the item's expiry comes after it
	 * (due_hand.c). */
	atomic_fetch_or_explicit(word, (uint64_t)state << shift, memory_order_seq_cst);
	page_stored(sl, ref);
}

/* Tries while other objects of the word change. After that the use is lost. */
#define USE_TRIES_MAX 4u

bool
slab_set_referenced(const struct slab *sl, uint32_t ref)
{
	uint32_t shift;
	_Atomic uint64_t *word = slab_state_word(sl, ref, &shift);
	uint64_t now = atomic_load_explicit(word, memory_order_relaxed);

	for (uint32_t tries = 0; tries < USE_TRIES_MAX; tries++) {
		const uint64_t state = now >> shift & OBJECT_USED;

		/* If the object left the index since it was found, it stays out. */
		if (state == OBJECT_USED || state == OBJECT_OUT)
			return false;
		/* Relaxed: the bit is a hint for eviction, through which nothing is read. */
		if (atomic_compare_exchange_weak_explicit(
			    word, &now, now | (uint64_t)OBJECT_USED << shift, memory_order_relaxed,
			    memory_order_relaxed))
			return true;
	}
	return false;
}

void
slab_end_probation(const struct slab *sl, uint32_t ref)
{
	uint32_t shift;
	_Atomic uint64_t *word = slab_state_word(sl, ref, &shift);
	uint64_t now = atomic_load_explicit(word, memory_order_relaxed);

	/* Relaxed: as in slab_set_referenced. */
	for (uint32_t tries = 0;
	     tries < USE_TRIES_MAX && (now >> shift & OBJECT_USED) == OBJECT_NEW; tries++)
		if (atomic_compare_exchange_weak_explicit(
			    word, &now, now ^ (uint64_t)(OBJECT_NEW ^ OBJECT_KEPT) << shift,
			    memory_order_relaxed, memory_order_relaxed))
			return;
}

/* ---- pages ---- */

static uint32_t
page_ref(const struct slab *sl, const struct page *p, uint32_t object)
{
	const size_t start = (size_t)slab_page_number(sl, p) << sl->arena->page_shift;

	return arena_ref_of_offset(sl->arena, start + (size_t)object * sl->classes[p->class].size);
}

/* Gives the class a page of the pool, if `leave` pages stay there. Under the class's lock. */
static bool
class_add_page(struct slab *sl, uint32_t class, uint32_t leave)
{
	struct slab_class *c = &sl->classes[class];
	struct page *p = NULL;

	spin_lock(&sl->pool_lock);
	if (slab_pool(sl) > leave) {
		p = container_of(list_pop_front(&sl->pool), struct page, of_class);
		atomic_fetch_sub_explicit(&sl->pool_count, 1, memory_order_relaxed);
		p->class = (uint8_t) class;
		atomic_store_explicit(&p->state, PAGE_CLASS, memory_order_relaxed);
	}
	spin_unlock(&sl->pool_lock);
	if (p == NULL)
		return false;
	atomic_store_explicit(&c->grown_at, slab_age(sl), memory_order_relaxed);
	p->free_head = p->free_count = p->fresh = p->retired = p->evacuate_next = 0;
	p->objects = c->per_page;
	atomic_store_explicit(&p->due_s, UINT32_MAX, memory_order_relaxed);
	sl->reciprocal[slab_page_number(sl, p)] = c->reciprocal;
	memset((void *)&sl->states[(size_t)slab_page_number(sl, p) << sl->stride_shift], 0,
	       sl->stride * sizeof sl->states[0]);
	slab_page_comes(sl, c, p);
	list_push_back(&c->has_free, &p->has_free);
	atomic_fetch_add_explicit(&c->page_count, 1, memory_order_relaxed);
	slab_class_count_free(c, p->objects);
	return true;
}

void
slab_page_release(struct slab *sl, struct page *p)
{
	const uint32_t index_pages = atomic_load_explicit(&sl->index_pages, memory_order_relaxed);
	const bool claimed = slab_page_number(sl, p) < index_pages;

	if (atomic_load_explicit(&p->state, memory_order_relaxed) == PAGE_EVACUATING) {
		atomic_fetch_sub_explicit(&sl->evacuating_count, 1, memory_order_relaxed);
		atomic_fetch_sub_explicit(&sl->index_claimed_count, claimed, memory_order_relaxed);
		atomic_fetch_add_explicit(&sl->evacuated_pages, 1, memory_order_relaxed);
		slab_page_waits_no_more(sl, p);
	}
	list_unlink(&p->of_class);
	atomic_store_explicit(&p->state, claimed ? PAGE_INDEX : PAGE_POOL, memory_order_relaxed);
	if (claimed)
		return;
	/* The page goes to the front: pages further back were never used, and the index claims
	 * pages in the order of their numbers. */
	list_push_front(&sl->pool, &p->of_class);
	atomic_fetch_add_explicit(&sl->pool_count, 1, memory_order_relaxed);
}

/* Takes a page from its class, once all its objects are free. Under the class's lock. */
static void
class_drop_page(struct slab *sl, struct slab_class *c, struct page *p)
{
	const bool evacuating =
		atomic_load_explicit(&p->state, memory_order_relaxed) == PAGE_EVACUATING;

	list_unlink(&p->has_free);
	if (!evacuating) {
		slab_page_goes(c, p);
		atomic_fetch_sub_explicit(&c->page_count, 1, memory_order_relaxed);
		slab_class_count_free(c, -slab_page_free(p));
	}
	spin_lock(&sl->pool_lock);
	slab_page_release(sl, p);
	spin_unlock(&sl->pool_lock);
}

/* Ends a page's evacuation: all objects are free, or wait with it. Under the class's lock. */
static void
page_evacuated(struct slab *sl, struct page *p)
{
	spin_lock(&sl->pool_lock);
	slab_page_waits_no_more(sl, p);
	list_unlink(&p->of_class);
	list_push_back(&sl->evacuated, &p->of_class);
	atomic_fetch_add_explicit(&sl->evacuated_count, 1, memory_order_relaxed);
	spin_unlock(&sl->pool_lock);
}

void
slab_page_check(struct slab *sl, struct slab_class *c, struct page *p)
{
	if (slab_page_free(p) + p->retired < p->objects)
		return;
	if (p->retired == 0)
		class_drop_page(sl, c, p);
	else
		page_evacuated(sl, p);
}

/* Allocates an object of the page. Under the class's lock; the caller counts it. */
static uint32_t
page_alloc_object(struct slab *sl, struct page *p)
{
	uint32_t ref;

	if (p->free_count != 0) {
		ref = p->free_head;
		p->free_head = load_u32(arena_at(sl->arena, ref));
		p->free_count--;
	} else {
		ref = page_ref(sl, p, p->fresh++);
	}
	if (slab_page_free(p) == 0)
		list_unlink(&p->has_free);
	return ref;
}

/* Frees an object into its page. Under the class's lock. */
static void
page_free_object(struct slab *sl, struct slab_class *c, uint32_t ref)
{
	struct page *p = &sl->pages[slab_page_of(sl, ref)];

	memcpy(arena_at(sl->arena, ref), &p->free_head, sizeof p->free_head);
	p->free_head = ref;
	p->free_count++;
	if (atomic_load_explicit(&p->state, memory_order_relaxed) == PAGE_CLASS) {
		slab_class_count_free(c, 1);
		if (slab_page_free(p) == 1)
			list_push_back(&c->has_free, &p->has_free);
	}
	slab_page_check(sl, c, p);
}

/* ---- objects ---- */

static uint32_t
class_alloc(struct slab *sl, uint32_t class, uint32_t *refs, uint32_t want, uint32_t leave)
{
	struct slab_class *c = &sl->classes[class];
	uint32_t got = 0;

	spin_lock(&c->lock);
	if (leave != SLAB_NO_PAGE)
		atomic_store_explicit(&c->allocated_at, slab_age(sl), memory_order_relaxed);
	while (got < want) {
		if (list_empty(&c->has_free) && (got != 0 || !class_add_page(sl, class, leave)))
			break;
		refs[got++] = page_alloc_object(
			sl, container_of(c->has_free.next, struct page, has_free));
	}
	slab_class_count_free(c, -got);
	spin_unlock(&c->lock);
	return got;
}

static void
class_free(struct slab *sl, uint32_t class, const uint32_t *refs, uint32_t count)
{
	struct slab_class *c = &sl->classes[class];

	spin_lock(&c->lock);
	for (uint32_t i = 0; i < count; i++)
		page_free_object(sl, c, refs[i]);
	spin_unlock(&c->lock);
}

uint32_t
slab_alloc(struct slab *sl, struct magazine *mags, uint32_t class, uint32_t leave)
{
	struct magazine *m = &mags[class];
	const uint32_t batch = sl->classes[class].batch;
	uint32_t count = magazine_count(m), one;

	if (batch == 0)
		return class_alloc(sl, class, &one, 1, leave) == 1 ? one : 0;
	if (count == 0) {
		m->refill = magazine_refill(m, batch);
		count = class_alloc(sl, class, m->ref, m->refill, leave);
	}
	if (count == 0)
		return 0;
	magazine_set(m, count - 1);
	return m->ref[count - 1];
}

void
slab_free(struct slab *sl, struct magazine *mags, uint32_t ref)
{
	const struct page *p = &sl->pages[slab_page_of(sl, ref)];
	struct magazine *m = &mags[p->class];
	const uint32_t batch = sl->classes[p->class].batch;
	uint32_t count = magazine_count(m);

	if (slab_free_fast(sl, mags, p, ref))
		return;
	if (batch == 0 ||
	    atomic_load_explicit(&p->state, memory_order_relaxed) == PAGE_EVACUATING) {
		class_free(sl, p->class, &ref, 1);
		return;
	}
	if (count == sl->classes[p->class].keep) {
		count -= batch;
		class_free(sl, p->class, m->ref + count, batch);
	}
	m->ref[count] = ref;
	magazine_set(m, count + 1);
}

/* ---- pages, magazines ---- */

bool
slab_grant(struct slab *sl, uint32_t class, uint32_t leave)
{
	struct slab_class *c = &sl->classes[class];
	bool granted;

	spin_lock(&c->lock);
	granted = class_add_page(sl, class, leave);
	spin_unlock(&c->lock);
	return granted;
}

void
slab_note_extended(struct slab *sl, uint32_t ref)
{
	atomic_store_explicit(&sl->pages[slab_page_of(sl, ref)].extended,
			      atomic_load_explicit(&sl->extended, memory_order_relaxed),
			      memory_order_relaxed);
}

void
slab_extend(struct slab *sl, uint32_t number)
{
	atomic_store_explicit(&sl->extended, number, memory_order_relaxed);
}

void
slab_use_no_magazines(struct slab *sl)
{
	for (uint32_t i = 0; i < sl->class_count; i++)
		sl->classes[i].batch = sl->classes[i].keep = 0;
}

void
slab_answer_recall(struct slab *sl, struct magazine *mags, uint32_t class)
{
	struct magazine *m = &mags[class];
	const uint32_t count = magazine_count(m);
	uint32_t refs[MAGAZINE_MAX], kept = 0, n = 0;

	for (uint32_t i = 0; i < count; i++)
		if (slab_evacuating(sl, m->ref[i]))
			refs[n++] = m->ref[i];
		else
			m->ref[kept++] = m->ref[i];
	if (n == 0)
		return;
	magazine_set(m, kept);
	class_free(sl, class, refs, n);
}

uint32_t
slab_empty_magazine(struct slab *sl, struct magazine *mags, uint32_t class)
{
	const uint32_t count = magazine_count(&mags[class]);

	if (count == 0)
		return 0;
	class_free(sl, class, mags[class].ref, count);
	magazine_set(&mags[class], 0);
	mags[class].refill = 0;
	return count;
}

void
slab_empty_magazines(struct slab *sl, struct magazine *mags)
{
	for (uint32_t i = 0; i < sl->class_count; i++)
		slab_empty_magazine(sl, mags, i);
}

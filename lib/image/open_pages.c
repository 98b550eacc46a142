/*
 * open_pages.c - rebuilds the pages' lists and counts from the states of their objects.
 *
 * A page's class and its states are trusted after checks of their ranges. An object whose state is
 * OUT becomes free, even if it was on a retire list, in a magazine or in a fill.
 */
#include "opening.h"
#include "slab/slab_pages.h"

static _Atomic uint64_t *
page_states(const struct slab *sl, uint32_t number)
{
	return &sl->states[(size_t)number << sl->stride_shift];
}

/* Returns the number of the last live object plus 1; 0: none is live. Makes the states beyond the
 * page's last object OUT, as far as hands read. */
static uint32_t
live_end(const struct slab *sl, uint32_t number, const struct slab_class *c)
{
	const uint32_t objects = c->per_page;
	_Atomic uint64_t *states = page_states(sl, number);
	const uint32_t words = (objects + OBJECTS_PER_WORD - 1) / OBJECTS_PER_WORD;
	const uint32_t last = objects % OBJECTS_PER_WORD;

	for (uint32_t w = words; w < slab_class_state_words(c); w++)
		atomic_store_explicit(&states[w], 0, memory_order_relaxed);
	if (last != 0)
		atomic_store_explicit(
			&states[words - 1],
			atomic_load_explicit(&states[words - 1], memory_order_relaxed) &
				((1ull << last * STATE_BITS) - 1),
			memory_order_relaxed);
	for (uint32_t w = words; w != 0; w--) {
		const uint64_t in =
			states_in(atomic_load_explicit(&states[w - 1], memory_order_relaxed));

		if (in != 0)
			return (w - 1) * OBJECTS_PER_WORD +
			       (63 - (uint32_t)__builtin_clzll(in)) / STATE_BITS + 1;
	}
	return 0;
}

/* Lists the free objects below the last live one. Those above it count as never allocated. */
static void
list_free(const struct slab *sl, struct page *p, uint32_t number)
{
	const struct slab_class *c = &sl->classes[p->class];
	const size_t start = (size_t)number << sl->arena->page_shift;

	p->fresh = live_end(sl, number, c);
	for (uint32_t w = (p->fresh + OBJECTS_PER_WORD - 1) / OBJECTS_PER_WORD; w-- != 0;) {
		const uint64_t in = states_in(
			atomic_load_explicit(&page_states(sl, number)[w], memory_order_relaxed));

		for (uint64_t out = ~in & STATES_LOW; out != 0;) {
			const uint32_t bit = 63 - (uint32_t)__builtin_clzll(out);
			const uint32_t n = w * OBJECTS_PER_WORD + bit / STATE_BITS;
			const uint32_t ref =
				arena_ref_of_offset(sl->arena, start + (size_t)n * c->size);

			out ^= 1ull << bit;
			if (n >= p->fresh)
				continue;
			memcpy(arena_at(sl->arena, ref), &p->free_head, sizeof p->free_head);
			p->free_head = ref;
			p->free_count++;
		}
	}
}

static void
not_after(_Atomic uint32_t *second, uint32_t now_s)
{
	if (atomic_load_explicit(second, memory_order_relaxed) > now_s)
		atomic_store_explicit(second, now_s, memory_order_relaxed);
}

/* Resets a page except its class, its state and its times. Class and state are valid at every
 * moment, so if this start is killed here, the next one repairs the page in the same way. */
static void
reset_page(struct page *p, uint32_t now_s)
{
	list_init(&p->of_class);
	list_init(&p->has_free);
	list_init(&p->of_new);
	p->free_head = p->free_count = p->fresh = p->objects = 0;
	p->retired = p->retired_epoch = p->evacuate_next = p->drained_epoch = 0;
	p->busy = 0;
	p->walk_found = p->drained = p->waiting = false;
	atomic_init(&p->pinned, 0);
	not_after(&p->hand_passed_s, now_s);
	not_after(&p->stored_s, now_s);
}

static void
open_page(struct store_opening *open, uint32_t number)
{
	struct slab *sl = &open->store->slab;
	struct page *p = &sl->pages[number];
	uint8_t is = PAGE_POOL;

	reset_page(p, open->now_s);
	if (number < open->index_pages)
		is = PAGE_INDEX;
	else if (slab_page_has_class(sl, p)) {
		p->objects = sl->classes[p->class].per_page;
		list_free(sl, p, number);
		if (p->fresh != 0) {
			sl->reciprocal[number] = sl->classes[p->class].reciprocal;
			is = PAGE_CLASS;
		}
	}
	atomic_store_explicit(&p->state, is, memory_order_relaxed);
}

void
open_pages_share(struct store_opening *open, uint64_t share)
{
	const uint64_t count = open->store->slab.arena->page_count;

	for (uint64_t n = share * OPEN_PAGES_SHARE; n < (share + 1) * OPEN_PAGES_SHARE && n < count;
	     n++)
		open_page(open, (uint32_t)n);
}

static void
count_page(struct slab *sl, struct page *p)
{
	struct slab_class *c = &sl->classes[p->class];
	const uint32_t due_s = atomic_load_explicit(&p->due_s, memory_order_relaxed);

	list_push_back(&c->pages, &p->of_class);
	list_push_back(&c->new_pages, &p->of_new);
	if (slab_page_free(p) != 0)
		list_push_back(&c->has_free, &p->has_free);
	atomic_fetch_add_explicit(&c->page_count, 1, memory_order_relaxed);
	slab_class_count_free(c, slab_page_free(p));
	if (due_s < atomic_load_explicit(&c->due_s, memory_order_relaxed))
		atomic_store_explicit(&c->due_s, due_s, memory_order_relaxed);
}

/* Merges two lists of pages, those that the hand passed longest ago first. */
static struct list *
merge(struct list *a, struct list *b)
{
	struct list head = {.next = NULL}, *end = &head;

	while (a != NULL && b != NULL) {
		const uint32_t a_s =
			atomic_load_explicit(&container_of(a, struct page, of_class)->hand_passed_s,
					     memory_order_relaxed);
		const uint32_t b_s =
			atomic_load_explicit(&container_of(b, struct page, of_class)->hand_passed_s,
					     memory_order_relaxed);
		struct list **from = a_s <= b_s ? &a : &b;

		end->next = *from;
		end = end->next;
		*from = (*from)->next;
	}
	end->next = a != NULL ? a : b;
	return head.next;
}

#define RUNS_MAX 32u /* runs of 1, 2, 4 ... pages */

static void
sort_by_hand(struct slab_class *c)
{
	struct list *runs[RUNS_MAX] = {NULL}, *all = NULL, *rest = c->pages.next;

	if (list_empty(&c->pages))
		return;
	c->pages.prev->next = NULL;
	list_init(&c->pages);
	while (rest != NULL) {
		struct list *run = rest;
		uint32_t i = 0;

		rest = rest->next;
		run->next = NULL;
		for (; runs[i] != NULL; i++) {
			run = merge(runs[i], run);
			runs[i] = NULL;
		}
		runs[i] = run;
	}
	for (uint32_t i = 0; i < RUNS_MAX; i++)
		all = merge(runs[i], all);
	while (all != NULL) {
		struct list *next = all->next;

		list_push_back(&c->pages, all);
		all = next;
	}
	atomic_store_explicit(
		&c->next_hand_passed_s,
		atomic_load_explicit(
			&container_of(c->pages.next, struct page, of_class)->hand_passed_s,
			memory_order_relaxed),
		memory_order_relaxed);
}

void
open_pages_end(struct store_opening *open)
{
	struct slab *sl = &open->store->slab;
	const uint32_t of_index = open->index_pages;
	uint32_t pool = 0;

	for (uint32_t n = 0; n < sl->arena->page_count; n++) {
		struct page *p = &sl->pages[n];

		if (atomic_load_explicit(&p->state, memory_order_relaxed) == PAGE_CLASS)
			count_page(sl, p);
		else if (n >= of_index) {
			list_push_front(&sl->pool, &p->of_class);
			pool++;
		}
	}
	atomic_store_explicit(&sl->pool_count, pool, memory_order_relaxed);
	atomic_store_explicit(&sl->index_pages, of_index, memory_order_relaxed);
	for (uint32_t i = 0; i < sl->class_count; i++)
		sort_by_hand(&sl->classes[i]);
}

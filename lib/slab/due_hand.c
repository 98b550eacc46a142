/*
 * due_hand.c - the expiry hand, which goes round the pages of a class on which some item has
 * expired.
 *
 * Each page and each class has a note, due_s: a second before which none of its items expires. A
 * store lowers it. The hand clears it and has it noted anew as it passes. A page on which nothing
 * is due is skipped. The hand only lists candidates; expire.c reads their expiry.
 *
 * Why no item is missed: a core makes the item live, then notes its expiry on the page, then on the
 * class. The hand clears the class's note, then the page's, then reads which items are live. So
 * either the hand sees the item, or the note follows its clearing and stays. For that each side
 * stores and then loads what the other one stores. A core's stores are sequentially consistent
 * (slab_set_live, note), or have a fence between them (item_note_due); the hand has a fence after
 * it clears a note.
 */
#include "slab_pages.h"

/* Most pages skipped in one look. */
#define SKIPPED_MAX 32u

static void
note(_Atomic uint32_t *due_s, uint32_t at_s)
{
	/* Sequentially consistent even if an earlier note is there: pairs with the hand's
	 * fences. */
	uint32_t now = atomic_load_explicit(due_s, memory_order_seq_cst);

	while (at_s < now && !atomic_compare_exchange_weak_explicit(
				     due_s, &now, at_s, memory_order_seq_cst, memory_order_seq_cst))
		;
}

static void
forget(_Atomic uint32_t *due_s)
{
	atomic_store_explicit(due_s, UINT32_MAX, memory_order_relaxed);
	/* Pairs with the seq_cst accesses of a note, and with the fence in item_note_due. */
	atomic_thread_fence(memory_order_seq_cst);
}

static bool
is_due(const _Atomic uint32_t *due_s, uint32_t now_s)
{
	return atomic_load_explicit(due_s, memory_order_relaxed) <= now_s;
}

void
slab_note_due(struct slab *sl, uint32_t ref, uint32_t at_s)
{
	struct page *p = &sl->pages[slab_page_of(sl, ref)];

	note(&p->due_s, at_s);
	note(&sl->classes[p->class].due_s, at_s);
}

/* Returns the page after this one in the ring of the class's pages. The hand of new objects rotates
 * that ring, and does not change its order. */
static struct page *
page_after(const struct slab_class *c, const struct page *p)
{
	const struct list *next = p == NULL ? c->new_pages.prev : p->of_new.prev;

	if (next == &c->new_pages)
		next = next->prev;
	return next == &c->new_pages ? NULL : container_of(next, struct page, of_new);
}

void
slab_due_page_goes(struct slab_class *c, const struct page *p)
{
	if (c->due_page != p)
		return;
	c->due_page = page_after(c, p);
	if (c->due_page == p)
		c->due_page = NULL;
	c->due_word = 0;
}

static void
next_page(struct slab_class *c)
{
	c->due_page = page_after(c, c->due_page);
	c->due_word = 0;
	atomic_fetch_sub_explicit(&c->due_pages, 1, memory_order_relaxed);
}

/* Begins a round if something is due and none is under way. False: there is no round. */
static bool
round_goes_on(struct slab_class *c, uint32_t now_s)
{
	if (atomic_load_explicit(&c->due_pages, memory_order_relaxed) == 0) {
		if (!is_due(&c->due_s, now_s))
			return false;
		atomic_store_explicit(&c->due_pages, slab_class_pages(c), memory_order_relaxed);
		forget(&c->due_s);
	}
	if (c->due_page == NULL)
		c->due_page = page_after(c, NULL);
	if (c->due_page == NULL)
		atomic_store_explicit(&c->due_pages, 0, memory_order_relaxed);
	return c->due_page != NULL;
}

/* Returns the page under the hand, after skipping those on which nothing is due; NULL: there is
 * none. */
static struct page *
page_due(struct slab_class *c, uint32_t now_s, uint32_t *passed)
{
	while (*passed < SKIPPED_MAX && round_goes_on(c, now_s)) {
		struct page *p = c->due_page;

		if (c->due_word != 0)
			return p;
		if (is_due(&p->due_s, now_s)) {
			forget(&p->due_s);
			return p;
		}
		note(&c->due_s, atomic_load_explicit(&p->due_s, memory_order_relaxed));
		++*passed;
		next_page(c);
	}
	return NULL;
}

uint32_t
slab_due_hand(struct slab *sl, uint32_t class, uint32_t now_s, uint32_t *refs, uint32_t *passed)
{
	struct slab_class *c = &sl->classes[class];
	uint32_t count = 0;
	struct page *p;

	*passed = 0;
	if (likely(!slab_class_is_due(c, now_s)))
		return 0;
	spin_lock(&c->lock);
	p = page_due(c, now_s, passed);
	if (p != NULL) {
		const uint32_t first = c->due_word * OBJECTS_PER_WORD, left = p->objects - first;

		for (uint32_t w = 0; w < WORDS_PER_LOOK; w++)
			count += slab_list_live(sl, p, c->due_word + w, refs + count);
		*passed += left < OBJECTS_PER_LOOK ? left : OBJECTS_PER_LOOK;
		c->due_word += WORDS_PER_LOOK;
		if (left <= OBJECTS_PER_LOOK)
			next_page(c);
	}
	spin_unlock(&c->lock);
	return count;
}

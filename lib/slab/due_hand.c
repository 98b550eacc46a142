/*
 * due_hand.c - the hand of expiry: it goes round the pages of a class on which something is due.
 *
 * Each page, and each class, has the second in which the first of its items expires, or an earlier
 * one: what is stored lowers it, and the hand finds it anew as it passes. A page on which nothing
 * is due is skipped. The hand only names candidates; expire.c looks at their expiry.
 *
 * Order of a note and a pass: an item is live before its expiry is noted, the page's note comes
 * before the class's, and the hand forgets what was noted before it looks for what is live, or at
 * the pages. So it sees the item, or the note comes after it. Each side stores and then loads what
 * the other one stores: the accesses of a note are sequentially consistent, as is the store of the
 * item's state (slab_set_live), or a fence comes between a changed expiry and its note
 * (item_note_due); the hand has a fence after it forgets.
 */
#include "slab_pages.h"

/* Pages skipped in one look. */
#define SKIPPED_MAX 32u

static void
note(_Atomic uint32_t *due_s, uint32_t at_s)
{
	/* Sequentially consistent, a note that is there already, too: pairs with the hand's fences.
	 */
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

/* The page after this one in the ring of the class's pages. The hand of new objects turns the ring
 * and leaves their order. */
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

/* A round begins if something is due. False: nothing is, and none is under way. */
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

/* The page under the hand, once those on which nothing is due are skipped; NULL: there is none. */
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

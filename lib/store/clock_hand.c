/*
 * clock_hand.c - the CLOCK hand of a class, and the live objects of a page being evacuated.
 *
 * CLOCK (Corbato 1968) over bitmaps, 64 objects a look. The hand only names candidates. The store
 * evicts each under its bucket locks, if the index still holds that very reference. A candidate was
 * live in this core's turn, so its memory stays readable until the turn ends.
 */
#include "slab_pages.h"

/* Words the hand looks at under one hold of the lock; if all were referenced, it takes some that
 * are. */
#define HAND_WORDS_MAX 512u

static uint64_t
live_word(const struct slab *sl, const struct page *p, uint32_t word)
{
	const size_t at = (size_t)(p - sl->pages) * sl->stride + word;

	/* Acquire: pairs with the release in slab_set_live. */
	return atomic_load_explicit(&sl->live[at], memory_order_acquire);
}

static uint32_t
list_word(const struct slab *sl, const struct page *p, uint32_t word, uint64_t bits, uint32_t *refs)
{
	const size_t start = (size_t)(p - sl->pages) << sl->arena->page_shift;
	const uint32_t size = sl->classes[p->class].size;
	uint32_t count = 0;

	for (; bits != 0; bits &= bits - 1) {
		const size_t n = word * BITS_PER_WORD + (uint32_t)__builtin_ctzll(bits);

		refs[count++] = arena_ref_of_offset(sl->arena, start + n * size);
	}
	return count;
}

/* Live objects of a word whose reference bit was clear; the bits are cleared. */
static uint64_t
unreferenced_word(struct slab *sl, const struct page *p, uint32_t word)
{
	_Atomic uint64_t *clock = &sl->clock[(size_t)(p - sl->pages) * sl->stride + word];
	const uint64_t live = live_word(sl, p, word);
	const uint64_t used = atomic_load_explicit(clock, memory_order_relaxed);

	/* A reference bit set in between is lost: one object looks older than it is. */
	if (used != 0)
		atomic_store_explicit(clock, 0, memory_order_relaxed);
	return live & ~used;
}

void
slab_page_hand_passed(struct slab *sl, struct slab_class *c, struct page *p)
{
	const uint32_t now_s = atomic_load_explicit(&sl->now_s, memory_order_relaxed);
	const struct page *next =
		list_empty(&c->pages) ? p : container_of(c->pages.next, struct page, of_class);

	atomic_store_explicit(&p->hand_passed_s, now_s, memory_order_relaxed);
	atomic_store_explicit(&c->next_hand_passed_s,
			      atomic_load_explicit(&next->hand_passed_s, memory_order_relaxed),
			      memory_order_relaxed);
}

static void
hand_step(struct slab *sl, struct slab_class *c)
{
	struct page *p = container_of(c->pages.next, struct page, of_class);

	if (++c->hand_word * BITS_PER_WORD < p->objects)
		return;
	c->hand_word = 0;
	list_unlink(&p->of_class);
	slab_page_hand_passed(sl, c, p);
	list_push_back(&c->pages, &p->of_class);
}

/* Reference bits were cleared: objects used from now on must set theirs again (slab.h). Two hands
 * at once may step it once, which serves both. */
static void
clock_stamp_step(struct slab *sl)
{
	const uint32_t now = slab_clock_stamp(sl) >> ITEM_CLOCK_STAMP_SHIFT;

	atomic_store_explicit(&sl->clock_stamp,
			      (now % ITEM_CLOCK_STAMP_MAX + 1) << ITEM_CLOCK_STAMP_SHIFT,
			      memory_order_relaxed);
}

/* Under the class's lock: the hand went over some words. */
static void
hand_passed(struct slab *sl, struct slab_class *c, uint32_t words)
{
	const uint64_t lap =
		(uint64_t)((c->per_page + BITS_PER_WORD - 1) / BITS_PER_WORD) * slab_class_pages(c);

	c->clock_stamp_words += words;
	if ((uint64_t)c->clock_stamp_words * CLOCK_STAMPS_PER_LAP < lap)
		return;
	c->clock_stamp_words = 0;
	clock_stamp_step(sl);
}

/* Words the hand may pass: one round at most, or referenced objects would have no second chance. */
static uint32_t
hand_words(const struct slab_class *c)
{
	const uint32_t words = (c->per_page + BITS_PER_WORD - 1) / BITS_PER_WORD;
	const uint64_t all = (uint64_t)words * slab_class_pages(c);

	return all < HAND_WORDS_MAX ? (uint32_t)all : HAND_WORDS_MAX;
}

uint32_t
slab_clock_hand(struct slab *sl, uint32_t class, uint32_t *refs, uint32_t max)
{
	struct slab_class *c = &sl->classes[class];
	uint32_t count = 0, used = 0, look = 0;

	spin_lock(&c->lock);

	const uint32_t looks = hand_words(c);

	for (; look < looks && count < max; look++) {
		if (list_empty(&c->pages))
			break;

		const struct page *p = container_of(c->pages.next, struct page, of_class);
		const uint64_t live = live_word(sl, p, c->hand_word);
		uint64_t bits = unreferenced_word(sl, p, c->hand_word);

		used += (uint32_t)__builtin_popcountll(live & ~bits);
		if (look > HAND_WORDS_MAX / 2 && count == 0)
			bits = live;
		count += list_word(sl, p, c->hand_word, bits, refs + count);
		hand_step(sl, c);
	}
	hand_passed(sl, c, look);
	spin_unlock(&c->lock);
	atomic_fetch_add_explicit(&c->passed, used, memory_order_relaxed);
	return count;
}

struct page_load
slab_page_load(const struct slab *sl, const struct page *p)
{
	const uint32_t words = (p->objects + BITS_PER_WORD - 1) / BITS_PER_WORD;
	const _Atomic uint64_t *clock = &sl->clock[(size_t)(p - sl->pages) * sl->stride];
	struct page_load load = {0, 0};

	for (uint32_t w = 0; w < words; w++) {
		const uint64_t live = live_word(sl, p, w);
		const uint64_t used = atomic_load_explicit(&clock[w], memory_order_relaxed);

		load.live += (uint32_t)__builtin_popcountll(live);
		load.used += (uint32_t)__builtin_popcountll(live & used);
	}
	return load;
}

void
slab_page_clear_clock(struct slab *sl, const struct page *p)
{
	const uint32_t words = (p->objects + BITS_PER_WORD - 1) / BITS_PER_WORD;

	for (uint32_t w = 0; w < words; w++)
		unreferenced_word(sl, p, w);
	clock_stamp_step(sl);
}

uint32_t
slab_evacuate_live(struct slab *sl, uint32_t *refs, uint32_t max, uint32_t epoch)
{
	uint32_t count = 0;

	spin_lock(&sl->pool_lock);
	if (!list_empty(&sl->evacuating)) {
		struct list *front = sl->evacuating.next;
		struct page *p = container_of(front, struct page, of_class);
		const uint32_t words = (p->objects + BITS_PER_WORD - 1) / BITS_PER_WORD;
		uint32_t w = p->evacuate_word;

		for (; w < words && count < max; w++)
			count += list_word(sl, p, w, live_word(sl, p, w), refs + count);
		p->busy += count != 0;
		p->walk_found |= count != 0;
		p->evacuate_word = w < words ? w : 0;
		/* Through with the page: what is left waits for readers, a fill, or free objects
		 * elsewhere. The next page. */
		if (w == words) {
			slab_page_walked(sl, p, epoch);
			p->walk_found = false;
			list_unlink(front);
			list_push_back(&sl->evacuating, front);
		}
	}
	spin_unlock(&sl->pool_lock);
	return count;
}

void
slab_evacuate_done(struct slab *sl, uint32_t ref)
{
	struct page *p = &sl->pages[slab_page_of(sl, ref)];

	spin_lock(&sl->pool_lock);
	ensure(p->busy != 0);
	p->busy--;
	spin_unlock(&sl->pool_lock);
}

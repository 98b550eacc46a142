/*
 * hand_speed.c - speeds of hands: what a class's hand passes, divided by time and by the memory of
 * its live objects.
 *
 * To what was counted a guess is added, as if all hands took equally long for a round: for one page
 * of the class at most, and less where keys do not return (guess_of). Without it small classes,
 * from which hardly anything is evicted yet, would give their pages as soon as memory is full, and
 * keys that return after their ghosts are gone would count for nothing. Two speeds are compared as
 * they will be after a page has moved. Otherwise a class with two pages and one with one would
 * exchange a page for ever.
 *
 * A hand's speed counts requests:
 * - items evicted because memory was needed. Not those evicted to empty a page, which would make a
 *   class that gives pages look as if it needed some. An item that the CLOCK hand evicts counts
 *   PASSED_KEPT times, an item on probation once, so that keys read once get little memory;
 * - objects whose reference bit the hand clears, and keys that return while their ghost is kept.
 *   Each counts PASSED_USED times, so that a class of hot items that are never written keeps its
 *   pages.
 */
#include "hand_speed.h"

#define FIXED_SHIFT      26u
#define PAGE_PARTS_SHIFT 4u
/* Count and time are halved once the hand has passed SPEED_PASSED for each live object, or all
 * memory was evicted SPEED_ROUNDS times. Over shorter times chance would move pages, since small
 * objects live long. */
#define SPEED_PASSED (4 * PASSED_KEPT)
#define SPEED_ROUNDS 4u
/* The guess: passes of a hand for each object of one page while all memory is evicted once. They
 * are added to those counted, which outweigh them in a class of many pages. */
#define GUESS 64u
/* The guess is lower if fewer than 1/GUESS_BACK of the evicted keys return while their ghost is
 * kept. The first GUESS_FEW evictions do not lower it. */
#define GUESS_BACK 16u
#define GUESS_FEW  64u
/* The guess is 0 for a class that was idle while 1/GUESS_PARTS of all memory was evicted. */
#define GUESS_PARTS 1u
/* The guess is also 0 until 1/GUESS_AFTER of all memory was evicted since the hand's count began.
 * Where pins stop evictions, pages are spared while slab_age hardly advances; a guess over a long
 * time would make the classes with spared pages look slow. */
#define GUESS_AFTER 4u

/* Returns the objects that the class has in use. At least a page: a class that gave most of its
 * pages has few, or none. */
static uint32_t
class_live(const struct slab_class *c)
{
	const uint32_t owned = c->per_page * slab_class_pages(c);
	const uint32_t waiting = slab_class_waiting(c) + slab_class_pinned(c);

	return owned > waiting + c->per_page ? owned - waiting : c->per_page;
}

/* Returns for how long, in slab_age, the class's hand has been counted. */
static uint32_t
class_span(const struct slab *sl, const struct slab_class *c)
{
	return slab_age(sl) - atomic_load_explicit(&c->passed_since, memory_order_relaxed);
}

bool
hand_class_is_idle(const struct slab *sl, const struct slab_class *c, uint32_t parts)
{
	return !slab_age_within(sl, atomic_load_explicit(&c->allocated_at, memory_order_relaxed),
				parts) &&
	       !slab_age_within(sl, atomic_load_explicit(&c->spared_at, memory_order_relaxed),
				parts);
}

/* The guess: how many objects the hand passed, and in which time (slab_age). */
struct guess {
	uint64_t passed;
	uint32_t span;
};

static struct guess
guess_of(const struct slab *sl, const struct slab_class *c)
{
	const struct evictions *e = &c->evictions;
	const uint64_t left = GUESS_FEW + evictions_counted(&e->of_new.evicted) +
			      evictions_counted(&e->of_kept.evicted);
	const uint64_t back = GUESS_FEW + GUESS_BACK * (evictions_counted(&e->of_new.returned) +
							evictions_counted(&e->of_kept.returned));
	const uint64_t whole = sl->arena->page_count * AGE_PAGE;

	if (class_span(sl, c) <= whole / GUESS_AFTER)
		return (struct guess){.passed = 0, .span = 0};
	return (struct guess){.passed = hand_class_is_idle(sl, c, GUESS_PARTS)
						? 0
						: GUESS * (uint64_t)c->per_page *
							  (back < left ? back : left) / left,
			      .span = (uint32_t)(whole * c->per_page / class_live(c))};
}

/* Returns what a class's hand passed, divided by time and by the memory of its live objects; fixed
 * point. */
static uint64_t
passed_by(const struct slab *sl, const struct slab_class *c, uint64_t passed, uint32_t span)
{
	const uint64_t bytes = (uint64_t)class_live(c) * c->size;
	const uint64_t parts = (bytes << PAGE_PARTS_SHIFT >> sl->arena->page_shift) + 1;

	passed += atomic_load_explicit(&c->passed, memory_order_relaxed);
	return (passed << FIXED_SHIFT) / (class_span(sl, c) + span) / parts;
}

uint64_t
hand_speed(const struct slab *sl, const struct slab_class *c)
{
	const struct guess g = guess_of(sl, c);

	return slab_class_pages(c) == 0 ? 0 : passed_by(sl, c, g.passed, g.span + 1);
}

uint64_t
hand_speed_counted(const struct slab *sl, const struct slab_class *c)
{
	return passed_by(sl, c, 0, 1);
}

/* Makes passes of long ago count less. */
void
hand_speeds_forget_half(struct slab *sl)
{
	const uint32_t most = SPEED_ROUNDS * sl->arena->page_count * AGE_PAGE;

	for (uint32_t i = 0; i < sl->class_count; i++) {
		struct slab_class *c = &sl->classes[i];
		const uint32_t n = atomic_load_explicit(&c->passed, memory_order_relaxed);
		const uint32_t span = class_span(sl, c);

		if (n < SPEED_PASSED * class_live(c) && span < most)
			continue;
		atomic_fetch_sub_explicit(&c->passed, n - n / 2, memory_order_relaxed);
		atomic_fetch_add_explicit(&c->passed_since, (span + 1) / 2, memory_order_relaxed);
	}
}

/*
 * hand_speed.c - what a class's hand passes, by time and by the memory of what is live.
 *
 * A hand also has a speed by the size of its objects alone, as if all hands took equally long for a
 * round: of a page at most, and less where keys do not return (guess_of). Otherwise small classes,
 * of which hardly anything is evicted yet, give their pages when memory is full first, and keys
 * that return later than ghosts live count for nothing. Two speeds are compared as they will be
 * once the page has moved: otherwise a class with two pages and one with one would exchange it for
 * ever.
 *
 * A hand's speed counts requests:
 * - items evicted for want of memory, but not those evicted to empty a page: otherwise a class that
 *   gives pages would look as if it needed some. An item that the CLOCK hand evicts counts
 *   PASSED_KEPT times, an item on probation once: keys read once get little memory;
 * - objects whose reference bit the hand clears, and keys that return while their ghost is kept.
 *   Each counts PASSED_USED times: so a class of hot items that is never written keeps its pages.
 */
#include "hand_speed.h"

#define FIXED_SHIFT      26u
#define PAGE_PARTS_SHIFT 4u
/* Count and time of a speed are halved once the hand has passed SPEED_PASSED for each live object,
 * or all memory was evicted SPEED_ROUNDS times. Shorter times would let chance move pages: small
 * objects live long. */
#define SPEED_PASSED (4 * PASSED_KEPT)
#define SPEED_ROUNDS 4u
/* Assumed passes of a hand for each object of a page while all memory is evicted once, in addition
 * to those counted in this time. The counted ones dominate in a larger class. */
#define GUESS 64u
/* The guess is lower where fewer than one in GUESS_BACK evicted keys return while their ghost is
 * kept; the first GUESS_FEW evictions do not lower it. */
#define GUESS_BACK 16u
#define GUESS_FEW  64u
/* The guess is 0 for a class that was idle while this part of all memory was evicted. */
#define GUESS_PARTS 1u
/* The guess is 0, too, until this part of all memory was evicted since the hand is counted: where
 * pins stop evictions pages are spared while hardly any time passes, and a guess of much time and
 * few objects would make the classes whose pages are spared look slow. */
#define GUESS_AFTER 4u

/* Objects that the class has in use. At least a page: a class that gave most of its pages has few,
 * or none. */
static uint32_t
class_live(const struct slab_class *c)
{
	const uint32_t owned = c->per_page * slab_class_pages(c);
	const uint32_t waiting = slab_class_waiting(c) + slab_class_pinned(c);

	return owned > waiting + c->per_page ? owned - waiting : c->per_page;
}

/* For how long its hand has been counted, in slab_age. */
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

/* The assumed number of objects passed, and the time for it. */
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

/* Passes of long ago count less. */
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

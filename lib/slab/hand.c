/*
 * hand.c - hands over the states of a class's objects.
 *
 * CLOCK's hand (Corbato 1968) moves over the states of objects, not over a list of objects.
 */
#include "hand.h"
#include "eviction.h"

/* Words of a stretch, which is a cache line of states. */
#define STRETCH_WORDS (CACHE_LINE_BYTES / (uint32_t)sizeof(uint64_t))

static _Atomic uint64_t *
state_word(const struct slab *sl, const struct page *p, uint32_t word)
{
	return &sl->states[(size_t)(p - sl->pages) * sl->stride + word];
}

uint64_t
hand_states(const struct slab *sl, const struct page *p, uint32_t word)
{
	/* Acquire: pairs with the release in slab_set_live. */
	return atomic_load_explicit(state_word(sl, p, word), memory_order_acquire);
}

uint32_t
hand_list(const struct slab *sl, const struct page *p, uint32_t word, uint64_t bits, uint32_t *refs)
{
	const size_t start = (size_t)(p - sl->pages) << sl->arena->page_shift;
	const uint32_t size = sl->classes[p->class].size;
	uint32_t count = 0;

	for (; bits != 0; bits &= bits - 1) {
		const size_t n =
			word * OBJECTS_PER_WORD + (uint32_t)__builtin_ctzll(bits) / STATE_BITS;

		refs[count++] = arena_ref_of_offset(sl->arena, start + n * size);
	}
	return count;
}

uint32_t
slab_list_live(const struct slab *sl, const struct page *p, uint32_t word, uint32_t *refs)
{
	return hand_list(sl, p, word, states_in(hand_states(sl, p, word)), refs);
}

/* Tries while other objects of the word change. After that the word's reference bits stay set for
 * another round. */
#define PASS_TRIES_MAX 4u

/* A compare-and-exchange: an object that left the index or arrived since the word was read keeps
 * its state. */
uint64_t
hand_clear_used(struct slab *sl, const struct page *p, uint32_t word)
{
	uint64_t now = hand_states(sl, p, word);

	for (uint32_t tries = 0; tries < PASS_TRIES_MAX && states_used(now) != 0; tries++)
		if (atomic_compare_exchange_weak_explicit(
			    state_word(sl, p, word), &now, now & ~states_used(now),
			    memory_order_acquire, memory_order_acquire))
			break;
	return now;
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

/* Returns the page of a stretch; NULL: the stretch is done, or its page has left the class. */
static struct page *
stretch_page(const struct slab *sl, const struct slab_class *c, const struct stretch *s)
{
	struct page *p = &sl->pages[s->page];

	return s->word < s->end && &sl->classes[p->class] == c &&
			       atomic_load_explicit(&p->state, memory_order_relaxed) == PAGE_CLASS
		       ? p
		       : NULL;
}

/* Takes a stretch that begins at the hand's word, and moves that word on. True: the hand has
 * reached the end of the page. */
static bool
stretch_begin(const struct slab *sl, struct stretch *s, const struct page *p, uint32_t *word)
{
	const uint32_t words = slab_page_words(p), next = *word + STRETCH_WORDS;
	const bool ended = next >= words;

	*s = (struct stretch){
		.page = (uint32_t)(p - sl->pages), .word = *word, .end = ended ? words : next};
	*word = ended ? 0 : next;
	return ended;
}

struct page *
hand_clock_page(struct slab *sl, struct slab_class *c, struct stretch *s)
{
	struct page *p = stretch_page(sl, c, s);

	if (p != NULL || list_empty(&c->pages))
		return p;
	p = container_of(c->pages.next, struct page, of_class);
	if (stretch_begin(sl, s, p, &c->hand_word)) {
		list_unlink(&p->of_class);
		slab_page_hand_passed(sl, c, p);
		list_push_back(&c->pages, &p->of_class);
	}
	return p;
}

/* Begins a new stamp. Reference bits were cleared, so a use must set them again (slab_states.h). If
 * two hands do this at once they may make one step together, which is enough. */
static void
reference_stamp_step(struct slab *sl)
{
	const uint32_t now = slab_reference_stamp(sl) >> SLAB_STAMP_SHIFT;

	atomic_store_explicit(&sl->reference_stamp, (now % SLAB_STAMP_MAX + 1) << SLAB_STAMP_SHIFT,
			      memory_order_relaxed);
}

uint64_t
hand_round(const struct slab_class *c)
{
	const uint32_t page = (c->per_page + OBJECTS_PER_LOOK - 1) / OBJECTS_PER_LOOK;

	return (uint64_t)page * slab_class_pages(c);
}

void
hand_passed(struct slab *sl, struct slab_class *c, uint32_t looks, uint32_t used)
{
	if (used != 0)
		atomic_fetch_add_explicit(&c->passed, PASSED_USED * used, memory_order_relaxed);
	c->stamp_looks += looks;
	if ((uint64_t)c->stamp_looks * REFERENCE_STAMPS_A_ROUND < hand_round(c))
		return;
	c->stamp_looks = 0;
	reference_stamp_step(sl);
}

uint32_t
hand_looks_max(const struct slab_class *c)
{
	return hand_round(c) < HAND_LOOKS_MAX ? (uint32_t)hand_round(c) : HAND_LOOKS_MAX;
}

/* Returns the objects of a word that hand_clock lists: those that are not USED, or with `any` all
 * live ones. */
static uint64_t
victims(uint64_t states, bool takes_new, bool any)
{
	const uint64_t unused = states_in(states) & ~states_used(states);

	return any ? states_in(states) : takes_new ? unused : states_kept(states);
}

/* After this many looks without a victim a call takes any live object. */
#define ANY_AFTER (HAND_LOOKS_MAX / 2)

uint32_t
hand_clock(struct slab *sl, struct magazine *mags, uint32_t class, bool takes_new, uint32_t *refs,
	   uint32_t max)
{
	struct slab_class *c = &sl->classes[class];
	struct stretch *s = &mags[class].clock_stretch;
	uint32_t count = 0, used = 0, look = 0;

	spin_lock(&c->lock);

	const uint32_t looks = hand_looks_max(c);

	for (; look < looks && count < max; look++) {
		const bool any = look > ANY_AFTER && count == 0;
		const struct page *p = hand_clock_page(sl, c, s);

		if (p == NULL)
			break;
		for (uint32_t i = 0; i < WORDS_PER_LOOK && s->word < s->end; i++, s->word++) {
			const uint64_t states = hand_clear_used(sl, p, s->word);

			used += (uint32_t)__builtin_popcountll(states_used(states));
			count += hand_list(sl, p, s->word, victims(states, takes_new, any),
					   refs + count);
		}
	}
	hand_passed(sl, c, look, used);
	spin_unlock(&c->lock);
	return count;
}

/* ---- the pages of both hands ---- */

void
slab_page_comes(struct slab *sl, struct slab_class *c, struct page *p)
{
	slab_page_hand_passed(sl, c, p);
	list_push_back(&c->pages, &p->of_class);
	list_push_back(&c->new_pages, &p->of_new);
	if (sl->policy->grown != NULL)
		sl->policy->grown(c);
}

void
slab_page_goes(struct slab_class *c, struct page *p)
{
	if (c->pages.next == &p->of_class)
		c->hand_word = 0;
	if (c->new_pages.next == &p->of_new)
		c->new_word = 0;
	slab_due_page_goes(c, p);
	list_unlink(&p->of_new);
}

struct page *
hand_new_page(const struct slab *sl, struct slab_class *c, struct stretch *s)
{
	struct page *p = stretch_page(sl, c, s);

	if (p != NULL || list_empty(&c->new_pages))
		return p;
	p = container_of(c->new_pages.next, struct page, of_new);
	if (stretch_begin(sl, s, p, &c->new_word)) {
		list_unlink(&p->of_new);
		list_push_back(&c->new_pages, &p->of_new);
	}
	return p;
}

/* ---- the states of a page ---- */

struct page_load
slab_page_load(const struct slab *sl, const struct page *p)
{
	struct page_load load = {0, 0};

	for (uint32_t w = 0; w < slab_page_words(p); w++) {
		const uint64_t states = hand_states(sl, p, w);

		load.live += (uint32_t)__builtin_popcountll(states_in(states));
		load.used += (uint32_t)__builtin_popcountll(states_used(states));
	}
	return load;
}

void
slab_page_clear_referenced(struct slab *sl, const struct page *p)
{
	for (uint32_t w = 0; w < slab_page_words(p); w++)
		hand_clear_used(sl, p, w);
	reference_stamp_step(sl);
}

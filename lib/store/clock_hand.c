/*
 * clock_hand.c - the CLOCK hand of a class, and the live objects of a page being evacuated.
 *
 * CLOCK (Corbato 1968) runs over the states of objects; a look reads 64 of them. Each core works on
 * a stretch of its own, a cache line of states, before it takes the next one: the states that it
 * changes, as it evicts and as it stores into what it evicted, are in no other core's stretch. The
 * hand only names candidates: evict.c takes each out of the index under its bucket locks, if the
 * index still holds that very reference. A candidate was live in this core's turn, so it is
 * readable until the turn ends.
 */
#include "slab_pages.h"

/* Looks of a hand while it has the lock. If the first half of them has found no object with a clear
 * reference bit, any live object is a candidate (slab_clock_hand). */
#define HAND_LOOKS_MAX 512u
/* Words of a stretch: a cache line of states. */
#define STRETCH_WORDS (CACHE_LINE_BYTES / (uint32_t)sizeof(uint64_t))

static _Atomic uint64_t *
state_word(const struct slab *sl, const struct page *p, uint32_t word)
{
	return &sl->states[(size_t)(p - sl->pages) * sl->stride + word];
}

static uint64_t
page_states(const struct slab *sl, const struct page *p, uint32_t word)
{
	/* Acquire: pairs with the release in slab_set_live. */
	return atomic_load_explicit(state_word(sl, p, word), memory_order_acquire);
}

static uint32_t
page_words(const struct page *p)
{
	return (p->objects + OBJECTS_PER_WORD - 1) / OBJECTS_PER_WORD;
}

/* List the objects of a word whose lower state bits are set in bits. */
static uint32_t
list_word(const struct slab *sl, const struct page *p, uint32_t word, uint64_t bits, uint32_t *refs)
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
	return list_word(sl, p, word, states_in(page_states(sl, p, word)), refs);
}

/* Tries while objects of the word change; then its reference bits stay set for another round. */
#define PASS_TRIES_MAX 4u

/* Clear the reference bits of a word. Returns the states as they were. By compare-and-exchange: an
 * object that left the index, or came, since the word was read keeps its state. */
static uint64_t
pass_word(struct slab *sl, const struct page *p, uint32_t word)
{
	uint64_t now = page_states(sl, p, word);

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

/* The page of a stretch; NULL: none of it is left, or the page is not the class's any more. */
static struct page *
stretch_page(const struct slab *sl, const struct slab_class *c, const struct stretch *s)
{
	struct page *p = &sl->pages[s->page];

	return s->word < s->end && &sl->classes[p->class] == c &&
			       atomic_load_explicit(&p->state, memory_order_relaxed) == PAGE_CLASS
		       ? p
		       : NULL;
}

/* A stretch from a hand's word on. True: the hand has come to the end of the page. */
static bool
stretch_begin(const struct slab *sl, struct stretch *s, const struct page *p, uint32_t *word)
{
	const uint32_t words = page_words(p), next = *word + STRETCH_WORDS;
	const bool ended = next >= words;

	*s = (struct stretch){
		.page = (uint32_t)(p - sl->pages), .word = *word, .end = ended ? words : next};
	*word = ended ? 0 : next;
	return ended;
}

/* The page that this core's CLOCK hand is on; NULL: the class has none. */
static struct page *
clock_page(struct slab *sl, struct slab_class *c, struct stretch *s)
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

/* Reference bits were cleared: from now on a use sets them again (slab_states.h). Two hands at once
 * may make one step, which serves both. */
static void
reference_stamp_step(struct slab *sl)
{
	const uint32_t now = slab_reference_stamp(sl) >> ITEM_REFERENCE_STAMP_SHIFT;

	atomic_store_explicit(&sl->reference_stamp,
			      (now % ITEM_REFERENCE_STAMP_MAX + 1) << ITEM_REFERENCE_STAMP_SHIFT,
			      memory_order_relaxed);
}

/* Looks of the hand in a round. */
static uint64_t
class_looks(const struct slab_class *c)
{
	const uint32_t page = (c->per_page + OBJECTS_PER_LOOK - 1) / OBJECTS_PER_LOOK;

	return (uint64_t)page * slab_class_pages(c);
}

/* Counts looks of the hand, under the class's lock. */
static void
hand_passed(struct slab *sl, struct slab_class *c, uint32_t looks)
{
	c->stamp_looks += looks;
	if ((uint64_t)c->stamp_looks * REFERENCE_STAMPS_A_ROUND < class_looks(c))
		return;
	c->stamp_looks = 0;
	reference_stamp_step(sl);
}

/* Looks of one call: a round at most, or objects whose bit was set would have no second chance. */
static uint32_t
looks_max(const struct slab_class *c)
{
	return class_looks(c) < HAND_LOOKS_MAX ? (uint32_t)class_looks(c) : HAND_LOOKS_MAX;
}

/* Makes one look: lists the live objects whose reference bit was clear (all live ones if any), and
 * adds the number of the others to *used. */
static uint32_t
look_under_hand(struct slab *sl, const struct page *p, struct stretch *s, bool any, uint32_t *refs,
		uint32_t *used)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < WORDS_PER_LOOK && s->word < s->end; i++, s->word++) {
		const uint64_t states = pass_word(sl, p, s->word);

		*used += (uint32_t)__builtin_popcountll(states_used(states));
		count += list_word(sl, p, s->word, any ? states_in(states) : states_kept(states),
				   refs + count);
	}
	return count;
}

uint32_t
slab_clock_hand(struct slab *sl, struct magazine *mags, uint32_t class, uint32_t *refs,
		uint32_t max)
{
	struct slab_class *c = &sl->classes[class];
	struct stretch *s = &mags[class].clock_stretch;
	uint32_t count = 0, used = 0, look = 0;

	spin_lock(&c->lock);

	const uint32_t looks = looks_max(c);

	for (; look < looks && count < max; look++) {
		const bool any = look > HAND_LOOKS_MAX / 2 && count == 0;
		const struct page *p = clock_page(sl, c, s);

		if (p == NULL)
			break;
		count += look_under_hand(sl, p, s, any, refs + count, &used);
	}
	hand_passed(sl, c, look);
	spin_unlock(&c->lock);
	if (used != 0)
		atomic_fetch_add_explicit(&c->passed, PASSED_USED * used, memory_order_relaxed);
	return count;
}

/* ---- the hand of new objects ---- */

void
slab_page_comes(struct slab *sl, struct slab_class *c, struct page *p)
{
	slab_page_hand_passed(sl, c, p);
	list_push_back(&c->pages, &p->of_class);
	list_push_back(&c->new_pages, &p->of_new);
	/* The first round over a page is free, and evicts nothing: otherwise the CLOCK hand would
	 * evict in its place. */
	c->probation.credit += c->per_page;
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

/* The page that this core's hand of new objects is on; NULL: the class has none. */
static struct page *
new_page(const struct slab *sl, struct slab_class *c, struct stretch *s)
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

/* Objects that a look from a word on passes. */
static uint32_t
look_objects(const struct page *p, uint32_t word)
{
	const uint32_t left = p->objects - word * OBJECTS_PER_WORD;

	return left < OBJECTS_PER_LOOK ? left : OBJECTS_PER_LOOK;
}

/* Makes one look: lists the objects still on probation, which no use has ended. */
static uint32_t
look_at_new(const struct slab *sl, const struct page *p, struct stretch *s, uint32_t *refs)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < WORDS_PER_LOOK && s->word < s->end; i++, s->word++)
		count += list_word(sl, p, s->word, states_new(page_states(sl, p, s->word)),
				   refs + count);
	return count;
}

/* Probation lasts a round of this hand, so the hand's pace is a number of objects passed for each
 * object evicted. The credit is of objects it may still pass: one round at most. */
uint32_t
slab_new_hand(struct slab *sl, struct magazine *mags, uint32_t class, uint32_t *refs, uint32_t max)
{
	struct slab_class *c = &sl->classes[class];
	struct stretch *s = &mags[class].new_stretch;
	struct probation *pr = &c->probation;
	uint32_t count = 0, looks = 0;

	if (!sl->probation)
		return 0;
	spin_lock(&c->lock);

	const uint32_t objects = c->per_page * slab_class_pages(c), was = slab_probation_step(c);
	const uint32_t step = probation_consider(pr, &sl->asked->class[class], was, objects);
	uint32_t kept_step = step;

	asked_resize(sl->asked, class, objects);
	if (sl->asked->class[class].longest != 0)
		kept_step |= PROBATION_ASKED;
	if (unlikely(kept_step != atomic_load_explicit(&c->probation_step, memory_order_relaxed)))
		atomic_store_explicit(&c->probation_step, kept_step, memory_order_relaxed);
	pr->credit += max * probation_pace(step);
	if (pr->credit > objects)
		pr->credit = objects;
	for (; count < max && looks < HAND_LOOKS_MAX; looks++) {
		const struct page *p = new_page(sl, c, s);

		if (p == NULL || pr->credit < look_objects(p, s->word))
			break;
		pr->credit -= look_objects(p, s->word);
		count += look_at_new(sl, p, s, refs + count);
	}
	spin_unlock(&c->lock);
	return count;
}

/* ---- pages ---- */

struct page_load
slab_page_load(const struct slab *sl, const struct page *p)
{
	struct page_load load = {0, 0};

	for (uint32_t w = 0; w < page_words(p); w++) {
		const uint64_t states = page_states(sl, p, w);

		load.live += (uint32_t)__builtin_popcountll(states_in(states));
		load.used += (uint32_t)__builtin_popcountll(states_used(states));
	}
	return load;
}

void
slab_page_clear_referenced(struct slab *sl, const struct page *p)
{
	for (uint32_t w = 0; w < page_words(p); w++)
		pass_word(sl, p, w);
	reference_stamp_step(sl);
}

/* The number of an object in its page. */
static uint32_t
object_number(const struct slab *sl, const struct page *p, uint32_t ref)
{
	uint32_t shift;
	const _Atomic uint64_t *word = slab_state_word(sl, ref, &shift);

	return (uint32_t)(word - state_word(sl, p, 0)) * OBJECTS_PER_WORD + shift / STATE_BITS;
}

/* Returns how many of these objects fit into the slice together, one at least. */
static uint32_t
objects_for(const struct slab *sl, const uint32_t *refs, uint32_t count,
	    const struct evacuation_slice *slice)
{
	uint32_t n = 0, cost = 0;

	while (n < count && n < slice->objects) {
		cost += slice->cost(sl, refs[n]);
		if (n != 0 && cost > slice->work)
			break;
		n++;
	}
	return n;
}

/* Live objects of the page, *count of them. Returns the number of the one that follows them. */
static uint32_t
list_live_from(const struct slab *sl, const struct page *p, const struct evacuation_slice *slice,
	       uint32_t *refs, uint32_t *count)
{
	const uint32_t words = page_words(p);
	uint64_t passed = p->evacuate_next % OBJECTS_PER_WORD * STATE_BITS;
	uint32_t found = 0, w = p->evacuate_next / OBJECTS_PER_WORD;

	for (; w < words && found < slice->objects; w++, passed = 0)
		found +=
			list_word(sl, p, w, states_in(page_states(sl, p, w)) & UINT64_MAX << passed,
				  refs + found);
	*count = objects_for(sl, refs, found, slice);
	return *count == found ? w * OBJECTS_PER_WORD : object_number(sl, p, refs[*count]);
}

uint32_t
slab_evacuate_live(struct slab *sl, uint32_t *refs, const struct evacuation_slice *slice,
		   uint32_t epoch)
{
	uint32_t count = 0;

	spin_lock(&sl->pool_lock);
	if (!list_empty(&sl->evacuating)) {
		struct list *front = sl->evacuating.next;
		struct page *p = container_of(front, struct page, of_class);

		p->evacuate_next = list_live_from(sl, p, slice, refs, &count);
		p->busy += count != 0;
		p->walk_found |= count != 0;
		/* All words are walked: the objects left wait for readers, a fill, or free objects
		 * elsewhere. The next page follows. */
		if (p->evacuate_next >= p->objects) {
			p->evacuate_next = 0;
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

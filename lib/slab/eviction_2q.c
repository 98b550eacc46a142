/*
 * eviction_2q.c - the policy 2q: a hand for new objects, CLOCK's hand for the others, and ghosts of
 * what both evicted.
 *
 * probation.h decides how long probation is, ghost.h remembers evicted keys, asked.h samples reads
 * of such keys.
 */
#include "eviction.h"
#include "hand.h"

static enum object_state
insert_2q(const struct slab_class *c, uint64_t hash)
{
	if (likely(!probation_skips(slab_probation_step(c), hash)))
		return OBJECT_NEW;
	return slab_probation_is_asked(c) ? OBJECT_USED : OBJECT_KEPT;
}

/* A ghost of probation shows that the key was evicted too early, so its new object is not on
 * probation. */
static enum object_state
returned(enum ghost ghost)
{
	return ghost == GHOST_OF_NEW ? OBJECT_KEPT : OBJECT_OUT;
}

/* ---- the hand of new objects ---- */

/* The hand passes a new page once without evicting anything. Without that credit CLOCK's hand would
 * evict instead. */
static void
grown(struct slab_class *c)
{
	c->probation.credit += c->per_page;
}

/* Returns how many objects a look that begins at this word passes. */
static uint32_t
look_objects(const struct page *p, uint32_t word)
{
	const uint32_t left = p->objects - word * OBJECTS_PER_WORD;

	return left < OBJECTS_PER_LOOK ? left : OBJECTS_PER_LOOK;
}

/* Makes one look: lists the objects that are still on probation, since no use has ended it. */
static uint32_t
look_at_new(const struct slab *sl, const struct page *p, struct stretch *s, uint32_t *refs)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < WORDS_PER_LOOK && s->word < s->end; i++, s->word++)
		count += hand_list(sl, p, s->word, states_new(hand_states(sl, p, s->word)),
				   refs + count);
	return count;
}

/* Returns the step of probation that is valid from now on. */
static uint32_t
step_now(struct slab *sl, uint32_t class, uint32_t objects)
{
	struct slab_class *c = &sl->classes[class];
	struct asked_class *asked = &sl->asked->class[class];
	const uint32_t step = probation_consider(&c->probation, &c->evictions, asked,
						 slab_probation_step(c), objects);
	uint32_t kept_step = step;

	asked_resize(sl->asked, class, objects);
	if (asked->longest != 0)
		kept_step |= PROBATION_ASKED;
	if (unlikely(kept_step != atomic_load_explicit(&c->probation_step, memory_order_relaxed)))
		atomic_store_explicit(&c->probation_step, kept_step, memory_order_relaxed);
	return step;
}

/* Lists NEW objects. Probation lasts a round of this hand, so its length is set by how many
 * objects the hand passes for each object evicted. credit: objects that it may still pass, at
 * most a round. */
static uint32_t
choose_new(struct slab *sl, struct magazine *mags, uint32_t class, uint32_t *refs, uint32_t max)
{
	struct slab_class *c = &sl->classes[class];
	struct stretch *s = &mags[class].new_stretch;
	struct probation *pr = &c->probation;
	uint32_t count = 0, looks = 0;

	spin_lock(&c->lock);

	const uint32_t objects = c->per_page * slab_class_pages(c);

	pr->credit += max * probation_pace(step_now(sl, class, objects));
	if (pr->credit > objects)
		pr->credit = objects;
	for (; count < max && looks < HAND_LOOKS_MAX; looks++) {
		const struct page *p = hand_new_page(sl, c, s);

		if (p == NULL || pr->credit < look_objects(p, s->word))
			break;
		pr->credit -= look_objects(p, s->word);
		count += look_at_new(sl, p, s, refs + count);
	}
	spin_unlock(&c->lock);
	return count;
}

static uint32_t
choose_2q(struct slab *sl, struct magazine *mags, uint32_t class, uint32_t *refs, uint32_t max,
	  uint32_t *of_new)
{
	const uint32_t n = choose_new(sl, mags, class, refs, max);

	*of_new = n;
	return n < max ? n + hand_clock(sl, mags, class, false, refs + n, max - n) : n;
}

/* ---- the sample of keys ---- */

static void
evicted(struct slab *sl, uint32_t class, uint64_t hash, enum ghost kind)
{
	asked_note(sl->asked, class, hash, kind == GHOST_OF_KEPT);
}

static void
missed(struct slab *sl, uint64_t hash)
{
	asked_missed(sl->asked, hash);
}

static void
stored(struct slab *sl, uint64_t hash)
{
	asked_stored(sl->asked, hash);
}

const struct eviction_policy eviction_2q = {
	.name = "2q",
	.has_new = true,
	.has_ghosts = true,
	.insert = insert_2q,
	.returned = returned,
	.choose = choose_2q,
	.grown = grown,
	.evicted = evicted,
	.missed = missed,
	.stored = stored,
};

/*
 * mover.c - pages on their way from one class to another.
 *
 * A page is emptied object by object: whatever is in the index is forgotten, what is in a limbo,
 * a magazine or a fill comes home by itself. Plain items need no place in a limbo: they wait for
 * their readers with the page, as one, so that a page of some thousand small items is had in a
 * few turns.
 *
 * The page comes from the class whose hand goes round slowest, so whose items live longest; one
 * whose items are mostly in use has a second chance. For the reserve; and for balance, to go to
 * the class whose hand goes round fastest: else that would live on what it has for ever.
 */
#include "inside.h"

/* A page moves for balance once this many pages' worth of memory was evicted, and only to a class
 * whose hand goes round that many times as fast: or pages would go to and fro. */
#define BALANCE_PAGES 2u
#define BALANCE_RATIO 2u
#define FIXED_SHIFT   16u
#define LOOKS_MAX     8u /* pages in use that are passed over when one is needed */

bool
mover_pool_is_low(const struct slab *sl)
{
	return atomic_load_explicit(&sl->pool_count, memory_order_relaxed) <= sl->reserve;
}

static uint32_t
pages_coming(const struct slab *sl)
{
	return slab_draining(sl) + atomic_load_explicit(&sl->pool_count, memory_order_relaxed);
}

/* How often, lately, the hand of a class went round what the class owns; fixed point. */
static uint64_t
hand_speed(const struct slab_class *c)
{
	const uint64_t owned =
		(uint64_t)c->per_page * atomic_load_explicit(&c->page_count, memory_order_relaxed);
	const uint64_t evicted = atomic_load_explicit(&c->evicted, memory_order_relaxed);

	return owned != 0 ? (evicted << FIXED_SHIFT) / owned : 0;
}

static uint32_t
pages_of(const struct slab_class *c)
{
	return atomic_load_explicit(&c->page_count, memory_order_relaxed);
}

/* A last page stays where another class has more: who has none takes from the reserve. */
static bool
spares_sooner(const struct slab_class *a, const struct slab_class *b)
{
	if ((pages_of(a) > 1) != (pages_of(b) > 1))
		return pages_of(a) > 1;
	if (hand_speed(a) != hand_speed(b))
		return hand_speed(a) < hand_speed(b);
	return pages_of(a) > pages_of(b);
}

/* UINT32_MAX: none has a page. */
static uint32_t
slowest_class(const struct slab *sl)
{
	uint32_t slow = UINT32_MAX;

	for (uint32_t i = 0; i < sl->class_count; i++)
		if (pages_of(&sl->classes[i]) != 0 &&
		    (slow == UINT32_MAX || spares_sooner(&sl->classes[i], &sl->classes[slow])))
			slow = i;
	return slow;
}

static uint32_t
fastest_class(const struct slab *sl)
{
	uint32_t fast = 0;

	for (uint32_t i = 1; i < sl->class_count; i++)
		if (hand_speed(&sl->classes[i]) > hand_speed(&sl->classes[fast]))
			fast = i;
	return fast;
}

/* Start to empty a page: where items live long, or if all of those looked at are in use, where
 * they go soon anyhow. False: there is none. */
static bool
drain_another(struct slab *sl)
{
	const uint32_t slow = slowest_class(sl), fast = fastest_class(sl);

	if (slow == UINT32_MAX)
		return false;
	if (!slab_spare_page(sl, slow, LOOKS_MAX) && pages_of(&sl->classes[fast]) > 1)
		return slab_drain_start(sl, fast);
	return slab_drain_start(sl, slow);
}

/* Forget what is live on one page. How many objects that were. */
static uint32_t
drain_batch(struct store_core *sc)
{
	struct slab *sl = &sc->store->slab;
	uint32_t refs[DRAIN_BATCH + BITS_PER_WORD], gone[DRAIN_BATCH + BITS_PER_WORD];
	const uint32_t n = slab_drain_live(sl, refs, DRAIN_BATCH);
	uint32_t gone_count = 0, done = 0;

	for (uint32_t i = 0; i < n; i++) {
		const enum unlinked how = unlink_object(sc, refs[i], true);

		done += how != UNLINKED_NOT;
		if (how == UNLINKED_GONE)
			gone[gone_count++] = refs[i];
	}
	count(sc, STORE_EVICTED, done);
	/* As if its hand had come by: or a class whose pages go would look as if nothing did. */
	if (done != 0)
		atomic_fetch_add_explicit(&sl->classes[slab_class_of_ref(sl, refs[0])].evicted,
					  done, memory_order_relaxed);
	/* The epoch is read after the last of them left the index (epoch.h). */
	if (gone_count != 0)
		slab_drain_gone(sl, gone, gone_count, (uint32_t)epoch_now(&sc->store->epoch));
	return done;
}

void
mover_drain(struct store_core *sc, uint32_t slice, uint32_t pages)
{
	struct slab *sl = &sc->store->slab;

	for (uint32_t done = 0, idle = 0; done < slice && idle <= pages; done += DRAIN_BATCH) {
		if (pages_coming(sl) < pages && !drain_another(sl))
			return;
		/* A page all of whose objects are on their way: the next. */
		idle += drain_batch(sc) == 0;
	}
}

void
mover_turn(struct store_core *sc)
{
	struct store *st = sc->store;
	struct slab *sl = &st->slab;

	if (unlikely(atomic_load_explicit(&sl->emptied_count, memory_order_relaxed) != 0))
		slab_collect(sl, epoch_advance(&st->epoch), epoch_passed);
	/* The reserve is whole again before the next large value has come in; and what is being
	 * emptied for a value that waits, or for balance, becomes empty. */
	if (unlikely(atomic_load_explicit(&sl->pool_count, memory_order_relaxed) < sl->reserve ||
		     atomic_load_explicit(&sl->draining_count, memory_order_relaxed) >
			     atomic_load_explicit(&sl->emptied_count, memory_order_relaxed)))
		mover_drain(sc, DRAIN_SLICE, sl->reserve);
}

/* Halved, so that what was long ago counts less. */
static void
forget_half(struct slab *sl)
{
	for (uint32_t i = 0; i < sl->class_count; i++) {
		const uint32_t n =
			atomic_load_explicit(&sl->classes[i].evicted, memory_order_relaxed);

		atomic_fetch_sub_explicit(&sl->classes[i].evicted, n - n / 2, memory_order_relaxed);
	}
}

static void
move_page(struct slab *sl)
{
	const uint32_t slow = slowest_class(sl), fast = fastest_class(sl);

	if (slow == UINT32_MAX || slow == fast || pages_of(&sl->classes[slow]) < 2 ||
	    hand_speed(&sl->classes[fast]) <= BALANCE_RATIO * hand_speed(&sl->classes[slow]))
		return;
	if (slab_spare_page(sl, slow, 1) && slab_drain_start(sl, slow))
		sl->hungry = fast + 1;
}

void
mover_balance(struct store_core *sc)
{
	struct slab *sl = &sc->store->slab;
	uint64_t bytes = 0;

	if (!spin_try(&sl->balance_lock))
		return; /* another core is at it */
	if (sl->hungry != 0 && slab_grant(sl, sl->hungry - 1, sl->reserve))
		sl->hungry = 0;
	for (uint32_t i = 0; i < sl->class_count; i++)
		bytes += (uint64_t)sl->classes[i].size *
			 atomic_load_explicit(&sl->classes[i].evicted, memory_order_relaxed);
	/* Twice: half of what is counted was there at the last move. */
	if (bytes >> sl->arena->page_shift >= 2 * BALANCE_PAGES) {
		forget_half(sl);
		move_page(sl);
	}
	spin_unlock(&sl->balance_lock);
}

/*
 * rebalance.c - empties pages, and moves them between classes, in slices.
 *
 * balance.h chooses the pages. This file empties them, within limits of work for each turn.
 */
#include "rebalance.h"
#include "evacuate.h"
#include "expire.h"
#include "slab/balance.h"
#include "slab/class_merge.h"

/* A class is idle if it allocated nothing while 1/IDLE_PARTS of all memory was evicted. */
#define IDLE_PARTS 64u
uint32_t
rebalance_pool_keep(const struct store *st)
{
	const uint64_t held = atomic_load_explicit(&st->held, memory_order_relaxed);
	const uint32_t since = (uint32_t)(held >> 32);

	return st->slab.reserve +
	       ((uint32_t)epoch_now(&st->epoch) - since < HELD_EPOCHS ? (uint32_t)held : 0);
}

bool
rebalance_pool_is_low(const struct store *st)
{
	return slab_pool(&st->slab) <= rebalance_pool_keep(st);
}

/* Returns the pages in the pool or on their way to it, less those that a memory limit withholds.
 * Because of that subtraction, a lowered limit evacuates pages a few at a time, and counts those
 * that become free by themselves meanwhile. */
static uint32_t
pages_coming(const struct slab *sl)
{
	return slab_coming(sl) + slab_pool(sl);
}

void
rebalance_evacuate(struct store_core *sc, enum evacuation_for why, uint32_t pages)
{
	static const uint32_t most[EVACUATIONS] = {[EVACUATION_FOR_TURN] = EVACUATE_SLICE,
						   [EVACUATION_FOR_INDEX] = EVACUATE_FOR_INDEX,
						   [EVACUATION_FOR_SETS] = EVACUATE_FOR_SETS,
						   [EVACUATION_FOR_LARGE] = EVACUATE_FOR_LARGE};
	struct slab *sl = &sc->store->slab;
	uint32_t *work = &sc->evacuated[why];

	/* The writer that was extending a large item has given up. */
	if (unlikely(atomic_load_explicit(&sl->extended, memory_order_relaxed) != 0) &&
	    !store_is_extending(sc->store))
		slab_extend(sl, 0);
	for (uint32_t idle = 0; *work < most[why] && idle <= pages;) {
		/* A store that never evicts evacuates pages for the index only. */
		if (!sc->store->never_evict && pages_coming(sl) < pages) {
			if (!balance_evacuate(sl, work))
				return;
			*work += EVACUATE_CHOICE;
		}
		/* A batch moves nothing if all objects of its page are retired or must wait. The
		 * next batch takes another page. */
		idle += !evacuate_batch(sc, work, most[why], why > EVACUATION_FOR_INDEX);
	}
}

/* Counts the turns within one epoch. Many mean that some core has stopped turning: then evacuated
 * pages would not become free, and items that move would take the last free objects. */
static void
count_stalled(struct store_core *sc)
{
	uint32_t epoch;

	/* Without this call nothing might advance the epoch. */
	epoch_advance(&sc->store->epoch);
	epoch = (uint32_t)epoch_now(&sc->store->epoch);
	sc->stalled_turns = epoch == sc->stalled_epoch ? sc->stalled_turns + 1 : 0;
	sc->stalled_epoch = epoch;
}

/* Returns EVACUATION_FOR_INDEX, which does more work a turn, if the index waits for pages and the
 * pool has some. The sooner the index has its pages, the fewer sets find it full. */
static enum evacuation_for
turn_evacuates_for(const struct slab *sl)
{
	return slab_pool(sl) > sl->reserve && atomic_load_explicit(&sl->index_claimed_count,
								   memory_order_relaxed) != 0
		       ? EVACUATION_FOR_INDEX
		       : EVACUATION_FOR_TURN;
}

void
rebalance_turn(struct store_core *sc)
{
	struct store *st = sc->store;
	struct slab *sl = &st->slab;

	if (unlikely(atomic_load_explicit(&sl->evacuated_count, memory_order_relaxed) != 0))
		slab_collect(sl, epoch_advance(&st->epoch), epoch_passed);
	sc->evacuated[EVACUATION_FOR_TURN] = 0;
	/* The reserve must be complete before the next large value needs it. A page whose
	 * evacuation has begun is emptied in any case. */
	if (unlikely(slab_pool(sl) < sl->reserve ||
		     atomic_load_explicit(&sl->evacuating_count, memory_order_relaxed) >
			     atomic_load_explicit(&sl->evacuated_count, memory_order_relaxed))) {
		memset(sc->evacuated, 0, sizeof sc->evacuated);
		count_stalled(sc);
		if (!rebalance_is_stalled(sc))
			rebalance_evacuate(sc, turn_evacuates_for(sl), sl->reserve);
	}
}

/* Returns the class that should get a page meant for this one: itself, or one merged with it
 * (class_merge.h). */
static uint32_t
split(struct store *st, uint32_t class)
{
	struct store_class_usage usage;

	if (!atomic_load_explicit(&st->slab.merged, memory_order_relaxed))
		return class;
	store_class_usage_mt(st, class + 1, 0, &usage);
	return class_split(&st->slab, class, usage.items, usage.item_bytes);
}

/* Gives a page that was evacuated for balance_move_page() to the class that has the fastest hand
 * now. If another core has taken the page and no more are coming, notes that none is under way. */
static void
grant_page(struct store *st)
{
	struct slab *sl = &st->slab;
	uint32_t to = balance_recipient(sl);

	if (rebalance_pool_is_low(st)) {
		if (atomic_load_explicit(&sl->evacuating_count, memory_order_relaxed) == 0)
			sl->moving = 0;
		return;
	}
	if (to != UINT32_MAX)
		to = split(st, to);
	if (to == UINT32_MAX || slab_grant(sl, to, rebalance_pool_keep(st)))
		sl->moving--;
}

/* Evicts expired items of an idle class. It allocates nothing, so no set does that for it. The
 * pages so emptied go to other classes. */
static void
look_for_idle(struct store_core *sc)
{
	struct slab *sl = &sc->store->slab;

	for (uint32_t n = 0; n < sl->class_count; n++) {
		const struct slab_class *c = &sl->classes[sl->idle_class];

		if (slab_class_is_due(c, sc->now_s) &&
		    !slab_age_within(sl,
				     atomic_load_explicit(&c->allocated_at, memory_order_relaxed),
				     IDLE_PARTS)) {
			sc->idle_class = sl->idle_class;
			sc->idle_expiry = EXPIRY_IDLE;
			expire_idle(sc);
			return;
		}
		sl->idle_class = (sl->idle_class + 1) % sl->class_count;
	}
}

void
rebalance_step(struct store_core *sc)
{
	struct slab *sl = &sc->store->slab;
	const bool unmerge = class_unmerge_is_due(sl, rebalance_pool_keep(sc->store));

	if (sc->store->never_evict || (slab_is_settled(sl) && !unmerge) ||
	    !spin_try(&sl->balance_lock))
		return; /* nothing to do, or another core does it */

	const uint32_t age = slab_age(sl);

	if (sl->moving != 0)
		grant_page(sc->store);
	else if (unmerge)
		class_unmerge(sl);
	balance_forget(sl, age);
	if (age != sl->checked_at) {
		sl->checked_at = age;
		look_for_idle(sc);
		if (sl->moving < slab_moves_max(sl))
			balance_move_page(sl, age);
	}
	slab_settle(sl, sl->moving == 0);
	spin_unlock(&sl->balance_lock);
}

/*
 * store.c - a turn of the store: reclaims, evicts, evacuates, resizes and flushes what is due.
 */
#include "item_access.h"
#include "leaving.h"
#include "memory.h"
#include "pinned.h"
#include "rebalance.h"
#include "resize.h"
#include "retire_list.h"
#include "sweep.h"
#include "index/walk.h"

struct store_core *
store_core_of(struct store *store, uint32_t core)
{
	ensure(core < store->core_count);
	return &store->cores[core];
}

/* ---- once a turn ---- */

void
store_online(struct store_core *sc)
{
	epoch_online(&sc->store->epoch, sc->id);
	sc->online = true;
}

bool
store_has_retired(const struct store_core *sc)
{
	return retire_list_used(&sc->retire_list) != 0;
}

void
store_offline(struct store_core *sc)
{
	leaving_pause(sc);
	item_apply_referenced(sc);
	retire_list_reclaim(sc);
	retire_list_publish(sc);
	slab_empty_magazines(&sc->store->slab, sc->magazines);
	epoch_offline(&sc->store->epoch, sc->id);
	sc->online = false;
}

/* Gives back those objects in this core's magazines that are on evacuated pages: a few objects, of
 * those pages' classes. */
static void
give_back_evacuated(struct store_core *sc)
{
	struct slab *sl = &sc->store->slab;

	for (uint32_t i = 0; i < sl->class_count; i++) {
		/* Acquire: pairs with the release in slab_evacuate_page. */
		const uint32_t recall =
			atomic_load_explicit(&sl->classes[i].recall, memory_order_acquire);

		if (recall == sc->class_recall[i])
			continue;
		sc->class_recall[i] = recall;
		slab_answer_recall(sl, sc->magazines, i);
	}
}

/* Once a page is recalled, empties the core's magazines, some in each turn. A magazine of a class
 * in which nothing is stored holds objects that other cores lack. */
static void
answer_recall(struct store_core *sc)
{
	struct slab *sl = &sc->store->slab;
	/* Acquire: pairs with the release in slab_evacuate_page. */
	const uint32_t recall = atomic_load_explicit(&sl->recall, memory_order_acquire);

	if (likely(recall == sc->recall))
		return;
	if (recall != sc->recall_begun) {
		sc->recall_begun = recall;
		sc->recall_classes = sl->class_count;
		give_back_evacuated(sc);
	}
	for (uint32_t freed = 0; sc->recall_classes != 0 && freed < RECALL_SLICE;
	     sc->recall_classes--) {
		sc->recall_class = (sc->recall_class + 1) % sl->class_count;
		freed += slab_empty_magazine(sl, sc->magazines, sc->recall_class);
	}
	if (sc->recall_classes == 0)
		sc->recall = recall;
}

void
store_turn(struct store_core *sc, uint32_t now_s)
{
	struct store *st = sc->store;

	sc->now_s = now_s;
	sc->walk_step.of = NULL;
	item_apply_referenced(sc);
	slab_tick(&st->slab, now_s);
	if (likely(sc->online))
		epoch_quiescent(&st->epoch, sc->id);
	else
		store_online(sc);
	if (retire_list_used(&sc->retire_list) != 0) {
		retire_list_reclaim(sc);
		retire_list_publish(sc);
		memory_turn(sc);
	}
	if (unlikely(sc->pinned.count != 0))
		pinned_turn(sc);
	answer_recall(sc);
	rebalance_turn(sc);
	resize_turn(sc);
	sweep_turn(sc);
	/* Acquire: pairs with the release in flush_due. A core that sees no pending flush sees the
	 * new generation. */
	if (unlikely(atomic_load_explicit(&st->due_flush, memory_order_acquire) != 0))
		flush_due(sc);
}

void
store_housekeeping(struct store_core *sc)
{
	walks_expire(&sc->store->walks, sc->now_s);
	rebalance_step(sc);
	resize_consider(sc);
	sweep_slice(sc);
}

/*
 * store.c - each turn does what is due.
 */
#include "item_access.h"
#include "pinned.h"
#include "rebalance.h"
#include "resize.h"
#include "retire_list.h"
#include "sweep.h"

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

void
store_offline(struct store_core *sc)
{
	item_apply_referenced(sc);
	retire_list_reclaim(sc);
	retire_list_publish(sc);
	slab_empty_magazines(&sc->store->slab, sc->magazines);
	epoch_offline(&sc->store->epoch, sc->id);
	sc->online = false;
}

/* Empty this core's magazines once a page is being evacuated: they may hold objects of it. */
static void
answer_recall(struct store_core *sc)
{
	/* Acquire: pairs with the release in slab_evacuate_page. */
	const uint32_t recall = atomic_load_explicit(&sc->store->slab.recall, memory_order_acquire);

	if (likely(recall == sc->recall))
		return;
	sc->recall = recall;
	slab_empty_magazines(&sc->store->slab, sc->magazines);
}

void
store_turn(struct store_core *sc, uint32_t now_s)
{
	struct store *st = sc->store;

	sc->now_s = now_s;
	item_apply_referenced(sc);
	slab_tick(&st->slab, now_s);
	if (likely(sc->online))
		epoch_quiescent(&st->epoch, sc->id);
	else
		store_online(sc);
	retire_list_reclaim(sc);
	retire_list_publish(sc);
	if (unlikely(sc->pinned.count != 0))
		pinned_turn(sc);
	answer_recall(sc);
	rebalance_turn(sc);
	resize_turn(sc);
	sweep_turn(sc);
	if (unlikely(atomic_load_explicit(&st->due_flush, memory_order_relaxed) != 0))
		flush_due(sc);
}

void
store_housekeeping(struct store_core *sc)
{
	rebalance_step(sc);
	resize_consider(sc);
	sweep_slice(sc);
}

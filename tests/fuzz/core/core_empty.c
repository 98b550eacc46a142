#include "core_empty.h"

#include "store/sweep.h"

#define TURNS (4 + RETIRE_LIST_MAX / RETIRE_LIST_SLICE)

/* Flushes and runs two walks of the sweep, which keeps pace with the clock: one may have been
 * half done. */
static void
forget_all(struct store_core *sc)
{
	const uint32_t tidies = sweep_quota(sc->store) / SWEEP_SLICE_MIN + 1;
	const uint32_t end_s = sc->now_s + 2 * SWEEP_PASS_S + 2;

	store_flush(sc, sc->now_s);
	while (sc->now_s < end_s) {
		struct store_usage use;

		store_usage_mt(sc->store, &use);
		if (use.items + use.flushed == 0)
			break;
		for (uint32_t n = 0; n < tidies; n++)
			store_housekeeping(sc);
		store_turn(sc, sc->now_s + 1);
	}
}

bool
core_store_empties(struct store_core *sc)
{
	struct store *st = sc->store;

	forget_all(sc);
	for (uint32_t i = 0; i < TURNS; i++)
		store_turn(sc, sc->now_s);
	if (sc->retire_list.head != sc->retire_list.tail)
		return false;
	store_offline(sc);
	return atomic_load(&st->slab.pool_count) + atomic_load(&st->slab.index_pages) ==
	       st->arena.page_count;
}

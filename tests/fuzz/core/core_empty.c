#include "core_empty.h"

#include "store/inside.h"

#define TURNS (4 + LIMBO_MAX / LIMBO_SLICE)

/* Two walks: one may have been half done. */
static void
forget_all(struct store_core *sc)
{
	const uint32_t buckets = index_bucket_count(&sc->store->ix);

	store_flush(sc, sc->now_s);
	for (uint32_t n = 0; n < 2 * buckets; n += SWEEP_SLICE_MAX) {
		struct store_usage use;

		store_usage_mt(sc->store, &use);
		if (use.items == 0)
			break;
		store_tidy(sc);
	}
}

bool
core_store_empties(struct store_core *sc)
{
	struct store *st = sc->store;

	forget_all(sc);
	for (uint32_t i = 0; i < TURNS; i++)
		store_turn(sc, sc->now_s);
	if (sc->limbo.head != sc->limbo.tail)
		return false;
	store_offline(sc);
	return atomic_load(&st->slab.pool_count) == st->arena.page_count;
}

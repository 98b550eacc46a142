/*
 * index_owner.c - retires items that the index could neither move nor give a slot.
 */
#include "index_owner.h"
#include "retire_list.h"
#include "unlink.h"
#include "base/list.h"

static struct store_core *
core_of(struct index_core *ic)
{
	return container_of(ic, struct store_core, ic);
}

/* Takes an item out of the index that finds no slot. It counts as evicted, unless it is flushed. */
static void
drop_unplaced(struct store_core *sc, struct spot spot)
{
	const struct item *it = item_at(sc->store, bucket_ref(spot.bucket, spot.slot));

	count(sc, STORE_INDEX_EVICTED, !item_flushed(it, store_generation(sc->store)));
	unlink_spot(sc, spot, UNLINK_EVICTED);
}

static void
drop(struct index_core *ic, struct spot spot, enum index_drop why)
{
	struct store_core *sc = core_of(ic);

	switch (why) {
	case DROP_FLUSHED:
		unlink_spot(sc, spot, UNLINK_REQUESTED);
		break;
	case DROP_UNPLACED:
		drop_unplaced(sc, spot);
		break;
	case DROP_TOMBSTONE:
		unlink_tombstone(sc, spot.bucket, spot.slot);
		break;
	}
}

static bool
may_drop(struct index_core *ic, uint32_t items)
{
	return retire_list_has_space(core_of(ic), items);
}

void
index_owner_bind(struct store_core *sc)
{
	static const struct index_owner owner = {.drop = drop, .may_drop = may_drop};
	struct store *st = sc->store;

	sc->ic = (struct index_core){.ix = &st->ix,
				     .walks = &st->walks,
				     .owner = &owner,
				     .generation = &st->generation,
				     .oldest_generation = &st->oldest_generation,
				     .moves = &sc->counters[STORE_MOVES],
				     .migrated = &sc->counters[STORE_INDEX_MIGRATED],
				     .keeps_all = st->never_evict};
}

/*
 * store_snapshot.c - reads the live items of a store while other cores change it.
 *
 * A walk shows each key that stays cached once, with the version that a lookup finds (walk.c). So
 * each version in the snapshot was current at the moment of the step that showed it.
 *
 * The floors must be at least every cas that a key had until the end of the snapshot, also of
 * versions that are not in it. There are two cases:
 * - The removal of a key raises its floor before it clears the slot. If the walk did not find the
 *   key, it read the slot after that, so the floors, which are read at the end, cover its cas.
 * - A key that was written again after the walk had passed it has a cas that exceeds the noted one
 *   by at most the number of versions linked meanwhile. The floors are raised by that count.
 */
#include "image.h"
#include "store_saved.h"
#include "store/account.h"
#include "store/floors.h"
#include "store/introspect.h"
#include "store/item_access.h"

void
store_snapshot_begin(struct store_core *sc, struct store_snapshot *snap)
{
	*snap = (struct store_snapshot){
		.flushes = store_flushes(sc),
		.linked = store_sum(sc->store, STORE_ITEMS_LINKED),
	};
}

const struct item *
store_snapshot_next(struct store_core *sc, struct store_snapshot *snap)
{
	const struct item *it = NULL;

	if (store_walk(sc, &snap->cursor, STORE_ALL_CLASSES, &it, 1) == 0)
		it = NULL;
	/* A walk without a place may miss an item that moves past it. */
	snap->lost_place |= !snap->cursor.done && snap->cursor.owner == 0;
	if (it != NULL)
		store_floors_note(sc->store, snap->floors, it);
	return it;
}

void
store_snapshot_read(const struct store_core *sc, const struct item *it,
		    struct store_saved_item *saved)
{
	*saved = (struct store_saved_item){
		.key = item_key(it),
		.cas = item_cas(it),
		.value_len = item_value_len(it),
		.flags = item_flags(it),
		.expiry_s = item_expiry_s(it),
	};
	/* The status bits are read after the cas, so that a new cas is never saved with old bits
	 * (item_mark_stale). */
	saved->bits = store_saved_bits_of(sc->store, it);
}

static uint64_t
raised(uint64_t floor, uint64_t by)
{
	return floor < FLOOR_MAX && by < FLOOR_MAX ? floor + by : floor;
}

enum store_snapshot_end
store_snapshot_end(struct store_core *sc, struct store_snapshot *snap, uint64_t floors[FLOORS],
		   uint32_t *flush_due_s)
{
	struct store *st = sc->store;
	const bool lost = snap->lost_place || !snap->cursor.done;
	uint64_t linked;
	bool flushed;

	store_walk_end(sc, &snap->cursor);
	for (uint32_t i = 0; i < FLOORS; i++) {
		floors[i] = atomic_load_explicit(&st->floors[i], memory_order_relaxed);
		if (floors[i] < snap->floors[i])
			floors[i] = snap->floors[i];
	}
	linked = store_sum(st, STORE_ITEMS_LINKED) - snap->linked;
	for (uint32_t i = 0; i < FLOORS; i++)
		floors[i] = raised(floors[i], linked + STORE_SNAPSHOT_AHEAD);
	/* Under the flush lock a flush is either still pending or has begun its generation. */
	spin_lock(&st->flush_lock);
	*flush_due_s = store_flush_due_s(st);
	flushed = store_flushes(sc) != snap->flushes;
	spin_unlock(&st->flush_lock);
	if (flushed)
		return STORE_SNAPSHOT_FLUSHED;
	return lost ? STORE_SNAPSHOT_CROWDED : STORE_SNAPSHOT_WHOLE;
}

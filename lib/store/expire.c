/*
 * expire.c - a class that needs memory evicts expired items first.
 *
 * The expiry hand passes EXPIRY_PACE objects for each object that is wanted, and EXPIRY_WORTH more
 * for each expired one that it finds. So the hand continues as long as one object in EXPIRY_WORTH
 * has expired, and costs little where none has.
 */
#include "expire.h"
#include "item_access.h"
#include "unlink.h"

/* While one item is checked, the item this many objects ahead is prefetched. */
#define AHEAD 8u

/* Returns how many objects of the class an item frees. A value in chunks frees all of its
 * objects. */
static uint32_t
objects_left(const struct store *st, uint32_t class, const struct item *it)
{
	const uint32_t chunks = item_chunks(it);

	return unlikely(chunks != 0) && st->slab.classes[class].size == SLAB_OBJECT_MAX ? chunks
											: 1;
}

/* Evicts the expired items of these objects. If an item cannot leave now, its page keeps the note
 * that it is due. Returns how many objects are freed. */
static uint32_t
evict_expired(struct store_core *sc, uint32_t class, const uint32_t *refs, uint32_t n)
{
	struct store *st = sc->store;
	struct victim victims[VICTIMS_MAX];
	struct departures d = {.class = class};
	uint32_t done = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t left = n - i < VICTIMS_MAX ? n - i : VICTIMS_MAX;

		if (i % VICTIMS_MAX == 0)
			unlink_look(st, refs + i, left, victims);
		if (unlink_victim(sc, &victims[i % VICTIMS_MAX], false, GHOST_NONE, &d) ==
		    UNLINKED_NOT)
			slab_note_due(&st->slab, refs[i], sc->now_s);
		else
			done += objects_left(st, class, item_at(st, victims[i % VICTIMS_MAX].ref));
	}
	account_departures(sc, &d);
	return done;
}

/* Evicts the items that have expired. Notes on the pages when the remaining ones expire. */
static uint32_t
expire_objects(struct store_core *sc, uint32_t class, const uint32_t *refs, uint32_t n)
{
	struct store *st = sc->store;
	uint32_t expired[OBJECTS_PER_LOOK], count = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t at_s = item_expiry_s(item_at(st, item_of_object(st, refs[i])));

		if (i + AHEAD < n)
			prefetch(item_at(st, refs[i + AHEAD]));
		if (likely(at_s == 0))
			continue;
		if (at_s > sc->now_s)
			slab_note_due(&st->slab, refs[i], at_s);
		else
			expired[count++] = refs[i];
	}
	return evict_expired(sc, class, expired, count);
}

uint32_t
expire_for_memory(struct store_core *sc, uint32_t class, uint32_t want)
{
	struct slab *sl = &sc->store->slab;
	struct slab_class *c = &sl->classes[class];
	int32_t credit = atomic_load_explicit(&c->due_credit, memory_order_relaxed) +
			 (int32_t)(EXPIRY_PACE * want);
	uint32_t done = 0, objects = 0;

	for (uint32_t looks = 0;
	     looks < EXPIRY_LOOKS_MAX && objects < EXPIRY_OBJECTS_MAX && done < want && credit > 0;
	     looks++) {
		uint32_t refs[OBJECTS_PER_LOOK], passed;
		const uint32_t n = slab_due_hand(sl, class, sc->now_s, refs, &passed);
		const uint32_t found = expire_objects(sc, class, refs, n);

		if (passed == 0)
			credit = 0;
		done += found;
		objects += passed;
		credit += (int32_t)(EXPIRY_WORTH * found) - (int32_t)passed;
	}
	if (credit > (int32_t)(EXPIRY_WORTH * OBJECTS_PER_LOOK))
		credit = (int32_t)(EXPIRY_WORTH * OBJECTS_PER_LOOK);
	atomic_store_explicit(&c->due_credit, credit, memory_order_relaxed);
	return done;
}

void
expire_idle(struct store_core *sc)
{
	const uint32_t want =
		sc->idle_expiry < EXPIRY_IDLE_TURN ? sc->idle_expiry : EXPIRY_IDLE_TURN;
	const uint32_t done = expire_for_memory(sc, sc->idle_class, want);

	sc->idle_expiry = done < want ? 0 : sc->idle_expiry - want;
}

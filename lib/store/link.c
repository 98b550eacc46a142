#include "inside.h"

#define LINK_PATHS_MAX 8u /* chains of moves for one item, before a neighbour is forgotten */
#define LINK_LIMBO_MAX 8u /* items one link may retire */

enum step { STEP_DONE, STEP_REFUSED, STEP_CHANGED, STEP_CROWDED, STEP_WIDEN };

/* What the mode says about the version that is there; old is NULL if none is alive. */
static enum store_result
judge(const struct link *l, const struct item *old)
{
	switch (l->mode) {
	case STORE_ADD:
		return old != NULL ? STORE_NOT_STORED : STORE_OK;
	case STORE_REPLACE:
		return old == NULL ? STORE_NOT_STORED : STORE_OK;
	case STORE_CAS:
		if (old == NULL)
			return STORE_NOT_FOUND;
		return item_cas(old) != l->cas ? STORE_EXISTS : STORE_OK;
	default:
		return STORE_OK;
	}
}

/* Is the version that is there the one the new one was made from, or can be made from now? */
static bool
still_fits(struct store_core *sc, struct link *l, const struct item *old)
{
	if (l->rmw == NULL)
		return true;
	if (old == NULL)
		return false;
	if (l->mode == LINK_BUILD)
		return rmw_build(sc, l->rmw, old, l->item);
	if (!mutant_lost_update() && item_ref(sc->store, old) != l->expect)
		return false;
	/* A touch may have come in since: it writes under this lock. */
	if (l->rmw->op != RMW_TOUCH)
		item_set_expiry(l->item, item_expiry_s(old));
	return true;
}

/* Nothing is empty and nothing could be moved: forget one of the twenty, unused if possible. */
static struct spot
evict_neighbour(struct store_core *sc, const struct link *l, const struct place *p)
{
	struct store *st = sc->store;
	struct spot victim = {.bucket = NULL};

	for (uint32_t i = 0; i < 2 * BUCKET_SLOTS; i++) {
		const uint32_t slot = (uint32_t)((l->hash >> 7) + i) % BUCKET_SLOTS;
		struct bucket *b = index_bucket(&st->ix, i < BUCKET_SLOTS ? p->home : p->away);

		if (bucket_tag(b, slot) == 0)
			continue;
		if (victim.bucket == NULL || !slab_marked(&st->slab, bucket_ref(b, slot)))
			victim = (struct spot){.bucket = b, .slot = slot};
		if (!slab_marked(&st->slab, bucket_ref(b, slot)))
			break;
	}
	if (victim.bucket == NULL)
		return victim; /* twenty zombies: their memory must come home first */
	unlink_spot(sc, victim);
	count(sc, STORE_EVICTED, 1);
	count(sc, STORE_EVICTED_INDEX_FULL, 1);
	return index_spot_empty(&st->ix, p);
}

static uint64_t
next_cas(const struct store *st, const struct link *l, const struct place *p,
	 const struct item *there)
{
	if (there == NULL)
		return atomic_load_explicit(store_floor(st, p->tag), memory_order_relaxed) + 1;
	/* A touch changes no byte a client sees: the version stays. */
	return item_cas(there) + (l->rmw == NULL || l->rmw->op != RMW_TOUCH);
}

/* Under both locks: everything is decided, make it visible. */
static void
publish(struct store_core *sc, struct link *l, const struct place *p, struct spot spot,
	struct item *there)
{
	struct store *st = sc->store;
	struct item *it = l->item;
	const uint32_t generation = mutant_two_looks() ? store_generation(st) : l->generation;

	it->cas_form |= (generation & ITEM_FLUSH_MASK) << ITEM_FLUSH_SHIFT;
	count(sc, STORE_ITEMS_LINKED, 1);
	count(sc, STORE_BYTES_LINKED, item_memory(st, it));
	item_set_live(st, it);
	protocol_gap();
	index_put(&st->ix, p, spot, item_ref(st, it));
	if (there == NULL)
		return;
	count(sc, STORE_ITEMS_UNLINKED, 1);
	count(sc, STORE_BYTES_UNLINKED, item_memory(st, there));
	item_clear_live(st, there);
	limbo_put(sc, there);
}

static enum step
link_locked(struct store_core *sc, struct link *l, const struct place *p, bool force)
{
	struct store *st = sc->store;
	struct spot spot = index_spot_of_key(&st->ix, p, item_key(l->item));
	struct item *there = NULL;

	if (spot.bucket != NULL)
		there = item_at(st, bucket_ref(spot.bucket, spot.slot));

	/* Once: a flush that comes after this look must flush the new version as well, or one
	 * made from a flushed version would outlive it. */
	l->generation = store_generation(st);

	struct item *alive = there != NULL && !item_flushed(there, l->generation) &&
					     !item_expired(there, sc->now_s)
				     ? there
				     : NULL;

	protocol_gap();
	if (!still_fits(sc, l, alive))
		return STEP_CHANGED;
	l->result = judge(l, alive);
	if (l->result != STORE_OK) {
		if (alive != NULL)
			slab_mark(&st->slab, item_ref(st, alive));
		return STEP_REFUSED;
	}
	if (!item_set_cas(l->item, next_cas(st, l, p, there)))
		return STEP_WIDEN;
	if (there == NULL) {
		spot = index_spot_empty(&st->ix, p);
		if (spot.bucket == NULL && force)
			spot = evict_neighbour(sc, l, p);
		if (spot.bucket == NULL)
			return STEP_CROWDED;
		/* The neighbour may have been the one to set the floor. */
		if (force && !item_set_cas(l->item, next_cas(st, l, p, NULL)))
			return STEP_WIDEN;
	}
	publish(sc, l, p, spot, there);
	return STEP_DONE;
}

/* The same item with room for a long cas; only small items come without. */
static bool
widen(struct store_core *sc, struct link *l)
{
	const struct item *narrow = l->item;
	const uint32_t form = item_form(narrow) & ITEM_FORM_SHAPE;
	struct item *wide =
		item_new(sc, item_key(narrow), item_value_len(narrow), form | ITEM_HAS_LONG);

	if (wide == NULL)
		return false;
	memcpy(wide->body, narrow->body, form_bytes(form));
	item_write_value(sc->store, wide, 0, narrow);
	item_free(sc, l->item);
	l->item = wide;
	return true;
}

/* *p is where that was. */
static enum step
link_once(struct store_core *sc, struct link *l, struct place *p, bool force)
{
	*p = index_lock(&sc->store->ix, l->hash);

	const enum step step = link_locked(sc, l, p, force);

	index_unlock(&sc->store->ix, p);
	return step;
}

/* The index may be about to get larger: some more of that, before a neighbour goes. */
static bool
make_room(struct store_core *sc, const struct place *p, uint32_t tries)
{
	if (path_make_room(sc, p, NULL, 0))
		return true;
	return tries == 0 && resize_turn(sc);
}

enum link_verdict
link_item(struct store_core *sc, struct link *l)
{
	struct place p;
	bool force = false;

	for (uint32_t tries = 0; tries < LINK_PATHS_MAX && limbo_has_room(sc, LINK_LIMBO_MAX);
	     tries++) {
		switch (link_once(sc, l, &p, force)) {
		case STEP_DONE:
			return LINK_DONE;
		case STEP_REFUSED:
			return LINK_REFUSED;
		case STEP_CHANGED:
			return LINK_CHANGED;
		case STEP_CROWDED:
			force = !make_room(sc, &p, tries) || tries + 2 >= LINK_PATHS_MAX;
			break;
		case STEP_WIDEN:
			if (!widen(sc, l))
				tries = LINK_PATHS_MAX;
			break;
		}
	}
	l->result = STORE_NO_MEMORY;
	return LINK_REFUSED;
}

/*
 * link.c - an item is put into the index, in place of the version that is there if there is one.
 *
 * link_item locks the key's buckets, decides under the locks, and publishes. If no slot is empty it
 * runs a cuckoo path and tries again; after that a neighbour is evicted.
 */
#include "link.h"
#include "account.h"
#include "item_access.h"
#include "memory.h"
#include "new_version.h"
#include "path.h"
#include "resize.h"
#include "retire_list.h"
#include "unlink.h"

/* Attempts for one item, each after a cuckoo path; the last evicts a neighbour. */
#define LINK_PATHS_MAX 8u
/* Items one call may retire. */
#define LINK_RETIRE_MAX 8u

enum step { STEP_DONE, STEP_REFUSED, STEP_CHANGED, STEP_CROWDED, STEP_WIDEN };

/* Is it an older version than the one that is there, to be stored as stale? The number comes from a
 * client that read it, so lower means earlier. */
static bool
comes_late(const struct store_conditions *t, const struct item *old)
{
	return t->mode == STORE_CAS && t->stale_if_older && t->cas != 0 && t->cas < item_cas(old);
}

static enum store_result
compare(struct link *l, const struct item *old)
{
	const struct store_conditions *t = &l->conditions;

	l->inherit = 0;
	if ((!t->compare && t->mode != STORE_CAS) || item_cas(old) == t->cas)
		return STORE_OK;
	if (!comes_late(t, old))
		return STORE_EXISTS;
	l->inherit = ITEM_WON;
	return STORE_OK;
}

/* The mode's verdict on the version that is there; old is NULL if none is alive. */
static enum store_result
judge(struct link *l, const struct item *old)
{
	if (l->rmw != NULL)
		return STORE_OK;
	switch (l->conditions.mode) {
	case STORE_ADD:
		return old != NULL ? STORE_NOT_STORED : STORE_OK;
	case STORE_REPLACE:
		return old == NULL ? STORE_NOT_STORED : compare(l, old);
	case STORE_CAS:
		return old == NULL ? STORE_NOT_FOUND : compare(l, old);
	default:
		return old == NULL ? STORE_OK : compare(l, old);
	}
}

/* Is the version that is there the one that the new one was made from? Or can it be made from
 * it? */
static bool
still_fits(struct store_core *sc, struct link *l, const struct item *old)
{
	if (l->rmw == NULL)
		return true;
	if (old == NULL)
		return false;
	if (l->expect == 0)
		return new_version_rewrite(sc, l->rmw, old, l->item);
	if (item_ref(sc->store, old) != l->expect)
		return false;
	/* A touch may have come since: it writes under this lock. */
	if (!l->rmw->new_expiry)
		item_set_expiry(l->item, item_expiry_s(old));
	return true;
}

/* Under both locks: the slot of a tombstone. The retire list has space for it (link_item), and for
 * no more of them, since other sets of this turn need space, too. */
static struct spot
spot_of_tombstone(struct store_core *sc, const struct place *p)
{
	const uint32_t buckets[] = {p->primary, p->alternate};

	for (uint32_t i = 0; store_has_tombstones(sc->store) && i < 2 * BUCKET_SLOTS; i++) {
		struct bucket *b = index_bucket(&sc->store->ix, buckets[i / BUCKET_SLOTS]);
		const uint32_t slot = i % BUCKET_SLOTS;

		if (bucket_tag(b, slot) == 0 && bucket_ref(b, slot) != 0) {
			unlink_tombstone(sc, b, slot);
			return index_spot_empty(&sc->store->ix, p);
		}
	}
	return (struct spot){.bucket = NULL};
}

/* No slot is empty and no path was found: evict one of the twenty neighbours, an unreferenced one
 * if there is one. */
static struct spot
evict_neighbour(struct store_core *sc, const struct link *l, const struct place *p)
{
	struct store *st = sc->store;
	struct spot victim = {.bucket = NULL};

	if (st->never_evict)
		return victim;
	for (uint32_t i = 0; i < 2 * BUCKET_SLOTS; i++) {
		const uint32_t slot = (uint32_t)((l->hash >> 7) + i) % BUCKET_SLOTS;
		struct bucket *b =
			index_bucket(&st->ix, i < BUCKET_SLOTS ? p->primary : p->alternate);

		if (bucket_tag(b, slot) == 0)
			continue;
		if (victim.bucket == NULL || !slab_is_referenced(&st->slab, bucket_ref(b, slot)))
			victim = (struct spot){.bucket = b, .slot = slot};
		if (!slab_is_referenced(&st->slab, bucket_ref(b, slot)))
			break;
	}
	if (victim.bucket == NULL)
		return victim; /* twenty tombstones: their memory must be freed first */
	unlink_spot(sc, victim, UNLINK_EVICTED);
	count(sc, STORE_EVICTED_INDEX_FULL, 1);
	return index_spot_empty(&st->ix, p);
}

static uint64_t
next_cas(const struct store *st, const struct link *l, const struct place *p,
	 const struct item *there)
{
	if (l->conditions.set_cas)
		return l->conditions.new_cas;
	if (there == NULL)
		return atomic_load_explicit(store_floor(st, p->tag), memory_order_relaxed) + 1;
	if (l->rmw != NULL && l->rmw->keep_cas)
		return item_cas(there);
	/* A client's own number may be the largest; 0 is no version's. */
	return item_cas(there) != UINT64_MAX ? item_cas(there) + 1 : 1;
}

/* Set the optional fields that depend on the version there. False: the item lacks one: l->lacks. */
static bool
set_fields(struct store_core *sc, struct link *l, const struct place *p, const struct item *there)
{
	const bool late = l->rmw == NULL && l->inherit != 0;

	l->lacks = 0;
	if (late && item_expiry_s(there) != 0 && (item_form(l->item) & ITEM_HAS_EXPIRY) == 0)
		l->lacks |= ITEM_HAS_EXPIRY;
	if (late)
		item_set_expiry(l->item, item_expiry_s(there));
	if (!item_set_cas(l->item, next_cas(sc->store, l, p, there)))
		l->lacks |= ITEM_HAS_LONG;
	return l->lacks == 0;
}

/* Retire the old version. */
static inline void
retire(struct store_core *sc, struct link *l, const struct place *p, struct item *there, bool alive)
{
	if (unlikely(l->conditions.set_cas))
		floor_raise(sc->store, p->tag, item_cas(there));
	if (likely(alive))
		account_replaced(sc, there);
	else
		account_out(sc, there, UNLINK_REQUESTED);
	item_clear_live(sc->store, there);
	retire_list_add(sc, there);
}

/* Where the new version goes, and the one that is there. */
struct decision {
	struct spot spot;
	struct item *there; /* NULL: none; it may be dead */
	bool alive;
};

/* Under the locks: a slot for a key that is not there. */
static enum step
find_slot(struct store_core *sc, struct link *l, const struct place *p, bool force,
	  struct spot *spot)
{
	*spot = index_spot_empty(&sc->store->ix, p);
	if (spot->bucket == NULL)
		*spot = spot_of_tombstone(sc, p);
	if (spot->bucket == NULL && force)
		*spot = evict_neighbour(sc, l, p);
	if (spot->bucket == NULL)
		return STEP_CROWDED;
	/* The neighbour evicted may have raised the floor. */
	return force && !set_fields(sc, l, p, NULL) ? STEP_WIDEN : STEP_DONE;
}

/* The verdict on a write that stores nothing. */
static enum step
refuse(struct store_core *sc, const struct link *l, const struct decision *d)
{
	if (d->alive)
		slab_set_referenced(&sc->store->slab, item_ref(sc->store, d->there));
	else if (d->there != NULL)
		account_missed(sc, d->there, l->generation);
	return STEP_REFUSED;
}

/* Under the locks: is the item to be published, and where? */
static enum step
decide(struct store_core *sc, struct link *l, const struct key_lock *h, bool force,
       struct decision *d)
{
	struct store *st = sc->store;

	d->spot = h->spot;
	d->there = d->spot.bucket != NULL ? item_at(st, bucket_ref(d->spot.bucket, d->spot.slot))
					  : NULL;
	/* Read once: a flush that comes after this look must flush the new version as well, or
	 * one made from a flushed version would outlive it. */
	l->generation = store_generation(st);
	d->alive = d->there != NULL && !item_flushed(d->there, l->generation) &&
		   !item_expired(d->there, sc->now_s);

	const struct item *alive = d->alive ? d->there : NULL;

	protocol_gap();
	if (!still_fits(sc, l, alive))
		return STEP_CHANGED;
	l->result = judge(l, alive);
	if (l->result != STORE_OK)
		return refuse(sc, l, d);
	if (!set_fields(sc, l, &h->place, d->there))
		return STEP_WIDEN;
	/* A plain set did not ask for the old version. */
	if (unlikely(alive != d->there) && l->rmw == NULL && l->conditions.mode != STORE_SET)
		account_missed(sc, d->there, l->generation);
	return d->there != NULL ? STEP_DONE : find_slot(sc, l, &h->place, force, &d->spot);
}

/* Is the key's item on probation? Not one that was evicted too early. */
static __attribute__((noinline)) enum object_state
state_of_new(struct store_core *sc, const struct link *l)
{
	struct slab *sl = &sc->store->slab;
	const uint32_t bytes = item_form(l->item) & ITEM_IS_CHUNKED ? CHUNK_BYTES : 0;
	const uint32_t class = bytes != 0 ? slab_class_for(sl, bytes)
					  : slab_class_of_ref(sl, item_ref(sc->store, l->item));
	struct probation *pr = &sl->classes[class].probation;

	switch (ghost_take(&sc->store->ghosts, l->hash)) {
	case GHOST_OF_NEW:
		evictions_returned(&pr->young);
		count(sc, STORE_GHOSTS_RETURNED, 1);
		return OBJECT_KEPT;
	case GHOST_OF_KEPT:
		evictions_returned(&pr->kept);
		break;
	case GHOST_NONE:
		break;
	}
	return probation_skips(pr, l->hash) ? OBJECT_KEPT : OBJECT_NEW;
}

/* An update is a use of its key: a key that is read and then written stays as long as one that is
 * only read. What is stored where a dead version lies has that one's standing. */
static inline enum object_state
state_to_begin_with(struct store_core *sc, const struct link *l, const struct decision *d)
{
	const struct store *st = sc->store;

	if (d->alive)
		return OBJECT_USED;
	if (!st->slab.probation)
		return OBJECT_KEPT;
	if (d->there == NULL)
		return state_of_new(sc, l);
	return slab_state(&st->slab, item_ref(st, d->there)) == OBJECT_NEW ? OBJECT_NEW
									   : OBJECT_KEPT;
}

/* Under the locks: make it visible. */
static inline void
publish(struct store_core *sc, struct link *l, const struct place *p, const struct decision *d)
{
	struct store *st = sc->store;
	struct item *it = l->item;
	const uint32_t generation = l->generation;
	const bool late = l->rmw == NULL && l->inherit != 0;
	uint32_t status = l->status | (late ? ITEM_STALE : 0);

	if (d->there != NULL && l->inherit != 0)
		status |= item_hand_over(d->there, l->inherit);
	item_set_head(it, status, item_value_len(it), item_key_len(it));
	it->cas_form |= (generation & ITEM_FLUSH_MASK) << ITEM_FLUSH_SHIFT;
	account_in(sc, it, generation);
	item_set_live(st, it, state_to_begin_with(sc, l, d));
	protocol_gap();
	index_put(&st->ix, p, d->spot, item_ref(st, it));
	if (d->there != NULL)
		retire(sc, l, p, d->there, d->alive);
}

/* decide and publish for the commonest write, in a third of the instructions: a simple item
 * replaces a simple one that is alive, unconditionally. False: it is another case, nothing was
 * done. */
static inline bool
replace_fast(struct store_core *sc, struct link *l, const struct key_lock *h)
{
	struct store *st = sc->store;
	struct slab *sl = &st->slab;

	if (h->spot.bucket == NULL)
		return false;

	const uint32_t now = store_generation(st);
	const uint32_t generation = now << ITEM_FLUSH_SHIFT & 0xff;
	const uint32_t old = bucket_ref(h->spot.bucket, h->spot.slot);
	struct item *there = item_at(st, old), *it = l->item;
	const uint32_t cas = (there->cas_form >> 8) + 1;

	protocol_gap();
	if ((there->cas_form & 0xff) != generation || item_form(it) != 0 || cas > ITEM_CAS_MAX)
		return false;

	const uint32_t ref = item_ref(st, it);

	it->cas_form = cas << 8 | generation;
	account_generation(sc, now);
	account_exchange(sc, ref, it, old, there);
	slab_set_live(sl, ref, OBJECT_USED);
	protocol_gap();
	index_put(&st->ix, &h->place, h->spot, ref);
	slab_clear_live(sl, old);
	retire_list_add_unchunked(sc, old);
	return true;
}

/* Copy the item into one with the fields it lacks; only small items lack any. */
static bool
widen(struct store_core *sc, struct link *l)
{
	const struct item *narrow = l->item;
	const uint32_t form = item_form(narrow) & ITEM_FORM_SHAPE;
	struct item *wide = item_new(sc, item_key(narrow), item_value_len(narrow), form | l->lacks);

	if (wide == NULL)
		return false;
	memcpy(wide->body, narrow->body, form_bytes(form & ITEM_HAS_FLAGS));
	item_set_expiry(wide, item_expiry_s(narrow));
	item_write_value(sc->store, wide, 0, narrow);
	item_free(sc, l->item);
	l->item = wide;
	return true;
}

/* A resize under way may bring empty slots: a slice of it before a neighbour is evicted. */
static bool
free_slot(struct store_core *sc, const struct place *p, uint32_t tries)
{
	if (path_free_slot(sc, p, NULL, 0))
		return true;
	return tries == 0 && resize_turn(sc);
}

enum link_verdict
link_item(struct store_core *sc, struct link *l)
{
	bool force = false;

	for (uint32_t tries = 0;
	     tries < LINK_PATHS_MAX && retire_list_has_space(sc, LINK_RETIRE_MAX); tries++) {
		struct key_lock h;
		struct decision d;
		enum step step = STEP_DONE;

		index_lock_key(&sc->store->ix, item_key(l->item), l->hash,
			       force ? LOCK_BOTH : LOCK_FOR_INSERT, &h);
		if (!l->fast || !replace_fast(sc, l, &h)) {
			step = decide(sc, l, &h, force, &d);
			if (step == STEP_DONE)
				publish(sc, l, &h.place, &d);
		}
		index_unlock_key(&sc->store->ix, &h);
		switch (step) {
		case STEP_DONE:
			return LINK_DONE;
		case STEP_REFUSED:
			return LINK_REFUSED;
		case STEP_CHANGED:
			return LINK_CHANGED;
		case STEP_CROWDED:
			force = !free_slot(sc, &h.place, tries) || tries + 2 >= LINK_PATHS_MAX;
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

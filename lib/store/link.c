/*
 * link.c - puts an item into the index, in place of the key's old version if there is one.
 *
 * link_item locks the key's buckets, decides under the locks, and publishes. If no slot is empty it
 * runs a cuckoo path and tries again; at last it evicts a neighbour, which is an item in one of
 * these buckets.
 */
#include "link.h"
#include "account.h"
#include "floors.h"
#include "item_access.h"
#include "memory.h"
#include "new_version.h"
#include "resize.h"
#include "retire_list.h"
#include "unlink.h"
#include "index/path.h"
#include "index/resize_limits.h"
#include "slab/eviction.h"

/* Most attempts to find a slot for an item; between two of them a cuckoo path runs. The last one
 * evicts a neighbour. */
#define LINK_PATHS_MAX 8u
/* Most items that one call retires. */
#define LINK_RETIRE_MAX 8u

enum step { STEP_DONE, STEP_REFUSED, STEP_CHANGED, STEP_CROWDED, STEP_ADD_FIELDS };

/* True if the value must be stored as stale: asked->cas, the cas of the version from which the
 * client made its value, is lower than the cached version's. */
static bool
stores_stale(const struct store_conditions *asked, const struct item *old)
{
	return asked->mode == STORE_CAS && asked->stale_if_older && asked->cas != 0 &&
	       asked->cas < item_cas(old);
}

static enum store_result
compare(struct link *link, const struct item *old)
{
	const struct store_conditions *asked = &link->conditions;

	link->inherit = 0;
	if ((!asked->compare && asked->mode != STORE_CAS) || item_cas(old) == asked->cas)
		return STORE_OK;
	if (!stores_stale(asked, old))
		return STORE_EXISTS;
	link->inherit = ITEM_WON;
	return STORE_OK;
}

/* Decides whether the write may replace this version. old: the version that is alive, or NULL. */
static enum store_result
judge(struct link *link, const struct item *old)
{
	if (link->rmw != NULL)
		return STORE_OK;
	switch (link->conditions.mode) {
	case STORE_ADD:
		return old != NULL ? STORE_NOT_STORED : STORE_OK;
	case STORE_REPLACE:
		return old == NULL ? STORE_NOT_STORED : compare(link, old);
	case STORE_CAS:
		return old == NULL ? STORE_NOT_FOUND : compare(link, old);
	default:
		return old == NULL ? STORE_OK : compare(link, old);
	}
}

/* True if the new item was made from the version that is cached, or can be made from it now. */
static bool
still_fits(struct store_core *sc, struct link *link, const struct item *old)
{
	if (link->rmw == NULL)
		return true;
	if (old == NULL)
		return false;
	if (link->expect == 0)
		return new_version_rewrite(sc, link->rmw, old, link->item);
	if (item_ref(sc->store, old) != link->expect)
		return false;
	/* The expiry may have been changed by a touch, which writes it under this lock. */
	if (!link->rmw->new_expiry)
		item_set_expiry(link->item, item_expiry_s(old));
	return true;
}

/* Retires a tombstone and returns its slot. Called under both locks. At most one a call: link_item
 * has reserved space on the retire list for one, and more would take the space of this turn's other
 * sets. */
static struct spot
spot_of_tombstone(struct store_core *sc, const struct place *place)
{
	const uint32_t buckets[] = {place->primary, place->alternate};

	for (uint32_t i = 0; store_has_tombstones(sc->store) && i < 2 * BUCKET_SLOTS; i++) {
		struct bucket *b = index_bucket(&sc->store->ix, buckets[i / BUCKET_SLOTS]);
		const uint32_t slot = i % BUCKET_SLOTS;

		if (bucket_tag(b, slot) == 0 && bucket_ref(b, slot) != 0) {
			unlink_tombstone(sc, b, slot);
			return index_spot_empty(&sc->store->ix, place);
		}
	}
	return (struct spot){.bucket = NULL};
}

/* Evicts one of the twenty neighbours, if possible one whose reference bit is clear. The last
 * resort if no slot is empty and no path was found. */
static struct spot
evict_neighbour(struct store_core *sc, const struct link *link, const struct place *place)
{
	struct store *st = sc->store;
	struct spot victim = {.bucket = NULL};

	if (st->never_evict)
		return victim;
	for (uint32_t i = 0; i < 2 * BUCKET_SLOTS; i++) {
		const uint32_t slot = (uint32_t)((link->hash >> 7) + i) % BUCKET_SLOTS;
		struct bucket *b =
			index_bucket(&st->ix, i < BUCKET_SLOTS ? place->primary : place->alternate);

		if (bucket_tag(b, slot) == 0)
			continue;
		if (victim.bucket == NULL || !slab_is_referenced(&st->slab, bucket_ref(b, slot)))
			victim = (struct spot){.bucket = b, .slot = slot};
		if (!slab_is_referenced(&st->slab, bucket_ref(b, slot)))
			break;
	}
	if (victim.bucket == NULL)
		return victim; /* all twenty slots are tombstones, whose memory must be freed first
				*/
	unlink_spot(sc, victim, UNLINK_EVICTED);
	count(sc, STORE_EVICTED_INDEX_FULL, 1);
	return index_spot_empty(&st->ix, place);
}

/* Returns the new version's cas. A client's number is used unchanged, unless it is 0, which no
 * version has. The store's own number is above all that the key has had; the old version's cas
 * alone would not do, since a client may have chosen it lower. */
static uint64_t
next_cas(const struct store *st, const struct link *link, uint16_t tag, const struct item *old)
{
	const uint64_t floor = atomic_load_explicit(store_floor(st, tag), memory_order_relaxed);

	if (link->conditions.set_cas && link->conditions.new_cas != 0)
		return link->conditions.new_cas;
	if (old == NULL)
		return floor + 1;
	if (link->rmw != NULL && link->rmw->keep_cas)
		return item_cas(old);
	return cas_after(st, tag, item_cas(old));
}

/* Sets the fields that depend on the old version. False: the item has no space for those in
 * link->missing. */
static bool
set_fields(struct store_core *sc, struct link *link, uint16_t tag, const struct item *old)
{
	const bool stale = link->rmw == NULL && link->inherit != 0;

	link->missing = 0;
	if (stale && item_expiry_s(old) != 0 && (item_form(link->item) & ITEM_HAS_EXPIRY) == 0)
		link->missing |= ITEM_HAS_EXPIRY;
	if (stale)
		item_set_expiry(link->item, item_expiry_s(old));
	if (!item_set_cas(link->item, next_cas(sc->store, link, tag, old)))
		link->missing |= ITEM_HAS_LONG;
	return link->missing == 0;
}

static inline void
retire(struct store_core *sc, struct item *old, bool alive)
{
	if (likely(alive))
		account_replaced(sc, old);
	else
		account_out(sc, old, UNLINK_REQUESTED);
	item_clear_live(sc->store, old);
	retire_list_add(sc, old);
}

/* The result of a write's search for its key. */
struct found {
	struct spot spot; /* where the old version is, or the empty slot to fill */
	struct item *old; /* NULL: none */
	bool alive;       /* false if there is none, or it is flushed or expired */
};

/* Returns an empty slot, or one emptied by a cuckoo path of one step. Called under the locks. */
static inline struct spot
spot_for_new(struct store_core *sc, const struct place *p)
{
	const struct spot empty = index_spot_empty(&sc->store->ix, p);

	return empty.bucket != NULL ? empty : path_step(&sc->ic, p);
}

/* Finds a slot for an absent key. Called under the locks. */
static enum step
find_slot(struct store_core *sc, struct link *link, const struct place *place, bool force,
	  struct spot *spot)
{
	*spot = spot_for_new(sc, place);
	if (spot->bucket == NULL)
		*spot = spot_of_tombstone(sc, place);
	if (spot->bucket == NULL && force)
		*spot = evict_neighbour(sc, link, place);
	if (spot->bucket == NULL)
		return STEP_CROWDED;
	/* The eviction of a neighbour may have raised the floor, so the cas is set again. */
	return force && !set_fields(sc, link, place->tag, NULL) ? STEP_ADD_FIELDS : STEP_DONE;
}

/* Finds a slot as find_slot does, and makes the tier forget its copy of the key. */
static enum step
take_slot(struct store_core *sc, struct link *link, const struct place *place, bool force,
	  struct found *found)
{
	const enum step step = find_slot(sc, link, place, force, &found->spot);

	if (step != STEP_DONE || sc->tier == NULL ||
	    tier_shadow(sc, link->hash, link->generation, link->claim))
		return step;
	link->result = STORE_NOT_FOUND;
	return STEP_REFUSED;
}

/* Ends a write that stores nothing. The item that it found counts as used. If there was none, the
 * tier forgets its copy. */
static enum step
refuse(struct store_core *sc, const struct link *link, const struct found *found)
{
	if (found->old == NULL && unlikely(sc->tier != NULL))
		tier_shadow(sc, link->hash, link->generation, NULL);
	if (found->alive)
		slab_set_referenced(&sc->store->slab, item_ref(sc->store, found->old));
	else if (found->old != NULL)
		account_missed(sc, found->old, link->generation);
	return STEP_REFUSED;
}

/* Decides, under the locks, whether the item is published, and in which slot. */
static enum step
decide(struct store_core *sc, struct link *link, const struct key_lock *lock, bool force,
       struct found *found)
{
	struct store *st = sc->store;

	found->spot = lock->spot;
	found->old = found->spot.bucket != NULL
			     ? item_at(st, bucket_ref(found->spot.bucket, found->spot.slot))
			     : NULL;
	/* The generation is read only once. A flush after this line makes the new version dead,
	 * too; otherwise one made from a flushed version would survive the flush. */
	link->generation = store_generation(st);
	found->alive = found->old != NULL && !item_flushed(found->old, link->generation) &&
		       !item_expired(found->old, sc->now_s);

	const struct item *alive = found->alive ? found->old : NULL;

	/* A key in a slot, even with a dead version, has no copy in the tier. */
	if (unlikely(link->claim != NULL) && found->old != NULL) {
		link->result = STORE_EXISTS;
		return STEP_REFUSED;
	}

	protocol_gap();
	if (!still_fits(sc, link, alive))
		return STEP_CHANGED;
	link->result = judge(link, alive);
	if (link->result != STORE_OK)
		return refuse(sc, link, found);
	if (!set_fields(sc, link, lock->place.tag, found->old))
		return STEP_ADD_FIELDS;
	/* A dead version counts as a miss. Not for a plain set, which did not ask for one. */
	if (unlikely(alive != found->old) && link->rmw == NULL &&
	    link->conditions.mode != STORE_SET)
		account_missed(sc, found->old, link->generation);
	return found->old != NULL ? STEP_DONE : take_slot(sc, link, &lock->place, force, found);
}

static __attribute__((noinline)) enum object_state
state_of_new(struct store_core *sc, const struct item *it, uint64_t hash)
{
	const struct store *st = sc->store;
	const uint32_t class = item_class(st, it);

	eviction_stored(&sc->store->slab, hash);
	return eviction_insert(&st->slab, class, hash,
			       item_take_ghost(sc, class, item_ghosts(st, it, hash), hash));
}

/* Returns the state of the new version. An update counts as a use of the key, so a key that is read
 * and then written stays as long as one that is only read. If the old version was dead, the new one
 * gets its state without the reference bit. */
static inline enum object_state
first_state(struct store_core *sc, const struct link *link, const struct found *found)
{
	const struct store *st = sc->store;

	if (found->alive)
		return OBJECT_USED;
	if (found->old == NULL)
		return state_of_new(sc, link->item, link->hash);
	return slab_state(&st->slab, item_ref(st, found->old)) == OBJECT_NEW ? OBJECT_NEW
									     : OBJECT_KEPT;
}

/* Fills the slot and retires the old version. Called under the locks. */
static inline void
publish(struct store_core *sc, struct link *link, const struct place *place,
	const struct found *found)
{
	struct store *st = sc->store;
	struct item *it = link->item;
	const uint32_t generation = link->generation;
	const bool stale = link->rmw == NULL && link->inherit != 0;
	uint32_t status = link->status | (stale ? ITEM_STALE : 0);

	if (found->old != NULL && link->inherit != 0)
		status |= item_hand_over(found->old, link->inherit);
	item_set_head(it, status, item_value_len(it), item_key_len(it));
	it->cas_form |= (generation & ITEM_FLUSH_MASK) << ITEM_FLUSH_SHIFT;
	account_in(sc, it, generation);
	item_set_live(st, it, first_state(sc, link, found));
	/* The floor must rise before the old version is replaced, since the new number may be lower
	 * than the old one, or so high that no floor follows it. */
	if (found->old != NULL && unlikely(link->conditions.set_cas || item_cas(it) > FLOOR_MAX))
		floor_raise(st, place->tag, item_cas(found->old));
	protocol_gap();
	index_put(&st->ix, place, found->spot, item_ref(st, it));
	if (found->old != NULL)
		retire(sc, found->old, found->alive);
}

/* ---- the commonest writes: a simple item, unconditionally ---- */

/* Replaces a living simple item by a simple one. Called under the lock. */
static inline bool
replace_simple(struct store_core *sc, struct item *it, uint32_t class, const struct key_lock *lock)
{
	struct store *st = sc->store;
	struct slab *sl = &st->slab;
	const uint32_t now = store_generation(st);
	const uint32_t generation = now << ITEM_FLUSH_SHIFT & 0xff;
	const uint32_t old_ref = bucket_ref(lock->spot.bucket, lock->spot.slot);
	const struct item *old = item_at(st, old_ref);
	const uint64_t floor =
		atomic_load_explicit(store_floor(st, lock->place.tag), memory_order_relaxed);
	uint64_t cas = old->cas_form >> 8;

	protocol_gap();
	cas = (cas > floor ? cas : floor) + 1;
	if ((old->cas_form & 0xff) != generation || cas > ITEM_CAS_MAX)
		return false;

	const uint32_t ref = item_ref(st, it), old_class = slab_class_of_ref(sl, old_ref);

	it->cas_form = (uint32_t)cas << 8 | generation;
	account_generation(sc, now);
	account_exchange(sc, class, it, old_class, old);
	slab_set_live(sl, ref, OBJECT_USED);
	protocol_gap();
	index_put(&st->ix, &lock->place, lock->spot, ref);
	slab_clear_live(sl, old_ref);
	retire_list_add_plain(sc, old_ref, old_class);
	return true;
}

/* Prefetches the ghosts of a new item's key, if the policy has ghosts. They are searched at the
 * next insertion, since their cache line is mostly in memory or in another core's cache. */
static inline void
note_newcomer(struct store_core *sc, const struct item *it, uint32_t ref, uint64_t hash)
{
	struct ghost_group *ghosts = item_ghosts(sc->store, it, hash);

	if (ghosts == NULL)
		return;
	prefetch(ghosts);
	if (sc->newcomer.ghosts != NULL)
		item_judge_newcomer(sc);
	sc->newcomer = (struct newcomer){.ghosts = ghosts, .hash = hash, .ref = ref};
}

static enum object_state
state_of_simple(const struct slab *sl, uint32_t ref, uint64_t hash)
{
	return eviction_insert(sl, slab_class_of_ref(sl, ref), hash, GHOST_NONE);
}

/* Inserts a simple item for a key without a slot. Called under the locks. Out of line, so that a
 * replacement, the commonest write, saves no registers for it. */
static NOT_FLAT bool
insert_simple(struct store_core *sc, struct item *it, uint64_t hash, const struct key_lock *lock)
{
	struct store *st = sc->store;
	const uint32_t generation = store_generation(st);
	const uint64_t floor =
		atomic_load_explicit(store_floor(st, lock->place.tag), memory_order_relaxed);
	const uint32_t ref = item_ref(st, it);
	struct spot spot;

	if (unlikely(floor >= ITEM_CAS_MAX))
		return false;
	spot = spot_for_new(sc, &lock->place);
	if (unlikely(spot.bucket == NULL))
		return false;
	if (unlikely(sc->tier != NULL))
		tier_shadow(sc, hash, generation, NULL);
	it->cas_form = (uint32_t)(floor + 1) << 8 | (generation << ITEM_FLUSH_SHIFT & 0xff);
	account_in_simple(sc, ref, it, generation);
	slab_set_live(&st->slab, ref, state_of_simple(&st->slab, ref, hash));
	protocol_gap();
	index_put(&st->ix, &lock->place, spot, ref);
	note_newcomer(sc, it, ref, hash);
	return true;
}

bool
link_simple(struct store_core *sc, struct item *it, uint32_t class, uint64_t hash)
{
	const struct view key = {it->body, item_key_len(it)};
	struct key_lock lock;
	bool done;

	if (item_form(it) != 0 || !retire_list_has_space(sc, LINK_RETIRE_MAX))
		return false;
	index_lock_key(&sc->store->ix, key, hash, LOCK_FOR_INSERT, &lock);
	done = lock.spot.bucket != NULL ? replace_simple(sc, it, class, &lock)
					: insert_simple(sc, it, hash, &lock);
	index_unlock_key(&sc->store->ix, &lock);
	return done;
}

/* ---- all other writes ---- */

/* Copies the item into a new one that has the missing fields. Only small items lack any. */
static bool
add_fields(struct store_core *sc, struct link *link)
{
	const struct item *from = link->item;
	const uint32_t form = item_form(from) & ITEM_FORM_SHAPE;
	struct item *it = item_new(sc, item_key(from), item_value_len(from), form | link->missing);

	if (it == NULL)
		return false;
	memcpy(it->body, from->body, form_bytes(form & ITEM_HAS_FLAGS));
	item_set_expiry(it, item_expiry_s(from));
	item_write_value(sc->store, it, 0, from);
	item_free(sc, link->item);
	link->item = it;
	return true;
}

/* Empties a slot by a cuckoo path, or does a step of a resize under way. False: only the eviction
 * of a neighbour is left. */
static bool
free_slot(struct store_core *sc, const struct place *place, uint32_t tries)
{
	const uint32_t before = sc->ic.searched;

	if (sc->crowded >= CROWDED_WORK_TURN && !sc->store->never_evict)
		return false;
	if (path_free_slot(&sc->ic, place, NULL, 0))
		return true;
	sc->crowded += sc->ic.searched - before;
	if (tries != 0 || !resize_more(sc))
		return false;
	sc->crowded += MIGRATE_WORK;
	return true;
}

bool
tier_shadow_missed(struct store_core *sc, struct view key, uint64_t hash)
{
	struct key_lock lock;
	bool alive = false;

	index_lock_key(&sc->store->ix, key, hash, LOCK_KEY, &lock);
	if (lock.spot.bucket == NULL)
		tier_shadow(sc, hash, store_generation(sc->store), NULL);
	else
		alive = !item_dead(
			sc, item_at(sc->store, bucket_ref(lock.spot.bucket, lock.spot.slot)));
	index_unlock_key(&sc->store->ix, &lock);
	return !alive;
}

enum link_verdict
link_item(struct store_core *sc, struct link *link)
{
	bool force = false;

	for (uint32_t tries = 0;
	     tries < LINK_PATHS_MAX && retire_list_has_space(sc, LINK_RETIRE_MAX); tries++) {
		struct key_lock lock;
		struct found found;
		enum step step;

		index_lock_key(&sc->store->ix, item_key(link->item), link->hash,
			       force ? LOCK_BOTH : LOCK_FOR_INSERT, &lock);
		step = decide(sc, link, &lock, force, &found);
		if (step == STEP_DONE)
			publish(sc, link, &lock.place, &found);
		if (step == STEP_DONE && unlikely(link->claim != NULL))
			link->claim->end(link->claim->arg, sc);
		index_unlock_key(&sc->store->ix, &lock);
		switch (step) {
		case STEP_DONE:
			return LINK_DONE;
		case STEP_REFUSED:
			return LINK_REFUSED;
		case STEP_CHANGED:
			return LINK_CHANGED;
		case STEP_CROWDED:
			force = !free_slot(sc, &lock.place, tries) || tries + 2 >= LINK_PATHS_MAX;
			break;
		case STEP_ADD_FIELDS:
			if (!add_fields(sc, link))
				tries = LINK_PATHS_MAX;
			break;
		}
	}
	link->result = STORE_NO_MEMORY;
	return LINK_REFUSED;
}

/*
 * delete.c - deletes an item: takes it out of the index, keeps it without its value, or marks it
 * stale.
 */
#include "account.h"
#include "floors.h"
#include "item_access.h"
#include "link.h"
#include "load_marks.h"
#include "new_version.h"
#include "unlink.h"

/* Deletes a key if the conditions of `how` are met. NULL: unconditionally. */
static enum store_result
delete_if(struct store_core *sc, struct view key, uint64_t hash, const struct store_removal *how)
{
	struct store *st = sc->store;
	enum store_result result = STORE_NOT_FOUND;
	struct key_lock lock;

	index_lock_key(&st->ix, key, hash, LOCK_KEY, &lock);
	if (lock.spot.bucket != NULL) {
		const struct item *it = item_at(st, bucket_ref(lock.spot.bucket, lock.spot.slot));

		if (!item_dead(sc, it))
			result = how != NULL && how->compare && item_cas(it) != how->cas
					 ? STORE_EXISTS
					 : STORE_OK;
		if (result != STORE_EXISTS)
			unlink_spot(sc, lock.spot, UNLINK_REQUESTED);
	} else {
		if (unlikely(sc->marks))
			load_mark(sc, hash);
		if (unlikely(sc->tier != NULL))
			tier_shadow(sc, hash, store_generation(st), NULL);
	}
	index_unlock_key(&st->ix, &lock);
	return result;
}

enum store_result
store_delete(struct store_core *sc, struct view key, uint64_t hash)
{
	return delete_if(sc, key, hash, NULL);
}

/* Replaces the item by a new version that is stale or empty. The item itself is not changed, since
 * readers may use it. */
static enum store_result
keep(struct store_core *sc, struct view key, uint64_t hash, const struct store_removal *how,
     const struct item **left)
{
	struct rmw rm = {
		.op = how->drop_value ? RMW_EMPTY : RMW_COPY,
		.key = key,
		.hash = hash,
		.conditions = {.compare = how->compare,
			       .cas = how->cas,
			       .set_cas = how->set_cas,
			       .new_cas = how->new_cas},
		.new_expiry = how->drop_value || how->new_expiry,
		.expiry_s = how->new_expiry ? how->expiry_s : 0,
		.client_flags = how->client_flags,
		.status = how->mark_stale ? ITEM_STALE : 0,
		.inherit = ITEM_BINARY_KEY | (how->drop_value ? 0 : ITEM_FETCHED),
	};
	const enum store_result r = rmw_run(sc, &rm);

	*left = rm.made;
	return r;
}

/* Marks a large item as stale in place. Readers load the cas before the status bits, so none sees
 * the new number on an item that is not yet stale. No reader can win while the number changes. */
static bool
mark_in_place(struct store_core *sc, struct view key, uint64_t hash,
	      const struct store_removal *how, const struct item **left)
{
	struct store *st = sc->store;
	struct key_lock lock;
	struct item *it = NULL;

	index_lock_key(&st->ix, key, hash, LOCK_KEY, &lock);
	if (lock.spot.bucket != NULL)
		it = item_at(st, bucket_ref(lock.spot.bucket, lock.spot.slot));
	if (it != NULL && (item_dead(sc, it) || (how->compare && item_cas(it) != how->cas) ||
			   (~item_form(it) & (ITEM_HAS_LONG | ITEM_HAS_EXPIRY)) != 0))
		it = NULL;
	if (it != NULL) {
		floor_raise(st, lock.place.tag, item_cas(it));
		item_mark_stale(it, how->set_cas && how->new_cas != 0
					    ? how->new_cas
					    : cas_after(st, lock.place.tag, item_cas(it)));
		if (how->new_expiry)
			item_set_expiry(it, how->expiry_s);
		item_note_due(st, it);
	}
	index_unlock_key(&st->ix, &lock);
	*left = it;
	return it != NULL;
}

enum store_result
store_delete_with(struct store_core *sc, struct view key, uint64_t hash,
		  const struct store_removal *how, const struct item **left)
{
	*left = NULL;
	if (how->mark_stale || how->drop_value) {
		const enum store_result r = keep(sc, key, hash, how, left);

		/* If a file is being loaded, the key's item in it is deleted, too. */
		if (r != STORE_NO_MEMORY && r != STORE_NOT_YET &&
		    !(r == STORE_NOT_FOUND && sc->marks))
			return r;
		if (r == STORE_NOT_YET && how->waits)
			return r;
		if (how->mark_stale && !how->drop_value && mark_in_place(sc, key, hash, how, left))
			return STORE_OK;
		if (how->drop_value && !how->mark_stale && r != STORE_NOT_FOUND)
			return STORE_NO_MEMORY;
	}
	return delete_if(sc, key, hash, how);
}

/*
 * write.c - a value comes in, in pieces, and is published.
 */
#include "inside.h"

/* Optional fields of a new item. Large ones have a place for an expiry in any case, so that no
 * touch ever copies much; and all have a long cas where short ones have run out. */
static uint32_t
form_for(const struct store *st, uint64_t hash, uint32_t value_len, uint32_t flags,
	 uint32_t expiry_s)
{
	const struct place p = index_place(&st->ix, hash);
	const uint64_t floor = atomic_load_explicit(store_floor(st, p.tag), memory_order_relaxed);
	uint32_t form = 0;

	if (flags != 0)
		form |= ITEM_HAS_FLAGS;
	if (expiry_s != 0)
		form |= ITEM_HAS_EXPIRY;
	if (value_len >= ITEM_PIN_MIN_BYTES)
		form |= ITEM_HAS_LONG | ITEM_HAS_EXPIRY;
	if (floor >= ITEM_FIELD_MAX)
		form |= ITEM_HAS_LONG;
	return form;
}

enum store_result
store_begin(struct store_core *sc, struct fill *f, struct view key, uint64_t hash,
	    uint32_t value_len, uint32_t flags, uint32_t expiry_s)
{
	*f = (struct fill){.hash = hash, .value_len = value_len};
	ensure(key.len >= 1 && key.len <= ITEM_KEY_MAX);
	if (value_len > sc->store->value_max)
		return STORE_TOO_LARGE;
	f->item =
		item_new(sc, key, value_len, form_for(sc->store, hash, value_len, flags, expiry_s));
	if (f->item == NULL) {
		if (memory_is_coming(sc))
			return STORE_NOT_YET;
		count(sc, STORE_OUT_OF_MEMORY, 1);
		return STORE_NO_MEMORY;
	}
	if (flags != 0)
		memcpy(f->item->body, &flags, sizeof flags);
	item_set_expiry(f->item, expiry_s);
	return STORE_OK;
}

void
store_fill(struct store_core *sc, struct fill *f, const void *bytes, uint32_t len)
{
	ensure(len <= f->value_len - f->filled);
	item_write(sc->store, f->item, f->filled, (struct view){bytes, len});
	f->filled += len;
}

/* NOT_YET: nothing was done, the fill goes on. */
static enum store_result
finish_extend(struct store_core *sc, struct fill *f, enum store_mode mode)
{
	struct rmw rm = {
		.op = mode == STORE_APPEND ? RMW_APPEND : RMW_PREPEND,
		.key = item_key(f->item),
		.hash = f->hash,
		.more = f->item,
	};
	const enum store_result r = rmw_run(sc, &rm);

	if (r == STORE_NOT_YET)
		return r;
	store_abandon(sc, f);
	return r == STORE_NOT_FOUND ? STORE_NOT_STORED : r;
}

enum store_result
store_try_finish(struct store_core *sc, struct fill *f, enum store_mode mode, uint64_t cas)
{
	struct link l = {.item = f->item, .hash = f->hash, .cas = cas, .mode = mode};

	ensure(f->item != NULL && f->filled == f->value_len);
	if (mode == STORE_APPEND || mode == STORE_PREPEND)
		return finish_extend(sc, f, mode);

	const enum link_verdict v = link_item(sc, &l);

	/* The client believes the old value gone; a set is refused for lack of memory only. */
	if (v != LINK_DONE && mode == STORE_SET)
		store_delete(sc, item_key(l.item), f->hash);
	f->item = v == LINK_DONE ? NULL : l.item;
	store_abandon(sc, f);
	return v == LINK_DONE ? STORE_OK : l.result;
}

/* For those who do not wait. */
static enum store_result
no_memory(struct store_core *sc, enum store_result r)
{
	if (r != STORE_NOT_YET)
		return r;
	count(sc, STORE_OUT_OF_MEMORY, 1);
	return STORE_NO_MEMORY;
}

enum store_result
store_finish(struct store_core *sc, struct fill *f, enum store_mode mode, uint64_t cas)
{
	const enum store_result r = store_try_finish(sc, f, mode, cas);

	store_abandon(sc, f);
	return no_memory(sc, r);
}

void
store_abandon(struct store_core *sc, struct fill *f)
{
	if (f->item != NULL)
		item_free(sc, f->item);
	f->item = NULL;
}

enum store_result
store_arith(struct store_core *sc, struct view key, uint64_t hash, uint64_t delta, bool decr,
	    uint64_t *value)
{
	struct rmw rm = {
		.op = decr ? RMW_DECR : RMW_INCR, .key = key, .hash = hash, .delta = delta};
	const enum store_result r = rmw_run(sc, &rm);

	*value = rm.value;
	return no_memory(sc, r);
}

/* Write the expiry where it stands, under the bucket locks, so that a version made at the same
 * time inherits it. *there is the item, NULL if none is alive. False: it has no such field. */
static bool
touch_in_place(struct store_core *sc, struct view key, uint64_t hash, uint32_t expiry_s,
	       const struct item **there)
{
	struct store *st = sc->store;
	const struct place p = index_lock(&st->ix, hash);
	bool done = true;

	*there = NULL;

	const struct spot spot = index_spot_of_key(&st->ix, &p, key);

	if (spot.bucket != NULL) {
		struct item *it = item_at(st, bucket_ref(spot.bucket, spot.slot));

		if (!item_dead(sc, it)) {
			*there = it;
			protocol_gap();
			done = expiry_s == 0 || (item_form(it) & ITEM_HAS_EXPIRY) != 0;
			item_set_expiry(it, expiry_s);
			slab_mark(&st->slab, item_ref(st, it));
		}
	}
	index_unlock(&st->ix, &p);
	return done;
}

enum store_result
store_touch(struct store_core *sc, struct view key, uint64_t hash, uint32_t expiry_s,
	    const struct item **it)
{
	struct rmw rm = {.op = RMW_TOUCH, .key = key, .hash = hash, .expiry_s = expiry_s};
	const bool done = touch_in_place(sc, key, hash, expiry_s, it);

	if (*it == NULL)
		return STORE_NOT_FOUND;
	if (done)
		return STORE_OK;

	const enum store_result r = rmw_run(sc, &rm);

	*it = rm.made;
	return no_memory(sc, r);
}

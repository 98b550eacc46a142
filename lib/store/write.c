/*
 * write.c - fills values in pieces and publishes them; increments numbers and touches items.
 */
#include "account.h"
#include "floors.h"
#include "item_access.h"
#include "link.h"
#include "load_marks.h"
#include "memory.h"
#include "new_version.h"
#include "number.h"
#include "pinned.h"

/* Most tries on a key that other cores delete or store between two lookups. */
#define VIVIFY_TRIES_MAX 8u

/* Returns the optional fields of a new item. A large item always has an expiry field, so that a
 * touch need not copy it. In a store that never evicts every item has one, so that a touch needs no
 * memory. Items have a long cas once the floor is above the short ones. */
static uint32_t
form_for(const struct store *st, uint64_t hash, uint32_t value_len, uint32_t flags,
	 uint32_t expiry_s)
{
	const uint64_t floor =
		atomic_load_explicit(store_floor(st, hash_tag(hash)), memory_order_relaxed);
	uint32_t form = 0;

	if (flags != 0)
		form |= ITEM_HAS_FLAGS;
	if (expiry_s != 0 || st->never_evict)
		form |= ITEM_HAS_EXPIRY;
	if (value_len >= ITEM_PIN_MIN_BYTES)
		form |= ITEM_HAS_LONG | ITEM_HAS_EXPIRY;
	if (floor >= ITEM_CAS_MAX)
		form |= ITEM_HAS_LONG;
	return form;
}

static __attribute__((noinline)) enum store_result
no_object(struct store_core *sc, uint32_t form, uint32_t key_len, uint32_t value_len)
{
	const uint32_t bytes =
		item_first_bytes(form_cut(form, key_len, value_len), key_len, value_len);

	if (memory_is_coming(sc, bytes))
		return STORE_NOT_YET;
	account_refused(sc, bytes);
	return STORE_NO_MEMORY;
}

enum store_result
store_begin(struct store_core *sc, struct fill *f, struct view key, uint64_t hash,
	    uint32_t value_len, uint32_t flags, uint32_t expiry_s)
{
	uint32_t form, class;

	*f = (struct fill){.hash = hash, .value_len = value_len};
	ensure(key.len >= 1 && key.len <= ITEM_KEY_MAX);
	if (unlikely(value_len > store_value_max(sc->store)))
		return STORE_TOO_LARGE;
	/* If the key needs a long cas, add_fields() makes the field later. */
	if (likely((flags | expiry_s) == 0)) {
		f->item = item_new_fast(sc, key, value_len, &class);
		if (likely(f->item != NULL))
			return STORE_OK;
	}
	form = form_for(sc->store, hash, value_len, flags, expiry_s);
	f->item = item_new(sc, key, value_len, form);
	if (f->item == NULL)
		return no_object(sc, form, key.len, value_len);
	if (flags != 0)
		memcpy(f->item->body, &flags, sizeof flags);
	item_set_expiry(f->item, expiry_s);
	return STORE_OK;
}

void
store_fill_expiry(struct fill *f, uint32_t expiry_s)
{
	ensure((item_form(f->item) & ITEM_HAS_EXPIRY) != 0);
	item_set_expiry(f->item, expiry_s);
}

void
store_fill(struct store_core *sc, struct fill *f, const void *bytes, uint32_t len)
{
	ensure(len <= f->value_len - f->filled);
	if (likely((item_form(f->item) & ITEM_FORM_SHAPE) == 0))
		bytes_copy(f->item->body + item_key_len(f->item) + f->filled, bytes, len);
	else
		item_write(sc->store, f->item, f->filled, (struct view){bytes, len});
	f->filled += len;
}

static bool
is_plain_set(const struct store_conditions *t)
{
	return t->mode == STORE_SET && !(t->compare | t->set_cas | t->won | t->binary_key);
}

/* Publishes the item. If that is refused, the fill keeps it. */
static enum store_result
finish_new(struct store_core *sc, struct fill *f, const struct store_conditions *conditions,
	   const struct item **made)
{
	struct link link = {.item = f->item,
			    .hash = f->hash,
			    .conditions = *conditions,
			    .status = (conditions->won ? ITEM_WON : 0) |
				      (conditions->binary_key ? ITEM_BINARY_KEY : 0)};
	const enum link_verdict v = link_item(sc, &link);

	f->item = link.item; /* link_item may have replaced the item */
	if (v != LINK_DONE)
		return link.result;
	*made = link.item;
	f->item = NULL;
	return STORE_OK;
}

static enum store_result
finish_extend(struct store_core *sc, struct fill *f, const struct store_conditions *conditions,
	      const struct item **made)
{
	struct rmw rm = {
		.op = conditions->mode == STORE_APPEND ? RMW_APPEND : RMW_PREPEND,
		.key = item_key(f->item),
		.hash = f->hash,
		.conditions = *conditions,
		.more = f->item,
		.inherit = ITEM_BINARY_KEY,
	};
	const enum store_result r = rmw_run(sc, &rm);

	*made = rm.made;
	return r == STORE_NOT_FOUND ? STORE_NOT_STORED : r;
}

/* Alternates between extending and adding, since other cores may store or delete the key in
 * between. */
static enum store_result
finish_vivify(struct store_core *sc, struct fill *f, const struct store_conditions *conditions,
	      const struct item **made)
{
	struct store_conditions add = *conditions;
	enum store_result r = STORE_NOT_STORED;

	add.mode = STORE_ADD;
	for (uint32_t tries = 0; tries < VIVIFY_TRIES_MAX && r == STORE_NOT_STORED; tries++) {
		r = finish_extend(sc, f, conditions, made);
		if (r == STORE_NOT_STORED)
			r = finish_new(sc, f, &add, made);
	}
	return r == STORE_NOT_STORED ? STORE_NO_MEMORY : r;
}

static uint32_t
fill_bytes(const struct store_core *sc, const struct fill *f)
{
	return slab_size_of_ref(&sc->store->slab, item_ref(sc->store, f->item));
}

/* Finishes an unconditional set of a simple item. False: another case; nothing was done. */
static inline bool
finish_simple(struct store_core *sc, struct fill *f, const struct store_conditions *conditions,
	      const struct item **made)
{
	ensure(f->item != NULL && f->filled == f->value_len);
	if (unlikely(!is_plain_set(conditions)) ||
	    unlikely(!link_simple(sc, f->item, item_class(sc->store, f->item), f->hash)))
		return false;
	*made = f->item;
	f->item = NULL;
	return true;
}

/* Finishes a fill in all other cases: with conditions, or of an item that is not simple. */
static __attribute__((noinline)) enum store_result
finish(struct store_core *sc, struct fill *f, const struct store_conditions *conditions,
       const struct item **made)
{
	*made = NULL;

	const bool extend = conditions->mode == STORE_APPEND || conditions->mode == STORE_PREPEND;
	const enum store_result r = !extend              ? finish_new(sc, f, conditions, made)
				    : conditions->vivify ? finish_vivify(sc, f, conditions, made)
							 : finish_extend(sc, f, conditions, made);

	if (r == STORE_NOT_YET)
		return r;
	if (r == STORE_NO_MEMORY)
		account_refused(sc, fill_bytes(sc, f));
	/* As in memcached, a set that fails must not leave the old value. */
	if (r == STORE_NO_MEMORY && conditions->mode == STORE_SET)
		store_delete(sc, item_key(f->item), f->hash);
	store_abandon(sc, f);
	return r;
}

enum store_result
store_try_finish_with(struct store_core *sc, struct fill *f,
		      const struct store_conditions *conditions, const struct item **made)
{
	return likely(finish_simple(sc, f, conditions, made)) ? STORE_OK
							      : finish(sc, f, conditions, made);
}

enum store_result
store_finish_with(struct store_core *sc, struct fill *f, const struct store_conditions *conditions,
		  const struct item **made)
{
	enum store_result r;

	if (likely(finish_simple(sc, f, conditions, made)))
		return STORE_OK;
	r = finish(sc, f, conditions, made);
	if (r != STORE_NOT_YET)
		return r;
	account_refused(sc, fill_bytes(sc, f));
	store_abandon(sc, f);
	return STORE_NO_MEMORY;
}

enum store_result
store_finish(struct store_core *sc, struct fill *f, enum store_mode mode, uint64_t cas)
{
	const struct store_conditions conditions = {.mode = mode, .cas = cas};
	const struct item *made;

	return store_finish_with(sc, f, &conditions, &made);
}

/* Frees the object of an item that was not linked. */
static NOT_FLAT uint32_t
not_linked(struct store_core *sc, struct item *it)
{
	item_free(sc, it);
	return 0;
}

FLAT uint32_t
store_set_simple(struct store_core *sc, struct view key, uint64_t hash, struct view value)
{
	struct item *it;
	uint32_t class;

	ensure(key.len >= 1 && key.len <= ITEM_KEY_MAX);
	if (unlikely(value.len > store_value_max(sc->store)))
		return 0;
	it = item_new_fast(sc, key, value.len, &class);
	if (unlikely(it == NULL))
		return 0;
	bytes_copy(it->body + key.len, value.data, value.len);
	if (unlikely(!link_simple(sc, it, class, hash)))
		return not_linked(sc, it);
	return class + 1;
}

void
store_abandon(struct store_core *sc, struct fill *f)
{
	if (f->item == NULL)
		return;
	/* The item was never in the index, so it needs no grace period. */
	if (unlikely(item_pinned(f->item)))
		pinned_put(sc, f->item, item_ref(sc->store, f->item));
	else
		item_free(sc, f->item);
	f->item = NULL;
}

/* Stores the initial number under an absent key. */
static enum store_result
arith_create(struct store_core *sc, struct view key, uint64_t hash,
	     const struct store_arith_args *args, const struct item **made)
{
	const struct store_conditions conditions = {.mode = STORE_ADD,
						    .set_cas = args->set_cas,
						    .new_cas = args->new_cas,
						    .binary_key = args->binary_key};
	uint8_t text[NUMBER_DIGITS_MAX];
	const uint32_t len = number_print(text, args->initial);
	enum store_result r;
	struct fill f;

	r = store_begin(sc, &f, key, hash, len, 0, args->initial_expiry_s);
	if (r != STORE_OK)
		return r;
	store_fill(sc, &f, text, len);
	return store_finish_with(sc, &f, &conditions, made);
}

static enum store_result
arith_change(struct store_core *sc, struct view key, uint64_t hash,
	     const struct store_arith_args *args, struct store_arith_result *result)
{
	struct rmw rm = {
		.op = args->decr ? RMW_DECR : RMW_INCR,
		.key = key,
		.hash = hash,
		.conditions = {.compare = args->compare,
			       .cas = args->cas,
			       .set_cas = args->set_cas,
			       .new_cas = args->new_cas},
		.delta = args->delta,
		.new_expiry = args->new_expiry,
		.expiry_s = args->expiry_s,
		.inherit = ITEM_FETCHED | ITEM_WON | ITEM_STALE | ITEM_BINARY_KEY,
	};
	const enum store_result r = rmw_run(sc, &rm);

	result->value = rm.value;
	result->made = rm.made;
	return r;
}

enum store_result
store_arith_with(struct store_core *sc, struct view key, uint64_t hash,
		 const struct store_arith_args *args, struct store_arith_result *result)
{
	enum store_result r = STORE_NOT_STORED;

	*result = (struct store_arith_result){.made = NULL};
	for (uint32_t tries = 0; tries < VIVIFY_TRIES_MAX && r == STORE_NOT_STORED; tries++) {
		r = arith_change(sc, key, hash, args, result);
		if (r != STORE_NOT_FOUND || !args->vivify)
			return r;
		r = arith_create(sc, key, hash, args, &result->made);
		result->created = r == STORE_OK;
		result->value = args->initial;
	}
	return r == STORE_NOT_STORED ? STORE_NO_MEMORY : r;
}

/* Writes the expiry in place, under the bucket locks, so that a version made at the same time
 * inherits it. *found: the item, or NULL if none is alive. False: the item has no field for an
 * expiry. */
static bool
touch_in_place(struct store_core *sc, struct view key, uint64_t hash, uint32_t expiry_s,
	       const struct item **found)
{
	struct store *st = sc->store;
	struct key_lock lock;
	bool done = true;

	*found = NULL;
	index_lock_key(&st->ix, key, hash, LOCK_KEY, &lock);
	if (lock.spot.bucket != NULL) {
		struct item *it = item_at(st, bucket_ref(lock.spot.bucket, lock.spot.slot));

		if (item_dead(sc, it)) {
			account_missed(sc, it, store_generation(st));
		} else {
			*found = it;
			protocol_gap();
			done = expiry_s == 0 || (item_form(it) & ITEM_HAS_EXPIRY) != 0;
			item_set_expiry(it, expiry_s);
			item_note_due(st, it);
		}
	} else {
		/* A touch with an expiry in the past removes the item. */
		if (unlikely(sc->marks) && expiry_s != 0 && expiry_s <= sc->now_s)
			load_mark(sc, hash);
		if (unlikely(sc->tier != NULL))
			tier_shadow(sc, hash, store_generation(st), NULL);
	}
	index_unlock_key(&st->ix, &lock);
	return done;
}

enum store_result
store_expire_at(struct store_core *sc, struct view key, uint64_t hash, uint32_t expiry_s,
		const struct item **it)
{
	/* The copy keeps cas and status bits, since no byte that a client sees changes. */
	struct rmw rm = {.op = RMW_COPY,
			 .key = key,
			 .hash = hash,
			 .keep_cas = true,
			 .new_expiry = true,
			 .expiry_s = expiry_s,
			 .inherit = ITEM_FETCHED | ITEM_WON | ITEM_STALE | ITEM_BINARY_KEY};
	const bool done = touch_in_place(sc, key, hash, expiry_s, it);

	if (*it == NULL)
		return STORE_NOT_FOUND;
	if (done)
		return STORE_OK;

	const enum store_result r = rmw_run(sc, &rm);

	*it = rm.made;
	return r;
}

enum store_result
store_touch(struct store_core *sc, struct view key, uint64_t hash, uint32_t expiry_s,
	    const struct item **it)
{
	const enum store_result r = store_expire_at(sc, key, hash, expiry_s, it);

	if (r == STORE_OK)
		store_bump(sc, *it);
	return r;
}

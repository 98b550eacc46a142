/*
 * store_load.c - loads items of a file into the index, unless clients have written or removed their
 * keys.
 */
#include "store_saved.h"
#include "index/path.h"
#include "slab/eviction.h"
#include "store/account.h"
#include "store/item_access.h"
#include "store/load_marks.h"
#include "store/memory.h"
#include "store/rebalance.h"
#include "store/resize.h"
#include "store/retire_list.h"
#include "store/unlink.h"

/* Most attempts to find a slot for an item. Between two of them a cuckoo path runs, or a step of
 * the index's growth. */
#define LOAD_PATHS_MAX 64u
/* Entries of the retire list that one attempt may need. */
#define LOAD_RETIRE_MAX 8u
/* ---- begin and end ---- */

void
store_load_prepare(struct store *st, const uint64_t floors[FLOORS], uint32_t flush_due_s)
{
	ensure(st->marks.words != NULL);
	for (uint32_t i = 0; i < FLOORS; i++)
		if (floors[i] <= FLOOR_END)
			atomic_store_explicit(&st->floors[i], floors[i], memory_order_relaxed);
	/* A flush before the first loaded item must have its effect. */
	st->linked_at_flush = UINT64_MAX;
	st->marks.generation = store_generation(st);
	atomic_store_explicit(&st->marks.used, true, memory_order_relaxed);
	for (uint32_t i = 0; i < st->core_count; i++)
		store_core_marks(&st->cores[i], true);
	if (flush_due_s != 0)
		atomic_store_explicit(&st->due_flush,
				      store_due_flush(flush_due_s, st->marks.generation),
				      memory_order_relaxed);
}

void
store_floors_raise(struct store *st, uint64_t cas)
{
	for (uint32_t tag = 0; tag < FLOORS; tag++)
		floor_raise(st, (uint16_t)tag, cas);
}

/* Most resizes for the announced items; each multiplies the size of the index. A resize may take as
 * many turns as clear an index as large as the memory. */
#define EXPECT_RESIZES_MAX 8u
#define EXPECT_TURNS_MAX   (1u << 22)

void
store_load_expect(struct store_core *sc, uint64_t items)
{
	for (uint32_t i = 0; i < EXPECT_RESIZES_MAX && resize_for(sc, items); i++)
		for (uint32_t n = 0; n < EXPECT_TURNS_MAX && resize_more(sc); n++)
			store_turn(sc, sc->now_s);
}

void
store_load_end(struct store *st)
{
	atomic_store_explicit(&st->marks.used, false, memory_order_relaxed);
}

void
store_load_look(const struct store_core *sc, struct store_saved_item *saved)
{
	struct probe probe;

	saved->hash = store_probe(sc, &probe, saved->key);
	load_mark_prefetch(sc->store, saved->hash);
}

/* ---- memory, without an eviction ---- */

static uint32_t
form_of(const struct store *st, const struct store_saved_item *saved)
{
	uint32_t form = 0;

	if (saved->flags != 0)
		form |= ITEM_HAS_FLAGS;
	if (saved->expiry_s != 0 || st->never_evict)
		form |= ITEM_HAS_EXPIRY;
	if (saved->value_len >= ITEM_PIN_MIN_BYTES)
		form |= ITEM_HAS_LONG | ITEM_HAS_EXPIRY;
	if (saved->cas > ITEM_CAS_MAX)
		form |= ITEM_HAS_LONG;
	return form_cut(form, saved->key.len, saved->value_len);
}

/* Pages that a value may take for its first object and its last chunk. */
#define PAGES_BESIDE 2u

/* True if there is enough free memory for item_new to evict nothing. */
static bool
has_room(struct store_core *sc, const struct store_saved_item *saved, uint32_t form)
{
	struct slab *sl = &sc->store->slab;
	const uint32_t keep = rebalance_pool_keep(sc->store), pool = slab_pool(sl);
	const uint32_t class =
		slab_class_for(sl, item_first_bytes(form, saved->key.len, saved->value_len));
	uint32_t ref, pages;

	if ((form & ITEM_IS_CHUNKED) != 0) {
		const struct slab_class *c = &sl->classes[slab_class_for(sl, ITEM_CHUNK_BYTES)];

		pages = item_chunk_count(saved->value_len) / c->per_page + 1;
		return pool > keep + pages + PAGES_BESIDE + POOL_KEEP;
	}
	if (pool > keep || magazine_count(&sc->magazines[class]) != 0)
		return true;
	/* The class has a free object after this allocation, which also refills the magazine of a
	 * class of small objects. */
	ref = slab_alloc(sl, sc->magazines, class, keep);
	if (ref != 0)
		slab_free(sl, sc->magazines, ref);
	return magazine_count(&sc->magazines[class]) != 0;
}

/* Cache lines of a new item to prefetch. The hardware prefetches the rest of a longer item. */
#define LINES_AHEAD 16u

static void
prefetch_lines(const struct item *it, uint32_t bytes)
{
	const uint32_t most = LINES_AHEAD * CACHE_LINE_BYTES;

	for (uint32_t at = 0; at < bytes && at < most; at += CACHE_LINE_BYTES)
		prefetch((const uint8_t *)it + at);
}

enum store_loaded
store_load_begin(struct store_core *sc, struct fill *f, const struct store_saved_item *saved)
{
	const uint32_t form = form_of(sc->store, saved);

	*f = (struct fill){.hash = saved->hash, .value_len = saved->value_len};
	ensure(saved->key.len >= 1 && saved->key.len <= ITEM_KEY_MAX);
	if (store_generation(sc->store) != sc->store->marks.generation)
		return STORE_LOAD_FLUSHED;
	if (saved->value_len > store_value_max(sc->store) || !has_room(sc, saved, form))
		return STORE_LOAD_NO_ROOM;
	f->item = item_new(sc, saved->key, saved->value_len, form);
	if (f->item == NULL)
		return STORE_LOAD_NO_ROOM;
	if (saved->flags != 0)
		memcpy(f->item->body, &saved->flags, sizeof saved->flags);
	/* An expiry of 0 is not written, since that would wait for the item's first cache line. */
	if (saved->expiry_s != 0)
		item_set_expiry(f->item, saved->expiry_s);
	prefetch_lines(f->item, item_first_bytes(form, saved->key.len, saved->value_len));
	return STORE_LOADED;
}

/* ---- publishing ---- */

static void
publish(struct store_core *sc, struct item *it, const struct place *place, struct spot spot,
	const struct store_saved_item *saved)
{
	struct store *st = sc->store;
	const uint32_t generation = st->marks.generation;
	const uint32_t status = saved->bits >> STORE_SAVED_STATUS_SHIFT << ITEM_STATUS_SHIFT;
	const enum object_state state = (enum object_state)(saved->bits & STORE_SAVED_STATE);

	ensure(item_set_cas(it, saved->cas));
	item_set_head(it, status & ITEM_STATUS_MASK, item_value_len(it), item_key_len(it));
	it->cas_form |= (generation & ITEM_FLUSH_MASK) << ITEM_FLUSH_SHIFT;
	account_in(sc, it, generation);
	item_set_live(st, it, eviction_load(&st->slab, state));
	protocol_gap();
	index_put(&st->ix, place, spot, item_ref(st, it));
}

enum load_step { LOAD_DONE, LOAD_CROWDED };

/* Publishes an item, unless a client has written or removed its key. Under the lock. */
static enum load_step
load_once(struct store_core *sc, const struct key_lock *lock, struct item *it,
	  const struct store_saved_item *saved, enum store_loaded *result)
{
	struct store *st = sc->store;
	struct spot spot;

	*result = STORE_LOAD_NEWER;
	if (lock->spot.bucket != NULL)
		return LOAD_DONE;
	protocol_gap();
	if (load_is_marked(st, saved->hash))
		return LOAD_DONE;
	*result = STORE_LOAD_FLUSHED;
	if (store_generation(st) != st->marks.generation)
		return LOAD_DONE;
	*result = STORE_LOAD_NO_ROOM;
	spot = index_spot_empty(&st->ix, &lock->place);
	if (spot.bucket == NULL)
		spot = path_step(&sc->ic, &lock->place);
	if (spot.bucket == NULL)
		return LOAD_CROWDED;
	publish(sc, it, &lock->place, spot, saved);
	*result = STORE_LOADED;
	return LOAD_DONE;
}

enum store_loaded
store_load_finish(struct store_core *sc, struct fill *f, const struct store_saved_item *saved)
{
	struct index *ix = &sc->store->ix;
	enum store_loaded result = STORE_LOAD_NO_ROOM;
	enum load_step step = LOAD_CROWDED;

	ensure(f->item != NULL && f->filled == f->value_len);
	for (uint32_t tries = 0; tries < LOAD_PATHS_MAX && step == LOAD_CROWDED &&
				 retire_list_has_space(sc, LOAD_RETIRE_MAX);
	     tries++) {
		struct key_lock lock;

		index_lock_key(ix, saved->key, saved->hash, LOCK_FOR_INSERT, &lock);
		step = load_once(sc, &lock, f->item, saved, &result);
		index_unlock_key(ix, &lock);
		if (step == LOAD_CROWDED && !path_free_slot(&sc->ic, &lock.place, NULL, 0) &&
		    !resize_more(sc))
			break;
	}
	if (result != STORE_LOADED)
		store_abandon(sc, f);
	f->item = NULL;
	return result;
}

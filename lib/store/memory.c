/*
 * memory.c - allocates objects for new items.
 *
 * An evicted object is free only after a grace period, and no call waits for that. So once all
 * pages have classes, every class evicts ahead of need. A few pages stay in the pool as a reserve,
 * for classes that own no page; they are enough for one value of the largest size. Pages taken from
 * the reserve are replaced by evacuating others (rebalance.c).
 *
 * A large value begins once there is memory for all of it. Until then its caller asks again each
 * turn.
 */
#include "memory.h"
#include "evict.h"
#include "expire.h"
#include "item_access.h"
#include "leaving.h"
#include "pinned.h"
#include "rebalance.h"
#include "retire_list.h"
#include "sweep.h"
#include "unlink.h"

/* Returns how many items this core has stored in the class since its last eviction there. */
static uint32_t
stored_since(const struct store_core *sc, uint32_t class)
{
	return (uint32_t)counter_read(&sc->class_counters[class][CLASS_LINKED]) -
	       sc->magazines[class].evicted_at;
}

/* Evicts about as many items as this core has stored, so that it stores into objects that it
 * evicted itself: they and their states are in its cache. If more than half of the objects wanted
 * ahead are missing, it evicts all that are missing, for all cores. */
static void
evict_ahead(struct store_core *sc, uint32_t class)
{
	struct slab *sl = &sc->store->slab;
	const struct slab_class *c = &sl->classes[class];
	const uint32_t want = slab_class_ahead(c) + 1, waiting = slab_class_coming(c);
	const uint32_t stored = stored_since(sc, class);
	const bool some = waiting >= want / 2;
	const uint32_t share = stored > c->batch ? stored : c->batch;
	/* A class that has enough for now leaves evictions to later refills. */
	const uint32_t most = some ? EVICT_TURN : EVICT_TURN_MOST;
	uint32_t n = want - waiting;

	if (sc->store->never_evict || waiting >= want || !rebalance_pool_is_low(sc->store) ||
	    sc->evicted_ahead >= most)
		return;
	if (c->batch != 0 && some && n > share)
		n = share;
	if (n > EVICT_TURN_MOST - sc->evicted_ahead)
		n = EVICT_TURN_MOST - sc->evicted_ahead;
	sc->magazines[class].evicted_at += stored;
	sc->evicted_ahead += evict_for_memory(sc, class, n);
}

/* Evicts as many items as were stored since the last eviction, once they are a batch, so that
 * memory is free again before the magazine is empty. Only in the class whose items were retired
 * last, and only if this core has evicted there because its magazine was empty, which a core that
 * loads a file never does. In other classes an empty magazine evicts. */
void
memory_turn(struct store_core *sc)
{
	const uint32_t class = sc->unpublished_class;
	const uint32_t batch = sc->store->slab.classes[class].batch;

	sc->evacuated[EVACUATION_FOR_SETS] = sc->evacuated[EVACUATION_FOR_LARGE] = 0;
	sc->crowded = sc->evicted_ahead = 0;
	if (batch != 0 && sc->magazines[class].evicted_at != 0 && stored_since(sc, class) >= batch)
		evict_ahead(sc, class);
	if (unlikely(sc->idle_expiry != 0))
		expire_idle(sc);
}

/* Notes that objects are requested from a class. Its need is the most objects requested within a
 * grace period, and decays. Cores may overwrite each other's counts. */
static void
note_need(struct store_core *sc, struct slab_class *c, uint32_t want)
{
	const uint32_t epoch = (uint32_t)epoch_now(&sc->store->epoch);
	uint32_t need = atomic_load_explicit(&c->need, memory_order_relaxed);
	uint32_t taken = atomic_load_explicit(&c->taken, memory_order_relaxed);

	if (epoch - atomic_load_explicit(&c->taken_epoch, memory_order_relaxed) > EPOCH_GRACE) {
		if (taken << NEED_SHIFT < need)
			need -= (need - (taken << NEED_SHIFT)) >> NEED_SHIFT;
		taken = 0;
		atomic_store_explicit(&c->taken_epoch, epoch, memory_order_relaxed);
	}
	taken += want;
	atomic_store_explicit(&c->taken, taken, memory_order_relaxed);
	if (taken << NEED_SHIFT > need)
		need = taken << NEED_SHIFT;
	atomic_store_explicit(&c->need, need, memory_order_relaxed);
}

/* True if the retire list has little space left, because another core has not turned for long. New
 * fills are refused then, so that those begun can finish. */
static bool
retire_list_is_full(const struct store_core *sc)
{
	return sc->retire_list.tail - sc->retire_list.head >
	       RETIRE_LIST_MAX - RETIRE_LIST_LEFT_BY_BEGIN;
}

/* Notes that the class took a page of the reserve while objects of its own are within their grace
 * period. It is the next class to give up a page. */
static void
note_borrowed(struct store_core *sc, uint32_t class)
{
	struct slab *sl = &sc->store->slab;
	const struct slab_class *c = &sl->classes[class];

	retire_list_publish(sc); /* counts the objects just evicted, too */
	if (slab_class_pages(c) > 1 &&
	    atomic_load_explicit(&c->retired_count, memory_order_relaxed) != 0)
		atomic_store_explicit(&sl->borrower, class + 1, memory_order_relaxed);
}

/* True if the class, in a store that never evicts, has only its last free objects: one a core. New
 * versions alone may take them, so that a counter still counts and an item can be marked in a full
 * store. Each new version later frees the old one's object. */
static bool
is_left_to_versions(struct store_core *sc, uint32_t class, uint32_t leave)
{
	struct slab *sl = &sc->store->slab;
	const _Atomic uint32_t *free = &sl->classes[class].free_count;

	if (likely(!sc->store->never_evict) || sc->makes_version)
		return false;
	while (atomic_load_explicit(free, memory_order_relaxed) <= sc->store->core_count)
		if (!slab_grant(sl, class, leave))
			return true;
	return false;
}

static uint32_t
take_object(struct store_core *sc, uint32_t class, uint32_t leave)
{
	if (is_left_to_versions(sc, class, leave))
		return 0;
	return slab_alloc(&sc->store->slab, sc->magazines, class, leave);
}

/* Allocates an object when the magazine is empty: from the class's pages, the pool, the reserve, or
 * a larger class. leave: how many pages of the pool it may not take. */
static __attribute__((noinline)) uint32_t
alloc_slow(struct store_core *sc, uint32_t class, uint32_t leave)
{
	struct slab *sl = &sc->store->slab;
	struct slab_class *own = &sl->classes[class];
	uint32_t ref;

	if (leave == 0)
		note_need(sc, own, own->batch == 0 ? 1 : own->batch);
	sweep_on_demand(sc);
	retire_list_reclaim(sc);
	retire_list_publish(sc);
	if (unlikely(retire_list_is_full(sc)) && leave == 0)
		return 0;
	/* While the reserve is short, each core that takes memory evacuates some objects. A chunked
	 * item does not, since chunks_at_hand has found memory for all of it. */
	if (leave == 0) {
		evict_ahead(sc, class);
		if (slab_pool(sl) < sl->reserve && !rebalance_is_stalled(sc))
			rebalance_evacuate(sc, EVACUATION_FOR_SETS, sl->reserve);
	}
	ref = take_object(sc, class, rebalance_pool_keep(sc->store));
	if (ref != 0)
		return ref;
	count(sc, STORE_GRACE_WAITS, 1);
	ref = take_object(sc, class, leave);
	if (ref != 0 && leave == 0)
		note_borrowed(sc, class);
	for (uint32_t c = class + 1; c < sl->class_count && ref == 0; c++)
		ref = take_object(sc, c, leave);
	return ref;
}

static inline uint32_t
alloc(struct store_core *sc, uint32_t bytes, uint32_t leave)
{
	const uint32_t class = slab_class_for(&sc->store->slab, bytes);
	struct magazine *m = &sc->magazines[class];
	const uint32_t count = magazine_count(m);

	if (unlikely(count == 0))
		return alloc_slow(sc, class, leave);
	magazine_set(m, count - 1);
	return m->ref[count - 1];
}

/* A last chunk of at most this size uses the same class as the item's first object. So a large
 * value that takes pages from the reserve needs them for two classes, not three. */
#define CHUNK_SHORT_BYTES 2048u

static uint32_t
last_chunk_bytes(uint32_t value_len)
{
	return (uint32_t)sizeof(struct item_chunk) +
	       item_chunk_len(value_len, item_chunk_count(value_len) - 1);
}

uint32_t
item_first_bytes(uint32_t form, uint32_t key_len, uint32_t value_len)
{
	const uint32_t head = item_head_bytes(form, key_len, value_len);

	if ((form & ITEM_IS_CHUNKED) == 0 || last_chunk_bytes(value_len) > CHUNK_SHORT_BYTES)
		return head;
	return head > last_chunk_bytes(value_len) ? head : last_chunk_bytes(value_len);
}

/* Returns the bytes to allocate for chunk i. */
static uint32_t
chunk_bytes(const struct item *it, uint32_t value_len, uint32_t i)
{
	const uint32_t bytes = (uint32_t)sizeof(struct item_chunk) + item_chunk_len(value_len, i);

	return bytes > CHUNK_SHORT_BYTES
		       ? bytes
		       : item_first_bytes(item_form(it), item_key_len(it), value_len);
}

/* Allocates the chunks in order. Returns how many it allocated before memory ran out. */
static uint32_t
alloc_chunks(struct store_core *sc, struct item *it, uint32_t value_len)
{
	const uint32_t chunks = item_chunk_count(value_len);

	for (uint32_t i = 0; i < chunks; i++) {
		const uint32_t ref = alloc(sc, chunk_bytes(it, value_len, i), POOL_KEEP);
		struct item_chunk *c = arena_at(&sc->store->arena, ref);

		if (ref == 0)
			return i;
		atomic_init(&c->marker, 0);
		c->owner = item_ref(sc->store, it);
		memcpy(item_tail(it) + i * sizeof ref, &ref, sizeof ref);
	}
	return chunks;
}

/* Pages that a large value may need besides those for its full chunks: one for its first object and
 * one for its last chunk. */
#define PAGES_BESIDE 2u

static bool
chunks_are_free(const struct slab *sl, uint32_t class, uint32_t chunks)
{
	const struct slab_class *c = &sl->classes[class];
	const uint32_t pool = slab_pool(sl);
	const uint32_t keep = POOL_KEEP + PAGES_BESIDE;
	const uint32_t pages = pool > keep ? pool - keep : 0;

	return atomic_load_explicit(&c->free_count, memory_order_relaxed) + pages * c->per_page >=
	       chunks;
}

uint32_t
memory_chunks_max(const struct store_core *sc)
{
	const struct slab *sl = &sc->store->slab;
	const struct slab_class *c = &sl->classes[slab_class_for(sl, ITEM_CHUNK_BYTES)];
	const uint32_t pages = sc->store->arena.page_count;
	/* Each class that uses pages keeps one. */
	const uint32_t others = atomic_load_explicit(&sl->index_pages, memory_order_relaxed) +
				POOL_KEEP + PAGES_BESIDE + pages / 16;

	return pages > others ? (pages - others) * c->per_page : 0;
}

/* Sets pages aside for a large value. Otherwise small values would take them one by one. */
static void
hold_pages(struct store *st, uint32_t pages)
{
	atomic_store_explicit(&st->held, epoch_now(&st->epoch) << 32 | pages, memory_order_relaxed);
}

/* True if there is memory for the whole of a large value; one that had half of it would block
 * others that wait. If the class of chunks has too little, evacuates pages of other classes for
 * it. */
static bool
chunks_at_hand(struct store_core *sc, uint32_t value_len)
{
	struct slab *sl = &sc->store->slab;
	const uint32_t class = slab_class_for(sl, ITEM_CHUNK_BYTES);
	struct slab_class *c = &sl->classes[class];
	const uint32_t chunks = item_chunk_count(value_len);
	const uint32_t objects = slab_class_pages(c) * c->per_page, pinned = slab_class_pinned(c);
	const uint32_t owned = objects > pinned ? objects - pinned : 0;
	const uint32_t pages = chunks / c->per_page + 1 + POOL_KEEP + PAGES_BESIDE;
	uint32_t done = 0;

	/* The request counts even for fewer chunks than AHEAD_MIN, since nothing else makes their
	 * class evict. */
	note_need(sc, c, chunks > AHEAD_MIN ? chunks : AHEAD_MIN);
	retire_list_publish(sc);
	if (retire_list_is_full(sc))
		retire_list_reclaim(sc);
	if (retire_list_is_full(sc))
		return false;
	if (unlikely(pinned_are_many(sc->store)))
		return chunks_are_free(sl, class, chunks);
	evict_ahead(sc, class);
	if (chunks_are_free(sl, class, chunks))
		return true;
	retire_list_reclaim(sc);
	retire_list_publish(sc);
	if (chunks_are_free(sl, class, chunks))
		return true;
	count(sc, STORE_GRACE_WAITS, 1);
	if (sc->store->never_evict)
		return false;
	hold_pages(sc->store, pages);
	if (owned / 2 >= chunks && slab_class_coming(c) < chunks)
		done = evict_for_memory(sc, class, EVICT_SLICE / 2);
	/* The class owns too few chunks, or all that it owns are being filled. */
	if (owned / 2 < chunks || (done == 0 && slab_class_coming(c) < chunks))
		rebalance_evacuate(sc, EVACUATION_FOR_LARGE, pages);
	return chunks_are_free(sl, class, chunks);
}

/* True if any core has retired or pinned objects, whose memory will be free. */
static bool
something_returns(const struct store_core *sc)
{
	const struct slab *sl = &sc->store->slab;

	for (uint32_t i = 0; i < sl->class_count; i++)
		if ((retire_list_waiting(sc, i) | slab_class_pinned(&sl->classes[i])) != 0)
			return true;
	return false;
}

bool
store_is_low_on_memory(const struct store_core *sc)
{
	const struct slab *sl = &sc->store->slab;

	return sc->retire_list.tail - sc->retire_list.head > RETIRE_LIST_MAX / 2 ||
	       slab_pool(sl) < sl->reserve;
}

bool
memory_is_coming(const struct store_core *sc, uint32_t bytes)
{
	const struct slab *sl = &sc->store->slab;
	const uint32_t chunk = slab_class_for(sl, ITEM_CHUNK_BYTES);

	if (leaving_note_need(sc->store) || store_awaits_sweep(sc->store) ||
	    retire_list_is_full(sc))
		return true;
	/* In a store that never evicts nothing but retired objects becomes free, and only for their
	 * own class. */
	if (sc->store->never_evict)
		return (retire_list_waiting(sc, slab_class_for(sl, bytes)) |
			retire_list_waiting(sc, chunk)) != 0;
	return sc->retire_list.head != sc->retire_list.tail || slab_pool(sl) > POOL_KEEP ||
	       slab_evacuating_for_pool(sl) != 0 || something_returns(sc);
}

static void
init_fields(struct item *it, uint32_t value_len, uint32_t form)
{
	memset(it->body, 0, form_bytes(form));
	if (form & ITEM_HAS_LONG)
		memcpy(item_long_at(it) + offsetof(struct item_long, value_len), &value_len,
		       sizeof value_len);
}

static __attribute__((noinline)) struct item *
with_chunks(struct store_core *sc, struct item *it, uint32_t value_len)
{
	const uint32_t got = alloc_chunks(sc, it, value_len);

	if (got == item_chunk_count(value_len))
		return it;
	item_free_objects(sc, it, got);
	return NULL;
}

struct item *
item_new(struct store_core *sc, struct view key, uint32_t value_len, uint32_t form)
{
	form = form_cut(form, key.len, value_len);
	if (unlikely((form & ITEM_IS_CHUNKED) != 0) && !chunks_at_hand(sc, value_len))
		return NULL;

	const uint32_t ref = alloc(sc, item_first_bytes(form, key.len, value_len),
				   form & ITEM_IS_CHUNKED ? POOL_KEEP : 0);
	struct item *it = item_at(sc->store, ref);

	if (unlikely(ref == 0))
		return NULL;
	item_set_head(it, 0, value_len, key.len);
	it->cas_form = form;
	if (unlikely(form != 0))
		init_fields(it, value_len, form);
	bytes_copy((uint8_t *)item_key_bytes(it), key.data, key.len);
	return likely((form & ITEM_IS_CHUNKED) == 0) ? it : with_chunks(sc, it, value_len);
}

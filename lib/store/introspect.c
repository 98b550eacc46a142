/*
 * introspect.c - figures of the store and its classes, the memory limit, walks over items.
 */
#include "account.h"
#include "load_marks.h"

const struct counter_name store_counter_names[STORE_COUNTER_COUNT] = {STORE_COUNTERS(COUNTER_NAME)};

/* Pages that a memory limit always leaves to items, besides the reserve and the index. */
#define LIMIT_PAGES_MIN 4u

/* Returns all - some; 0 if that is negative, because other cores count meanwhile. */
static uint64_t
without(uint64_t all, uint64_t some)
{
	return all > some ? all - some : 0;
}

void
store_usage_mt(const struct store *store, struct store_usage *out)
{
	const struct tally flushed = account_flushed(store);

	out->items = without(store_balance(store, STORE_ITEMS_LINKED, STORE_ITEMS_UNLINKED),
			     flushed.items);
	out->item_bytes = without(store_balance(store, STORE_BYTES_LINKED, STORE_BYTES_UNLINKED),
				  flushed.bytes);
	out->flushed = flushed.items;
	out->memory_bytes = store->memory_bytes;
	out->limit_bytes = atomic_load_explicit(&store->limit_bytes, memory_order_relaxed);
	out->index_slots = (uint64_t)index_bucket_count(&store->ix) * BUCKET_SLOTS;
	out->index_bytes = (uint64_t)index_bucket_count(&store->ix) * sizeof(struct bucket);
	out->page_bytes = 1ull << store->arena.page_shift;
	out->pages_total = store->arena.page_count;
	out->pages_used = out->pages_total -
			  atomic_load_explicit(&store->slab.pool_count, memory_order_relaxed);
	out->pages_moved = atomic_load_explicit(&store->slab.evacuated_pages, memory_order_relaxed);
	out->pages_moving =
		atomic_load_explicit(&store->slab.evacuating_count, memory_order_relaxed);
	out->index_resizing =
		atomic_load_explicit(&store->resize_phase, memory_order_relaxed) != RESIZE_NONE;
}

const struct counter *
store_counters(const struct store_core *sc)
{
	return sc->counters;
}

/* ---- classes ---- */

uint32_t
store_class_count_mt(const struct store *store)
{
	return store->slab.class_count;
}

void
store_class_map(const struct store *store, struct store_class_map *map)
{
	*map = (struct store_class_map){
		.items = store->arena.base,
		.classes = &store->slab.pages[0].class,
		.page_shift = store->arena.page_shift,
		.stride = sizeof store->slab.pages[0],
		.bytes = (size_t)store->arena.page_count << store->arena.page_shift,
	};
}

uint32_t
store_class_of(const struct store_core *sc, const struct item *it)
{
	struct store_class_map map;

	store_class_map(sc->store, &map);
	return store_has_item(&map, it)
		       ? slab_class_of_ref(&sc->store->slab, item_ref(sc->store, it)) + 1
		       : 0;
}

void
store_class_usage_mt(const struct store *store, uint32_t class, uint32_t now_s,
		     struct store_class_usage *out)
{
	ensure(class >= 1 && class <= store->slab.class_count);

	const struct slab_class *c = &store->slab.classes[class - 1];
	const uint32_t next_hand_passed_s =
		atomic_load_explicit(&c->next_hand_passed_s, memory_order_relaxed);

	*out = (struct store_class_usage){.size = c->size, .per_page = c->per_page};
	out->pages = atomic_load_explicit(&c->page_count, memory_order_relaxed);
	out->idle_s =
		out->pages != 0 && now_s > next_hand_passed_s ? now_s - next_hand_passed_s : 0;
	out->objects = (uint64_t)out->pages * c->per_page;
	out->free = atomic_load_explicit(&c->free_count, memory_order_relaxed);
	for (uint32_t i = 0; i < store->core_count; i++)
		out->free += magazine_count(&store->cores[i].magazines[class - 1]);
	out->used = out->objects > out->free ? out->objects - out->free : 0;
	for (uint32_t i = 0; i < store->core_count; i++)
		for (uint32_t n = 0; n < STORE_CLASS_COUNTER_COUNT; n++)
			out->counted[n] +=
				counter_read(&store->cores[i].class_counters[class - 1][n]);

	const struct tally flushed = account_flushed_of(store, class - 1);

	out->items = without(without(out->counted[CLASS_LINKED], out->counted[CLASS_UNLINKED]),
			     flushed.items);
	out->item_bytes = without(
		without(out->counted[CLASS_BYTES_LINKED], out->counted[CLASS_BYTES_UNLINKED]),
		flushed.bytes);
}

uint32_t
store_idle_s(const struct store_core *sc, const struct item *it)
{
	const struct slab *sl = &sc->store->slab;
	const uint32_t ref = item_ref(sc->store, it);
	const struct page *p = &sl->pages[slab_page_of(sl, ref)];
	const uint32_t hand_passed_s =
		atomic_load_explicit(&p->hand_passed_s, memory_order_relaxed);
	const uint32_t stored_s = atomic_load_explicit(&p->stored_s, memory_order_relaxed);
	/* The item may have been stored by the last store into the page, so that time bounds its
	 * age. */
	const uint32_t since_s = hand_passed_s > stored_s ? hand_passed_s : stored_s;

	/* The reference bit of a stamped item is set a turn later (item_set_reference_stamp). */
	if ((item_head(it) & ITEM_REFERENCE_STAMP) == slab_reference_stamp(sl) ||
	    slab_is_referenced(sl, ref) || since_s > sc->now_s)
		return 0;
	return sc->now_s - since_s;
}

/* ---- memory ---- */

/* Returns the class with the most pages, except the one named. */
static uint32_t
class_with_most(const struct slab *sl, uint32_t but)
{
	const struct slab_class *c = sl->classes;
	uint32_t best = but == 0 ? 1 : 0;

	for (uint32_t i = 0; i < sl->class_count; i++)
		if (i != but && slab_class_pages(&c[i]) > slab_class_pages(&c[best]))
			best = i;
	return best;
}

enum store_result
store_page_move_mt(struct store *store, uint32_t from, uint32_t to)
{
	struct slab *sl = &store->slab;
	const uint32_t giver = from == STORE_ANY_CLASS ? class_with_most(sl, to - 1) : from - 1;

	ensure(from <= sl->class_count && to >= 1 && to <= sl->class_count && from != to);
	if (atomic_load_explicit(&sl->evacuating_count, memory_order_relaxed) >= slab_moves_max(sl))
		return STORE_NOT_YET;
	if (store->never_evict || slab_class_pages(&sl->classes[giver]) < 2 ||
	    !slab_evacuate_start(sl, giver))
		return STORE_NO_MEMORY;
	/* Class `to` gets its page from the pool, and the pool gets the evacuated one later. */
	(void)slab_grant(sl, to - 1, 0);
	return STORE_OK;
}

#define BEGUN_PART 4u /* unfinished values may take 1/BEGUN_PART of the limit */

bool
store_too_large(const struct store_core *sc, uint32_t value_len)
{
	return value_len > store_value_max(sc->store);
}

uint64_t
store_begun_max(const struct store_core *sc)
{
	const size_t limit = atomic_load_explicit(&sc->store->limit_bytes, memory_order_relaxed);
	const uint64_t part = limit / BEGUN_PART, one = store_value_max(sc->store);

	return part > one ? part : one;
}

/* Returns the longest value under a limit: half of that limit. A value of the default size is
 * always possible, since the reserve has pages for it. */
static uint32_t
value_max_under(const struct store *st, size_t limit)
{
	const size_t max = limit / 2 > STORE_VALUE_MAX ? limit / 2 : STORE_VALUE_MAX;

	return max < st->value_most ? (uint32_t)max : st->value_most;
}

bool
store_limit_mt(struct store *store, size_t bytes)
{
	struct slab *sl = &store->slab;
	const uint32_t page_shift = store->arena.page_shift;
	const size_t a_page =
		slab_bytes_per_page(page_shift, store->arena.shift) + ((size_t)1 << page_shift);
	const uint32_t keep = sl->reserve + LIMIT_PAGES_MIN +
			      atomic_load_explicit(&sl->index_pages, memory_order_relaxed);

	if (bytes < STORE_LIMIT_MIN || bytes > store->memory_bytes)
		return false;

	size_t beyond = (store->memory_bytes - bytes + a_page - 1) / a_page;

	if (beyond + keep > store->arena.page_count)
		beyond = store->arena.page_count > keep ? store->arena.page_count - keep : 0;
	/* Relaxed: cores see it in some turn; nothing is read through it. */
	atomic_store_explicit(&sl->withheld, (uint32_t)beyond, memory_order_relaxed);
	atomic_store_explicit(&store->limit_bytes, bytes, memory_order_relaxed);
	atomic_store_explicit(&store->value_max, value_max_under(store, bytes),
			      memory_order_relaxed);
	return true;
}

/* ---- watching ---- */

void
store_watch_evictions(struct store_core *sc, store_evicted_fn *fn, void *arg)
{
	sc->evicted_arg = arg;
	sc->evicted = fn;
	store_core_marks(sc, sc->marks);
}

/* ---- walks ---- */

#define CURRENT_NS 150u /* estimated time of a lookup */

/* The core that walks, and the class that it shows. */
struct shown {
	struct store_core *core;
	uint32_t class;
};

/* Returns the present version of a key that the walk found, if it is alive and of the class. */
static const struct item *
current(const struct index_walk *w, const struct walk_found *f, uint32_t *work_ns)
{
	const struct shown *shown = w->arg;
	const struct store_core *sc = shown->core;
	const uint32_t class = shown->class;
	/* Read before the lookup, as in get.c. */
	const uint32_t generation = store_generation(sc->store);
	const struct index *ix = &sc->store->ix;
	const struct item *found = item_at(sc->store, f->ref);
	struct place p = index_place(ix, f->hash);
	uint32_t tries;

	if (class != STORE_ALL_CLASSES && class != store_class_of(sc, found))
		return NULL;
	*work_ns += CURRENT_NS;

	const uint32_t ref = index_find(ix, item_key(found), &p, &tries);
	const struct item *it = item_at(sc->store, ref);

	if (ref == 0 || item_flushed(it, generation) || item_expired(it, sc->now_s))
		return NULL;
	return class == STORE_ALL_CLASSES || class == store_class_of(sc, it) ? it : NULL;
}

static struct index_walk
walk_of(struct store_core *sc, struct shown *shown)
{
	return (struct index_walk){.ix = &sc->store->ix,
				   .places = &sc->store->walks,
				   .step = &sc->walk_step,
				   .now_s = sc->now_s,
				   .current = current,
				   .arg = shown};
}

void
store_walk_end(struct store_core *sc, struct walk_cursor *cursor)
{
	const struct index_walk w = walk_of(sc, NULL);

	index_walk_end(&w, cursor);
}

uint32_t
store_walk(struct store_core *sc, struct walk_cursor *cursor, uint32_t class,
	   const struct item **items, uint32_t max)
{
	struct shown shown = {.core = sc, .class = class};
	const struct index_walk w = walk_of(sc, &shown);

	return index_walk_next(&w, cursor, items, max);
}

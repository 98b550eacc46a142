/*
 * resize.c - chooses the size of the index, and resizes it in slices.
 *
 * The index begins with one page and follows the number of items. While there are free pages it
 * grows early and in large steps. Once memory is full, each page of index takes a page from items.
 * So the index is kept between 29/32 and 15/16 full; a fuller one would cost sets too much. If
 * items become fewer because they are larger, it gives pages back.
 *
 * To grow, pages are claimed (index_pages.c), and cleared in slices as they arrive. They become
 * buckets, and the old buckets are migrated (migrate.c) at the pace of new items. To shrink,
 * buckets are migrated first, and then their pages are released. A lookup may still read these, so
 * they go to classes after a grace period.
 */
#include "resize.h"
#include "account.h"
#include "rebalance.h"
#include "index/geometry.h"
#include "index/resize_limits.h"
#include "index/migrate.h"

static uint32_t
pages_for(const struct store *st, uint64_t bucket_count)
{
	const uint64_t bytes = bucket_count * sizeof(struct bucket);

	return (uint32_t)((bytes + (1ull << st->arena.page_shift) - 1) >> st->arena.page_shift);
}

static uint32_t
claimed_pages(const struct store *st)
{
	return atomic_load_explicit(&st->slab.index_pages, memory_order_relaxed);
}

static uint32_t
phase(const struct store *st)
{
	return atomic_load_explicit(&st->resize_phase, memory_order_relaxed);
}

static void
set_phase(struct store *st, enum resize_phase to)
{
	/* Relaxed: a core that reads the phase takes the lock and checks again. */
	atomic_store_explicit(&st->resize_phase, to, memory_order_relaxed);
}

void
resize_init(struct store *st, uint32_t bucket_count, uint32_t step)
{
	const uint32_t pages = pages_for(st, bucket_count);

	for (uint32_t i = 0; i < pages; i++)
		ensure(slab_index_claim(&st->slab));
	st->resize.step = step;
	st->resize.next_page = pages;
}

static uint64_t
items_now(const struct store *st)
{
	return store_balance(st, STORE_ITEMS_LINKED, STORE_ITEMS_UNLINKED);
}

static uint64_t
share(uint64_t n, uint32_t of_64)
{
	return n * of_64 / 64;
}

/* ---- how many items, how many buckets ---- */

/* Returns the number of buckets in which this many items fill AIM_64THS of 64 slots; a multiple of
 * the step. */
static uint64_t
buckets_for(const struct store *st, uint64_t items)
{
	const uint64_t slots = items * 64 / AIM_64THS;
	const uint64_t step = st->resize.step;

	return (slots / BUCKET_SLOTS / step + 1) * step;
}

/* Returns how many items fill the memory if their mean size stays as it is. */
static uint64_t
items_when_full(const struct store *st, uint64_t items, uint64_t pool)
{
	const uint64_t withheld = atomic_load_explicit(&st->slab.withheld, memory_order_relaxed);
	const uint64_t all = st->arena.page_count - st->slab.reserve - withheld;
	const uint64_t index = items * INDEX_BYTES_PER_ITEM >> st->arena.page_shift;
	const uint64_t used = st->arena.page_count - withheld - pool - claimed_pages(st) + index;

	return share(items * all / (used != 0 ? used : 1), ALL_64THS);
}

/* Returns how many more items fit before memory is full; UINT64_MAX: there are no free pages. */
static uint64_t
items_to_come(const struct store *st, uint64_t items)
{
	const uint64_t pool = slab_pool(&st->slab);
	const uint64_t all = items_when_full(st, items, pool);

	return pool <= st->slab.reserve ? UINT64_MAX : all > items ? all - items : 0;
}

/* True if the index would have slots for all objects of the classes, were all of them items. There
 * will be more objects only if pages move. Pages lent by the reserve do not count, since they
 * return to it. */
static bool
all_objects_find_slots(const struct store *st, uint64_t room)
{
	const struct slab *sl = &st->slab;
	const uint32_t reserve = slab_pool(sl) + slab_evacuating_for_pool(sl);
	const uint32_t lent = reserve < sl->reserve ? sl->reserve - reserve : 0;
	uint64_t objects = 0;
	uint32_t pages = 0;

	if (reserve > sl->reserve)
		return false;
	for (uint32_t i = 0; i < sl->class_count; i++) {
		objects += (uint64_t)slab_class_pages(&sl->classes[i]) * sl->classes[i].per_page;
		pages += slab_class_pages(&sl->classes[i]);
	}
	return objects - objects * (lent < pages ? lent : pages) / (pages | 1) <= room;
}

/* ---- a resize in slices ---- */

static void
begin_migration(struct store *st)
{
	geometry_begin(&st->ix, st->resize.target);
	set_phase(st, RESIZE_MIGRATE);
}

/* Begins a resize. Called under the lock. False: it is not possible now, or the index has that size
 * already. */
static bool
begin(struct store_core *sc, uint64_t bucket_count)
{
	struct store *st = sc->store;
	struct resize *rs = &st->resize;

	if (phase(st) != RESIZE_NONE || bucket_count == index_bucket_count(&st->ix) ||
	    bucket_count < INDEX_BUCKETS_MIN ||
	    bucket_count > (uint64_t)index_bucket_count(&st->ix) * RESIZE_FACTOR_MAX ||
	    pages_for(st, bucket_count) > st->arena.page_count / 2)
		return false;
	rs->target = (uint32_t)bucket_count;
	rs->waits_since_s = sc->now_s;
	rs->samples = 0;
	if (pages_for(st, bucket_count) > rs->next_page)
		set_phase(st, RESIZE_CLAIM);
	else
		begin_migration(st);
	return true;
}

bool
resize_begin(struct store_core *sc, uint32_t bucket_count)
{
	struct resize *rs = &sc->store->resize;

	if (!spin_try(&rs->lock))
		return false;

	const bool begun = begin(sc, bucket_count);

	spin_unlock(&rs->lock);
	return begun;
}

/* Stops waiting for a claimed page in which a fill or a pin keeps an object. The index grows by the
 * pages before it. */
static void
settle_for_less(struct store_core *sc)
{
	struct store *st = sc->store;
	struct resize *rs = &st->resize;
	const uint32_t buckets =
		(uint32_t)(((size_t)rs->next_page << st->arena.page_shift) / sizeof(struct bucket));

	rs->cleared_bytes = 0;
	slab_index_release(&st->slab, rs->next_page, (uint32_t)epoch_now(&st->epoch));
	rs->target = buckets;
	if (buckets > index_bucket_count(&st->ix))
		begin_migration(st);
	else
		set_phase(st, RESIZE_NONE);
}

static void
claim_slice(struct store_core *sc)
{
	struct store *st = sc->store;
	struct resize *rs = &st->resize;
	const uint32_t pages = pages_for(st, rs->target);

	for (uint32_t i = 0; i < CLAIM_PAGES; i++)
		if (claimed_pages(st) < pages && claimed_pages(st) < rs->next_page + CLAIM_PAGES)
			slab_index_claim(&st->slab);
	if (!slab_index_claim_is_met(&st->slab, rs->next_page)) {
		if (sc->now_s > rs->waits_since_s + CLAIM_WAIT_S)
			settle_for_less(sc);
		return;
	}
	memset(arena_page(&st->arena, rs->next_page) + rs->cleared_bytes, 0, CLEAR_BYTES);
	rs->cleared_bytes += CLEAR_BYTES;
	rs->waits_since_s = sc->now_s;
	if (rs->cleared_bytes < 1u << st->arena.page_shift)
		return;
	rs->cleared_bytes = 0;
	if (++rs->next_page == pages)
		begin_migration(st);
}

static void
end_migration(struct store_core *sc)
{
	struct store *st = sc->store;
	struct resize *rs = &st->resize;

	count(sc, index_grows(&st->ix) ? STORE_INDEX_GROWN : STORE_INDEX_SHRUNK, 1);
	geometry_end(&st->ix);
	rs->next_page = pages_for(st, rs->target);
	/* The epoch is read after the last item left these pages (epoch.h). */
	slab_index_release(&st->slab, rs->next_page, (uint32_t)epoch_now(&st->epoch));
	rs->last_samples = rs->samples;
	set_phase(st, RESIZE_NONE);
}

/* Returns the items that this core has put into the index less those that it has taken out; a
 * negative number wraps. */
static uint64_t
gained(const struct store_core *sc)
{
	return counter_read(&sc->counters[STORE_ITEMS_LINKED]) -
	       counter_read(&sc->counters[STORE_ITEMS_UNLINKED]);
}

/* Returns the migration work to do for each new item: enough to end the migration before items
 * nearly fill the smaller of the old and the new index; 0 if memory is full before that. */
static uint64_t
work_for_item(const struct store *st)
{
	const struct geometry g = geometry_now(&st->ix);
	const uint64_t least = g.old_count < g.new_count ? g.old_count : g.new_count;
	const uint64_t items = st->resize.items, slots = least * BUCKET_SLOTS;
	const uint64_t room = share(slots, END_64THS);
	const uint64_t left = (g.old_count - g.migrated) * (uint64_t)MIGRATE_BUCKET_MOST;

	if (items <= share(slots, FULL_64THS) &&
	    items_to_come(st, items) <= share(slots, FULL_64THS) - items)
		return 0;
	return items < room ? left / (room - items) + 1 : MIGRATE_BUCKET_MOST;
}

/* Returns the migration work to do for this many new items. */
static uint32_t
work_for(const struct store_core *sc, uint64_t more)
{
	const struct store *st = sc->store;
	const uint64_t least =
		sc->evacuated[EVACUATION_FOR_TURN] != 0 ? MIGRATE_WORK_BESIDE : MIGRATE_WORK;
	const uint64_t an_item = work_for_item(st);
	const uint64_t full = more * MIGRATE_WORK_ITEM;
	const uint64_t few = index_grows(&st->ix) ? 0 : MIGRATE_WORK_MOST;
	const uint64_t most = full > few ? full : few;
	const uint64_t work = more * an_item < most ? more * an_item : most;

	return (uint32_t)(work > least ? work : least);
}

/* Does a slice of the resize for this many new items. Called in a turn, or for a set without a
 * slot. */
static void
go_on(struct store_core *sc, uint64_t more)
{
	struct store *st = sc->store;
	const uint32_t times = st->never_evict ? RESIZE_NEVER_TIMES : 1;

	for (uint64_t n = 0; n <= more / CLEAR_ITEMS && phase(st) == RESIZE_CLAIM; n++)
		claim_slice(sc);
	if (phase(st) == RESIZE_MIGRATE &&
	    !migrate(&sc->ic, &st->resize.deferred, work_for(sc, more) * times))
		end_migration(sc);
}

bool
resize_more(struct store_core *sc)
{
	struct store *st = sc->store;
	int64_t more;

	if (likely(phase(st) == RESIZE_NONE) || !spin_try(&st->resize.lock))
		return false;
	more = (int64_t)(gained(sc) - sc->grown_for);
	sc->grown_for += (uint64_t)(more > 0 ? more : more / LOSS_PART);
	go_on(sc, more > 0 ? (uint64_t)more : 0);
	spin_unlock(&st->resize.lock);
	return true;
}

void
resize_turn(struct store_core *sc)
{
	if (likely(phase(sc->store) == RESIZE_NONE))
		return;
	sc->crowded = 0;
	resize_more(sc);
}

/* ---- the size ---- */

/* Returns for how many buckets the pool has pages, without the reserve. */
static uint64_t
buckets_to_spare(const struct store *st, uint64_t pool)
{
	const uint64_t pages = pool > st->slab.reserve ? pool - st->slab.reserve : 0;
	const uint64_t step = st->resize.step;

	return (pages << st->arena.page_shift) / sizeof(struct bucket) / step * step;
}

bool
resize_for(struct store_core *sc, uint64_t items)
{
	const struct store *st = sc->store;
	const uint64_t now = index_bucket_count(&st->ix);
	const uint64_t most[] = {buckets_for(st, items), now * RESIZE_FACTOR_MAX,
				 now + buckets_to_spare(st, slab_pool(&st->slab)) / 2};
	uint64_t want = most[0];

	for (uint32_t i = 1; i < sizeof most / sizeof most[0]; i++)
		want = most[i] < want ? most[i] : want;
	return st->resize.step != 0 && want > now && resize_begin(sc, (uint32_t)want);
}

/* Returns the wanted number of buckets while there are free pages: more in large steps, but not
 * more than a full store will need. */
static uint64_t
grow_early(const struct store *st, uint64_t items, uint64_t pool)
{
	const uint64_t now = index_bucket_count(&st->ix), step = st->resize.step;
	const uint64_t half = now / 2 / step * step;
	const uint64_t spare = buckets_to_spare(st, pool);
	/* This leaves one step for later, when memory is full. */
	const uint64_t end = buckets_for(st, items_when_full(st, items, pool)) - step;
	uint64_t more = half > step ? half : step;

	if (items <= share(now * BUCKET_SLOTS, EARLY_64THS) || end <= now)
		return now;
	if (more > end - now)
		more = end - now;
	return now + (more < spare ? more : spare);
}

/* Returns how many items will be added during a resize: at the present growth, for as long as the
 * last resize took. */
static uint64_t
items_coming(const struct store *st)
{
	const struct resize *rs = &st->resize;

	return rs->growth > 0 ? (uint64_t)rs->growth * rs->last_samples / GROWTH_SAMPLES : 0;
}

static uint64_t
grow_late(const struct store *st, uint64_t items)
{
	const uint64_t now = index_bucket_count(&st->ix), step = st->resize.step;
	const bool small = claimed_pages(st) * SMALL_PART < st->arena.page_count;
	const uint64_t few = share(now * BUCKET_SLOTS, FEW_64THS), come = items_to_come(st, items);
	const uint64_t soon = items_coming(st) < come ? items_coming(st) : come;
	const uint64_t more = small || soon < few ? soon : few;
	const uint64_t fit = buckets_for(st, small ? items + soon : items);
	const uint64_t full = share(now * BUCKET_SLOTS, st->never_evict ? NEVER_64THS : FULL_64THS);
	const uint64_t part = now / LATE_PART / step * step;
	const uint64_t least = now + (part > step ? part : step);

	if (items + more <= full)
		return now;
	/* Memory is full, so the index would grow at the expense of items. It does not if it has
	 * slots for all objects there are. Items on pages being emptied still have slots, so
	 * `items` is compared, too. */
	if (!small && !st->never_evict && come == UINT64_MAX && items <= full &&
	    all_objects_find_slots(st, full))
		return now;
	if (fit > LATE_FACTOR * now)
		return LATE_FACTOR * now;
	return fit > least ? fit : least;
}

/* Returns the wanted number of buckets when memory is full. The index shrinks only after evictions,
 * which show that items need memory, and keeps slots for the items that arrive before the shrink
 * ends. */
static uint64_t
shrink(struct store *st, uint64_t items)
{
	struct resize *rs = &st->resize;
	const uint64_t now = index_bucket_count(&st->ix);
	const uint64_t evicted = store_sum(st, STORE_EVICTED);
	const uint64_t part = now / SHRINK_PART / rs->step * rs->step;
	const uint64_t soon = items + items_coming(st), most = items + now * SHRINK_ITEMS_BUCKET;
	const uint64_t fit = buckets_for(st, soon > most ? soon : most);
	const uint64_t spare = SHRINK_SPARE * buckets_for(st, soon);
	uint64_t least = now - (part > rs->step ? part : rs->step);
	const uint64_t lowest = (now / SHRINK_FACTOR_MAX / rs->step + 1) * rs->step;

	if (items >= share(now * BUCKET_SLOTS, SPARSE_64THS) || fit >= now)
		rs->evicted = evicted;
	if (evicted - rs->evicted <= items / SPARSE_PART)
		return now;
	rs->evicted = evicted;
	if (least > spare)
		least = spare;
	if (least < lowest)
		least = lowest;
	return fit > least ? fit : least;
}

static uint64_t
right_size(struct store *st, uint64_t items)
{
	const uint64_t pool = slab_pool(&st->slab);
	const uint64_t now = index_bucket_count(&st->ix);
	const uint64_t spare = buckets_to_spare(st, pool);
	uint64_t want = now;

	if (pool > st->slab.reserve)
		want = grow_early(st, items, pool);
	if (want == now)
		want = grow_late(st, items);
	/* A store that never evicts grows its index only into free pages. */
	if (st->never_evict)
		return want < now + spare ? want : now + spare;
	if (want == now && rebalance_pool_is_low(st))
		want = shrink(st, items);
	return want;
}

static void
sample_items(struct resize *rs, uint64_t items)
{
	rs->growth += (int64_t)(items - rs->items) - rs->growth / (int64_t)GROWTH_SAMPLES;
	rs->items = items;
	rs->samples++;
}

/* Returns a number that changes with each insertion, removal and search for a slot by this core. If
 * it has not changed since the last check, the core need not check the size: if cores that only
 * read took the lock, they would pass its cache line around for nothing. */
static uint64_t
done_so_far(const struct store_core *sc)
{
	return counter_read(&sc->counters[STORE_ITEMS_LINKED]) +
	       counter_read(&sc->counters[STORE_ITEMS_UNLINKED]) + sc->ic.searched;
}

void
resize_consider(struct store_core *sc)
{
	struct store *st = sc->store;
	struct resize *rs = &st->resize;
	const uint64_t done = done_so_far(sc);

	sc->crowded = 0;
	if (rs->step == 0 || done == sc->considered || !spin_try(&rs->lock))
		return;
	sample_items(rs, items_now(st));
	if (phase(st) == RESIZE_NONE) {
		sc->considered = done; /* while a resize is under way this stays unset, so the core
					  checks again after it */
		sc->grown_for = gained(sc);
		begin(sc, right_size(st, rs->items));
	}
	spin_unlock(&rs->lock);
}

/*
 * sweep.c - flush, and the sweep that reclaims what is flushed or expired.
 *
 * The sweep keeps pace with the clock: it passes all buckets within SWEEP_PASS_S, or if they are
 * too many, SWEEP_PER_S a second. Each core sweeps the next few buckets in its housekeeping.
 *
 * A flush steps the generation. Items of another generation are dead at once, and are reclaimed by
 * the sweep. An item has 4 bits for its generation, so a number may be used again only when no item
 * from its earlier use is left in the index. Buckets that the sweep has passed hold no item older
 * than the generation in which the pass began. So at its end (sweep_end) all numbers before that
 * generation are free.
 *
 * Why no number is used again too early:
 * - A writer reads the generation under the bucket lock. Either it publishes before the sweep reads
 *   the bucket, or it sees the new generation.
 * - No flushed item gets behind the sweep: cuckoo paths and migrations drop it (path.c, migrate.c),
 *   a relocation leaves it (relocate.c).
 * - A reader takes no lock. It reads the generation before it reads the index (get.c). Otherwise an
 *   item that it found would seem alive after the number is used again.
 * - A pass ends at the last bucket that exists at that time. So buckets that a resize adds
 *   meanwhile are swept, and those that it removes hold no item.
 *
 * If no number is free a flush must wait (STORE_NOT_YET). The caller asks again each turn, and the
 * sweep is urgent meanwhile. One flush serves all callers that wait. A delayed flush reserves a
 * number, so that it is on time.
 */
#include "sweep.h"
#include "retire_list.h"
#include "unlink.h"

static bool
slot_is_dead(const struct store_core *sc, const struct bucket *b, uint32_t slot)
{
	const uint32_t ref = bucket_ref(b, slot);

	if (ref == 0)
		return false;
	return bucket_tag(b, slot) == 0 || item_dead(sc, item_at(sc->store, ref));
}

/* True if the bucket has a dead item, or is locked: its writer may be about to store an item of the
 * generation before. */
static bool
bucket_wants_sweep(const struct store_core *sc, const struct bucket *b)
{
	if (bucket_locked(b))
		return true;
	for (uint32_t slot = 0; slot < BUCKET_SLOTS; slot++)
		if (slot_is_dead(sc, b, slot))
			return true;
	return false;
}

static void
sweep_bucket(struct store_core *sc, struct bucket *b)
{
	if (!bucket_wants_sweep(sc, b))
		return;
	protocol_gap();
	bucket_lock(b);
	for (uint32_t slot = 0; slot < BUCKET_SLOTS; slot++) {
		if (!slot_is_dead(sc, b, slot))
			continue;
		if (bucket_tag(b, slot) != 0)
			unlink_spot(sc, (struct spot){.bucket = b, .slot = slot}, UNLINK_SWEPT);
		else if (retire_list_has_space(sc, RETIRE_LIST_LEFT_BY_SWEEP + 1))
			unlink_tombstone(sc, b, slot);
	}
	bucket_unlock(b);
}

/* Prefetches a bucket's items. Returns how many there are. */
static uint32_t
prefetch_bucket_items(const struct store *st, const struct bucket *b)
{
	uint32_t items = 0;

	for (uint32_t slot = 0; slot < BUCKET_SLOTS; slot++) {
		const uint32_t ref = bucket_ref(b, slot);

		prefetch(item_at(st, ref));
		items += ref != 0;
	}
	return items;
}

/* Sweeps some buckets; their prefetched items fit into the CPU's cache. Returns the work: 1 a
 * bucket and 1 an item. */
static uint32_t
sweep_buckets(struct store_core *sc, uint32_t first, uint32_t bucket_count)
{
	const struct store *st = sc->store;
	uint32_t cost = bucket_count;

	for (uint32_t i = 0; i < bucket_count; i++) {
		cost += prefetch_bucket_items(st, index_bucket(&st->ix, first + i));
		relocate_prefetch(&st->sweep.relocation, &st->ix, first + i);
	}
	for (uint32_t i = 0; i < bucket_count; i++) {
		sweep_bucket(sc, index_bucket(&st->ix, first + i));
		relocate_bucket(&st->sweep.relocation, &sc->ic, first + i);
	}
	return cost;
}

uint32_t
sweep_quota(const struct store *st)
{
	const uint32_t want = index_bucket_end(&st->ix) / SWEEP_PASS_S + 1;

	return want < SWEEP_PER_S ? want : SWEEP_PER_S;
}

/* Adjusts the step at the end of a second: doubles it if the second's quota was missed, otherwise
 * halves it. */
static void
sweep_next_second(struct store_core *sc)
{
	struct sweep *sw = &sc->store->sweep;

	sw->slice = sw->done < sweep_quota(sc->store) ? 2 * sw->slice : sw->slice / 2;
	if (sw->slice < SWEEP_SLICE_MIN)
		sw->slice = SWEEP_SLICE_MIN;
	if (sw->slice > SWEEP_SLICE_MAX)
		sw->slice = SWEEP_SLICE_MAX;
	sw->now_s = sc->now_s;
	sw->done = 0;
}

/* True if the memory that is needed can be freed only by the sweep, or few generation numbers are
 * free. */
static bool
sweep_is_urgent(const struct store *st)
{
	return store_awaits_sweep(st) || store_generations_left(st) < GENERATIONS_FEW;
}

/* Returns how many buckets this step sweeps. */
static uint32_t
sweep_share(struct store_core *sc)
{
	struct sweep *sw = &sc->store->sweep;
	const uint32_t quota = sweep_quota(sc->store);
	uint32_t share;

	/* A core's clock may be a second behind; sw->now_s never decreases. */
	if (sc->now_s > sw->now_s)
		sweep_next_second(sc);
	share = quota > sw->done ? quota - sw->done : 0;
	return share < sw->slice ? share : sw->slice;
}

/* Ends a pass: frees the numbers of all generations before the one in which it began. */
static void
sweep_end(struct store *st)
{
	struct sweep *sw = &st->sweep;
	sw->bucket = 0;
	relocate_end(&st->sweep.relocation, &st->ix);
	/* Release: pairs with the acquire in store_generations_left. */
	atomic_store_explicit(&st->oldest_generation, sw->generation, memory_order_release);
}

/* Sweeps the next buckets until the work is done, or until the retire list may lack space for their
 * items. Then dead items stay in their slots, as useful as tombstones. */
static void
sweep_advance(struct store_core *sc, uint32_t bucket_count, uint32_t work)
{
	struct store *st = sc->store;
	struct sweep *sw = &st->sweep;
	const uint32_t end = index_bucket_end(&st->ix);
	const uint32_t left = end > sw->bucket ? end - sw->bucket : 0;
	uint32_t cost = 0;

	if (bucket_count > left)
		bucket_count = left;
	while (bucket_count != 0 && cost < work &&
	       retire_list_has_space(sc, RETIRE_LIST_LEFT_BY_SWEEP + SWEEP_ITEMS_MAX)) {
		const uint32_t n = bucket_count < SWEEP_SLICE_MIN ? bucket_count : SWEEP_SLICE_MIN;

		if (sw->bucket == 0) {
			sw->generation = store_generation(st);
			relocate_begin(&st->sweep.relocation, &st->ix);
		}
		cost += sweep_buckets(sc, sw->bucket, n);
		sw->bucket += n;
		sw->done += n;
		bucket_count -= n;
	}
	count(sc, STORE_SWEEP_WORK, cost);
	if (sw->bucket >= index_bucket_end(&st->ix))
		sweep_end(st);
}

/* True if nothing is left to do in this second. Called before the lock is taken: if cores that only
 * read took the lock, they would pass its cache line around for nothing. */
static bool
sweep_rests(const struct store_core *sc)
{
	/* Relaxed: a core that sees the value late takes the lock and finds nothing to do. */
	return sc->now_s <= atomic_load_explicit(&sc->store->sweep.rests_s, memory_order_relaxed);
}

void
sweep_slice(struct store_core *sc)
{
	struct sweep *sw = &sc->store->sweep;

	if (sweep_rests(sc) || !spin_try(&sw->lock))
		return; /* nothing is due, or another core sweeps */
	sweep_advance(sc, sweep_share(sc), SWEEP_WORK_MAX);
	if (sw->done >= sweep_quota(sc->store))
		atomic_store_explicit(&sw->rests_s, sw->now_s, memory_order_relaxed);
	spin_unlock(&sw->lock);
}

void
sweep_turn(struct store_core *sc)
{
	struct sweep *sw = &sc->store->sweep;

	if (likely(!sweep_is_urgent(sc->store)) || !spin_try(&sw->lock))
		return;
	sweep_advance(sc, SWEEP_SLICE_MAX, SWEEP_WORK_TURN);
	spin_unlock(&sw->lock);
}

void
sweep_on_demand(struct store_core *sc)
{
	struct sweep *sw = &sc->store->sweep;

	if (likely(!store_awaits_sweep(sc->store)) || !spin_try(&sw->lock))
		return;
	sweep_advance(sc, SWEEP_SLICE_MIN, SWEEP_WORK_TURN);
	spin_unlock(&sw->lock);
}

static uint64_t
linked_ever(const struct store *st)
{
	return store_sum(st, STORE_ITEMS_LINKED);
}

/* Begins a generation. Called under the flush lock. False: no number is free. */
static bool
step_generation(struct store_core *sc)
{
	struct store *st = sc->store;

	if (store_generations_left(st) == 0)
		return false;
	protocol_gap();
	st->linked_at_flush = linked_ever(st);
	/* Sequentially consistent: either a writer sees the new generation, or the sweep, which
	 * reads later, sees that writer's lock or its item. */
	atomic_fetch_add_explicit(&st->generation, 1, memory_order_seq_cst);
	if (sc->tier != NULL)
		sc->tier->flushed(sc->tier->arg, sc, store_generation(st));
	return true;
}

void
flush_due(struct store_core *sc)
{
	struct store *st = sc->store;

	if ((uint32_t)atomic_load_explicit(&st->due_flush, memory_order_relaxed) > sc->now_s)
		return;
	spin_lock(&st->flush_lock);

	const uint64_t due = atomic_load_explicit(&st->due_flush, memory_order_relaxed);

	/* The generation changes before due_flush is cleared: a core that sees no pending flush
	 * finds no item from before the flush. */
	if (due != 0 && (uint32_t)due <= sc->now_s) {
		if (due == store_due_flush((uint32_t)due, store_generation(st)))
			ensure(step_generation(sc));
		atomic_store_explicit(&st->due_flush, 0, memory_order_release);
	}
	spin_unlock(&st->flush_lock);
}

/* Flushes now, or plans a flush at at_s. Called under the flush lock. Does nothing if nothing was
 * stored since the last flush, unless a tier may have older items. A generation number that is free
 * for a delayed flush stays free until it is due, since an earlier flush cancels it. False: no
 * number is free. */
static bool
flush_at(struct store_core *sc, uint32_t at_s)
{
	struct store *st = sc->store;
	const bool later = at_s > sc->now_s,
		   nothing = sc->tier == NULL && linked_ever(st) == st->linked_at_flush;

	if (later ? store_generations_left(st) == 0 : !nothing && !step_generation(sc))
		return false;
	atomic_store_explicit(&st->due_flush,
			      later ? store_due_flush(at_s, store_generation(st)) : 0,
			      memory_order_relaxed);
	if (sc->tier != NULL && sc->tier->due != NULL)
		sc->tier->due(sc->tier->arg, later ? at_s : 0);
	return true;
}

enum store_result
store_flush(struct store_core *sc, uint32_t at_s)
{
	struct store *st = sc->store;

	spin_lock(&st->flush_lock);

	const bool done = flush_at(sc, at_s);

	spin_unlock(&st->flush_lock);
	return done ? STORE_OK : STORE_NOT_YET;
}

uint32_t
store_flushes(const struct store_core *sc)
{
	return store_generation(sc->store);
}

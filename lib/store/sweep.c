/*
 * sweep.c - flush, and the walk that gives back what is flushed or expired.
 *
 * The walk keeps pace with the clock: all buckets within SWEEP_WALK_S, or SWEEP_PER_S a second
 * where they are too many; whichever core tidies takes the next few.
 *
 * A flush steps the generation; items of another generation are dead at once and are collected
 * at leisure. An item has 4 bits for it, so a number may come back only when no item of its
 * earlier use is left. The walk knows: what it has passed holds nothing older than the
 * generation it began with. Why nothing escapes it: a writer reads the generation under the
 * bucket lock, so it either publishes before the walk takes its look, or sees the step; and a
 * move drops a flushed item instead of carrying it past the walk (path.c). So does a resize
 * (migrate.c): what it puts anywhere is of the present generation, which is none before the walk's.
 * A reader takes no lock; it reads the generation before it looks into the index (get.c), or an
 * item that it found would be alive again once the number has come back. The walk ends where the
 * buckets end by then: those that came meanwhile are looked at, those that are gone hold nothing.
 */
#include "inside.h"

static bool
slot_is_dead(const struct store_core *sc, const struct bucket *b, uint32_t slot)
{
	const uint32_t ref = bucket_ref(b, slot);

	if (ref == 0)
		return false;
	return bucket_tag(b, slot) == 0 || item_dead(sc, item_at(sc->store, ref));
}

/* A look without the lock, unless a writer is at work there: its item may be of the generation
 * before, and not in the slot yet. */
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
			unlink_spot(sc, (struct spot){.bucket = b, .slot = slot}, LEAVING_SWEPT);
		else if (limbo_has_room(sc, LIMBO_KEEP_SWEPT + 1))
			unlink_zombie(sc, b, slot);
	}
	bucket_unlock(b);
}

static void
prefetch_bucket_items(const struct store *st, const struct bucket *b)
{
	for (uint32_t slot = 0; slot < BUCKET_SLOTS; slot++)
		prefetch(item_at(st, bucket_ref(b, slot)));
}

/* So many that what is asked for is still there when it is looked at. */
static void
sweep_buckets(struct store_core *sc, uint32_t first, uint32_t bucket_count)
{
	const struct store *st = sc->store;

	for (uint32_t i = 0; i < bucket_count; i++) {
		prefetch_bucket_items(st, index_bucket(&st->ix, first + i));
		homing_prefetch(st, first + i);
	}
	for (uint32_t i = 0; i < bucket_count; i++) {
		sweep_bucket(sc, index_bucket(&st->ix, first + i));
		homing_bucket(sc, first + i);
	}
}

uint32_t
sweep_quota(const struct store *st)
{
	const uint32_t want = index_bucket_end(&st->ix) / SWEEP_WALK_S + 1;

	return want < SWEEP_PER_S ? want : SWEEP_PER_S;
}

/* A second is over: if its share of the walk was not done, take longer steps. */
static void
sweep_next_second(struct store_core *sc)
{
	struct sweep *sw = &sc->store->sweep;

	sw->slice = sw->done < sweep_quota(sc->store) ? 2 * sw->slice : sw->slice / 2;
	if (sw->slice < SWEEP_SLICE_MIN)
		sw->slice = SWEEP_SLICE_MIN;
	if (sw->slice > SWEEP_SLICE_MAX)
		sw->slice = SWEEP_SLICE_MAX;
	sw->second = sc->now_s;
	sw->done = 0;
}

static uint32_t
generations_left(const struct store *st)
{
	/* Acquire: pairs with the release in sweep_on. */
	const uint32_t oldest = atomic_load_explicit(&st->oldest_generation, memory_order_acquire);

	return GENERATIONS_MAX - 1 - (store_generation(st) - oldest);
}

/* What only the walk gives back is wanted by others, and a flush without a generation walks it all.
 */
static bool
sweep_hurries(const struct store *st)
{
	return store_awaits_walk(st) || generations_left(st) < GENERATIONS_FEW;
}

/* How many buckets to look at now. */
static uint32_t
sweep_share(struct store_core *sc)
{
	struct sweep *sw = &sc->store->sweep;
	const uint32_t quota = sweep_quota(sc->store);
	uint32_t share;

	/* Cores do not see a second come at the same time: never back. */
	if (sc->now_s > sw->second)
		sweep_next_second(sc);
	if (sweep_hurries(sc->store))
		return SWEEP_SLICE_MAX;
	share = quota > sw->done ? quota - sw->done : 0;
	return share < sw->slice ? share : sw->slice;
}

/* The next buckets of the walk, as far as the limbo has room for all of them. What is dead waits
 * where it is: hidden, it would wait as well, and keep its place from others. */
static void
sweep_on(struct store_core *sc, uint32_t bucket_count)
{
	struct store *st = sc->store;
	struct sweep *sw = &st->sweep;
	const uint32_t end = index_bucket_end(&st->ix);
	const uint32_t left = end > sw->bucket ? end - sw->bucket : 0;

	if (bucket_count > left)
		bucket_count = left;
	while (bucket_count != 0 && limbo_has_room(sc, LIMBO_KEEP_SWEPT + SWEEP_ITEMS_MAX)) {
		const uint32_t n = bucket_count < SWEEP_SLICE_MIN ? bucket_count : SWEEP_SLICE_MIN;

		if (sw->bucket == 0) {
			sw->generation = store_generation(st);
			homing_begin(st);
		}
		sweep_buckets(sc, sw->bucket, n);
		sw->bucket += n;
		sw->done += n;
		bucket_count -= n;
	}
	if (sw->bucket < index_bucket_end(&st->ix))
		return;
	sw->bucket = 0;
	homing_end(st);
	/* Release: pairs with the acquire in generations_left. */
	atomic_store_explicit(&st->oldest_generation, sw->generation, memory_order_release);
}

void
sweep_slice(struct store_core *sc)
{
	struct sweep *sw = &sc->store->sweep;

	if (!spin_try(&sw->lock))
		return; /* another core is at it */
	sweep_on(sc, sweep_share(sc));
	spin_unlock(&sw->lock);
}

void
sweep_some(struct store_core *sc)
{
	struct sweep *sw = &sc->store->sweep;

	if (likely(!store_awaits_walk(sc->store)) || !spin_try(&sw->lock))
		return;
	sweep_on(sc, SWEEP_SLICE_MIN);
	spin_unlock(&sw->lock);
}

/* The last resort of someone who flushes faster than the walk walks: all of it, at once. What the
 * limbo has no room for hides. */
static void
sweep_all(struct store_core *sc)
{
	struct store *st = sc->store;
	struct sweep *sw = &st->sweep;

	spin_lock(&sw->lock);
	for (uint32_t n = 0; n < index_bucket_end(&st->ix); n++)
		sweep_bucket(sc, index_bucket(&st->ix, n));
	sw->bucket = 0;
	atomic_store_explicit(&st->oldest_generation, store_generation(st), memory_order_release);
	spin_unlock(&sw->lock);
}

static uint64_t
linked_ever(const struct store *st)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < st->core_count; i++)
		sum += counter_read(&st->cores[i].counters[STORE_ITEMS_LINKED]);
	return sum;
}

/* A flush of what was flushed before and not touched since costs no generation. */
static void
next_generation(struct store_core *sc)
{
	struct store *st = sc->store;

	spin_lock(&st->flush_lock);

	const uint64_t linked = linked_ever(st);

	if (linked != st->linked_at_flush) {
		if (generations_left(st) == 0)
			sweep_all(sc);
		protocol_gap();
		st->linked_at_flush = linked;
		/* Sequentially consistent: either a writer sees the step, or the sweep, which
		 * begins after it, sees that writer's lock or its item. */
		atomic_fetch_add_explicit(&st->generation, 1, memory_order_seq_cst);
	}
	spin_unlock(&st->flush_lock);
}

void
flush_due(struct store_core *sc)
{
	struct store *st = sc->store;
	uint32_t at = atomic_load_explicit(&st->flush_at_s, memory_order_relaxed);

	/* One core wins the exchange and does it. */
	if (at != 0 && at <= sc->now_s &&
	    atomic_compare_exchange_strong_explicit(&st->flush_at_s, &at, 0, memory_order_relaxed,
						    memory_order_relaxed))
		next_generation(sc);
}

void
store_flush(struct store_core *sc, uint32_t at_s)
{
	const bool later = at_s > sc->now_s;

	atomic_store_explicit(&sc->store->flush_at_s, later ? at_s : 0, memory_order_relaxed);
	if (!later)
		next_generation(sc);
}

/*
 * walk.c - all items, some buckets at a time, without locks.
 *
 * The item in a slot is readable for the whole turn. It is shown if a lookup of its key finds it:
 * so no version that was replaced meanwhile is.
 */
#include "store_state.h"

#define WALK_MARGIN 16u /* buckets by which a scaled position may be off */

/* Estimated times. Items and their buckets come from memory; the walk's buckets are adjacent, so
 * they are in the cache. */
#define BUCKET_NS  30u
#define ITEM_NS    80u
#define CURRENT_NS 150u

static bool
is_current(struct store_core *sc, const struct item *it, uint32_t ref)
{
	const struct index *ix = &sc->store->ix;
	const struct view key = item_key(it);
	struct place p = index_place(ix, store_hash(sc, key));
	uint32_t tries;

	return index_find(ix, key, &p, &tries) == ref;
}

/* The item in a slot, if it is alive and of the class. */
static const struct item *
slot_item(struct store_core *sc, const struct bucket *b, uint32_t slot, uint32_t class,
	  uint32_t *work_ns)
{
	const uint32_t ref = bucket_ref(b, slot);

	/* A tombstone's tag is 0. */
	if (ref == 0 || bucket_tag(b, slot) == 0)
		return NULL;

	const struct item *it = item_at(sc->store, ref);

	if (class != STORE_ALL_CLASSES && class != store_class_of(sc, it))
		return NULL;
	*work_ns += ITEM_NS;
	if (item_dead(sc, it))
		return NULL;
	protocol_gap();
	*work_ns += CURRENT_NS;
	return is_current(sc, it, ref) ? it : NULL;
}

/* The items in the rest of the cursor's bucket, as many as fit. */
static uint32_t
walk_bucket(struct store_core *sc, struct store_cursor *cursor, uint32_t class,
	    const struct item **items, uint32_t max)
{
	const struct bucket *b = index_bucket(&sc->store->ix, cursor->bucket);
	uint32_t count = 0;

	cursor->work_ns += BUCKET_NS;
	for (; cursor->slot < BUCKET_SLOTS && count < max; cursor->slot++) {
		items[count] = slot_item(sc, b, cursor->slot, class, &cursor->work_ns);
		count += items[count] != NULL;
	}
	if (cursor->slot == BUCKET_SLOTS) {
		cursor->bucket++;
		cursor->slot = 0;
	}
	return count;
}

/* Follow a resize. It moves items to buckets higher or lower by the ratio of the numbers of
 * buckets, give or take a few. Higher ones are ahead of the walk. While the index shrinks the walk
 * waits; then its position is scaled by the ratio. False: wait. */
static bool
follow_resize(const struct index *ix, struct store_cursor *cursor)
{
	const uint32_t buckets = index_bucket_target(ix);

	if (buckets < index_bucket_count(ix))
		return false;
	if (buckets < cursor->buckets) {
		const uint64_t at = (uint64_t)cursor->bucket * buckets / cursor->buckets;

		cursor->bucket = at > WALK_MARGIN ? (uint32_t)at - WALK_MARGIN : 0;
		cursor->slot = 0;
	}
	cursor->buckets = buckets;
	return true;
}

uint32_t
store_walk(struct store_core *sc, struct store_cursor *cursor, uint32_t class,
	   const struct item **items, uint32_t max)
{
	const struct index *ix = &sc->store->ix;
	uint32_t count = 0;

	cursor->work_ns = 0;
	cursor->waits = !follow_resize(ix, cursor);
	if (cursor->waits)
		return 0;
	for (uint32_t looks = 0; looks < STORE_WALK_BUCKETS && cursor->work_ns < STORE_WALK_NS &&
				 count < max && !cursor->done;
	     looks++) {
		if (cursor->bucket < index_bucket_end(ix))
			count += walk_bucket(sc, cursor, class, items + count, max - count);
		else
			cursor->done = true;
	}
	return count;
}

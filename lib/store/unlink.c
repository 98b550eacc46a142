#include "inside.h"

/* Before the item goes, so that whoever puts the key back, under the same lock, starts above. */
static void
raise_floor(struct store *st, uint16_t tag, uint64_t cas)
{
	_Atomic uint64_t *floor = store_floor(st, tag);
	uint64_t now = atomic_load_explicit(floor, memory_order_relaxed);

	/* Relaxed: the bucket lock orders it for this key; other keys need no order. */
	while (!mutant_low_floor() && now < cas &&
	       !atomic_compare_exchange_weak_explicit(floor, &now, cas, memory_order_relaxed,
						      memory_order_relaxed))
		;
}

/* Everything about an item that ends, but its place in the bucket and its memory. */
static struct item *
take_leave(struct store_core *sc, struct spot spot)
{
	struct store *st = sc->store;
	struct item *it = item_at(st, bucket_ref(spot.bucket, spot.slot));

	raise_floor(st, bucket_tag(spot.bucket, spot.slot), item_cas(it));
	count(sc, STORE_ITEMS_UNLINKED, 1);
	count(sc, STORE_BYTES_UNLINKED, item_memory(st, it));
	item_clear_live(st, it);
	return it;
}

void
unlink_spot(struct store_core *sc, struct spot spot)
{
	struct item *it = take_leave(sc, spot);

	if (!limbo_has_room(sc, 1)) {
		bucket_hide(spot.bucket, spot.slot);
		return;
	}
	bucket_clear(spot.bucket, spot.slot);
	limbo_put(sc, it);
}

/* Has the item no other objects, and can nobody have pinned it? Then nothing needs to remember
 * it but the page that is emptied. */
static bool
goes_with_page(const struct item *it)
{
	return (item_form(it) & (ITEM_HAS_LONG | ITEM_IS_CHUNKED)) == 0;
}

static enum unlinked
unlink_how(struct store_core *sc, struct spot spot, bool with_page)
{
	if (spot.bucket == NULL)
		return UNLINKED_NOT;
	if (with_page && goes_with_page(item_at(sc->store, bucket_ref(spot.bucket, spot.slot)))) {
		take_leave(sc, spot);
		bucket_clear(spot.bucket, spot.slot);
		return UNLINKED_GONE;
	}
	if (!limbo_has_room(sc, LIMBO_KEEP))
		return UNLINKED_NOT;
	unlink_spot(sc, spot);
	return UNLINKED_RETIRED;
}

#define AHEAD 8u /* objects whose buckets are on their way, and as many that are so themselves */

/* Where the key of a plain item is, or will be in a moment. Chunks are few. */
static void
prefetch_place(const struct store *st, uint32_t ref)
{
	const struct item *it = item_at(st, ref);

	if (item_key_len(it) == 0)
		return;

	const struct place p = index_place(&st->ix, index_hash(&st->ix, item_key(it)));

	prefetch(index_bucket(&st->ix, p.home));
	prefetch(index_bucket(&st->ix, p.away));
}

void
unlink_ahead(const struct store *st, const uint32_t *refs, uint32_t n, uint32_t i)
{
	for (uint32_t j = i == 0 ? 0 : i + 2 * AHEAD; j <= i + 2 * AHEAD && j < n; j++)
		prefetch(item_at(st, refs[j]));
	for (uint32_t j = i == 0 ? 0 : i + AHEAD; j <= i + AHEAD && j < n; j++)
		prefetch_place(st, refs[j]);
}

enum unlinked
unlink_object(struct store_core *sc, uint32_t ref, bool with_page)
{
	struct store *st = sc->store;
	const struct chunk *c = arena_at(&st->arena, ref);
	const uint32_t head = (c->mark & 0xff) == 0 ? c->owner : ref;
	const struct item *it = item_at(st, head);
	const uint64_t hash = hash_bytes(item_key_bytes(it), item_key_len(it), st->seed);
	const struct place p = index_lock(&st->ix, hash);
	const enum unlinked how = unlink_how(sc, index_spot_of_ref(&st->ix, &p, head), with_page);

	index_unlock(&st->ix, &p);
	return how;
}

enum store_result
store_delete(struct store_core *sc, struct view key, uint64_t hash)
{
	struct store *st = sc->store;
	const struct place p = index_lock(&st->ix, hash);
	enum store_result result = STORE_NOT_FOUND;
	const struct spot spot = index_spot_of_key(&st->ix, &p, key);

	if (spot.bucket != NULL) {
		if (!item_dead(sc, item_at(st, bucket_ref(spot.bucket, spot.slot))))
			result = STORE_OK;
		unlink_spot(sc, spot);
	}
	index_unlock(&st->ix, &p);
	return result;
}

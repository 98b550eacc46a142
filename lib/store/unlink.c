/*
 * unlink.c - an item is taken out of the index and retired.
 *
 * Under the bucket's lock: the floor of its cas is raised, the counters follow, its objects are no
 * longer live, its slot is cleared. Without space on the retire list the slot becomes a tombstone.
 */
#include "unlink.h"
#include "item_access.h"
#include "retire_list.h"

/* Larger numbers are chosen by clients only. The floor does not follow them, or it would reach the
 * last number. */
#define FLOOR_MAX (UINT64_MAX / 4)

void
floor_raise(struct store *st, uint16_t tag, uint64_t cas)
{
	_Atomic uint64_t *floor = store_floor(st, tag);
	uint64_t now = atomic_load_explicit(floor, memory_order_relaxed);

	if (cas > FLOOR_MAX)
		return;

	/* Relaxed: the bucket lock orders it for this key; other keys need no order. */
	while (now < cas && !atomic_compare_exchange_weak_explicit(
				    floor, &now, cas, memory_order_relaxed, memory_order_relaxed))
		;
}

/* Raise the floor, count, clear the state: all of an unlinking but the slot and the memory. */
static struct item *
unlink_finish(struct store_core *sc, struct spot spot, enum unlink_reason why)
{
	struct store *st = sc->store;
	struct item *it = item_at(st, bucket_ref(spot.bucket, spot.slot));

	floor_raise(st, bucket_tag(spot.bucket, spot.slot), item_cas(it));
	account_out(sc, it, why);
	item_clear_live(st, it);
	return it;
}

void
unlink_spot(struct store_core *sc, struct spot spot, enum unlink_reason why)
{
	struct item *it = unlink_finish(sc, spot, why);

	/* A caller that evicts has made sure of space before. */
	static const uint32_t left_by[] = {[UNLINK_REQUESTED] = RETIRE_LIST_LEFT_BY_DELETE,
					   [UNLINK_SWEPT] = RETIRE_LIST_LEFT_BY_SWEEP,
					   [UNLINK_EVICTED] = 0};

	if (unlikely(!retire_list_has_space(sc, left_by[why] + 1))) {
		atomic_fetch_add_explicit(&sc->store->tombstones, 1, memory_order_relaxed);
		bucket_make_tombstone(spot.bucket, spot.slot);
		return;
	}
	bucket_clear(spot.bucket, spot.slot);
	retire_list_add(sc, it);
}

void
unlink_tombstone(struct store_core *sc, struct bucket *b, uint32_t slot)
{
	struct item *it = item_at(sc->store, bucket_ref(b, slot));

	atomic_fetch_sub_explicit(&sc->store->tombstones, 1, memory_order_relaxed);
	bucket_clear(b, slot);
	retire_list_add(sc, it);
}

/* An item that has no chunks and cannot be pinned waits for its grace period with its page. */
static bool
retires_with_page(const struct item *it)
{
	return (item_form(it) & (ITEM_HAS_LONG | ITEM_IS_CHUNKED)) == 0;
}

static enum unlinked
unlink_how(struct store_core *sc, struct spot spot, bool with_page)
{
	if (spot.bucket == NULL)
		return UNLINKED_NOT;
	if (with_page &&
	    retires_with_page(item_at(sc->store, bucket_ref(spot.bucket, spot.slot)))) {
		unlink_finish(sc, spot, UNLINK_EVICTED);
		bucket_clear(spot.bucket, spot.slot);
		return UNLINKED_WITH_PAGE;
	}
	if (!retire_list_has_space(sc, RETIRE_LIST_LEFT_BY_EVICTION))
		return UNLINKED_NOT;
	unlink_spot(sc, spot, UNLINK_EVICTED);
	return UNLINKED_RETIRED;
}

/* Objects ahead whose buckets are prefetched, and as many more that are prefetched themselves. */
#define AHEAD 8u

/* Prefetch both buckets of an unchunked item's key. Chunks are few. */
static void
prefetch_place(const struct store *st, uint32_t ref)
{
	const struct item *it = item_at(st, ref);

	if (item_key_len(it) == 0)
		return;

	const uint64_t hash = index_hash(&st->ix, item_key(it));
	const struct place p = index_place(&st->ix, hash);

	ghost_prefetch(&st->ghosts, item_ghosts(st, it), hash);
	prefetch(index_bucket(&st->ix, p.primary));
	prefetch(index_bucket(&st->ix, p.alternate));
}

void
unlink_prefetch(const struct store *st, const uint32_t *refs, uint32_t n, uint32_t i)
{
	for (uint32_t j = i == 0 ? 0 : i + 2 * AHEAD; j <= i + 2 * AHEAD && j < n; j++)
		prefetch(item_at(st, refs[j]));
	for (uint32_t j = i == 0 ? 0 : i + AHEAD; j <= i + AHEAD && j < n; j++)
		prefetch_place(st, refs[j]);
}

enum unlinked
unlink_object(struct store_core *sc, uint32_t ref, bool with_page, enum ghost ghost)
{
	struct store *st = sc->store;
	const struct item_chunk *c = arena_at(&st->arena, ref);
	/* A chunk's marker, or the first word of an item, in which a reader may set a status
	 * bit. */
	const uint32_t marker = atomic_load_explicit(&c->marker, memory_order_relaxed);
	const uint32_t head = (marker & 0xff) == 0 ? c->owner : ref;
	const struct item *it = item_at(st, head);
	const uint64_t hash = hash_bytes(item_key_bytes(it), item_key_len(it), st->seed);
	const struct place p = index_lock(&st->ix, hash);
	const enum unlinked how = unlink_how(sc, index_spot_of_ref(&st->ix, &p, head), with_page);

	index_unlock(&st->ix, &p);
	/* A dead item leaves no ghost: its key comes back since it was dead. */
	if (how != UNLINKED_NOT && !item_dead(sc, it))
		ghost_add(&st->ghosts, item_ghosts(st, it), hash, ghost);
	return how;
}

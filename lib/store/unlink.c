/*
 * unlink.c - takes an item out of the index and retires it.
 *
 * Under the bucket's lock the cas floor is raised, the counters are updated, the item's objects are
 * marked as not live, and its slot is cleared. If the retire list has no space the slot becomes a
 * tombstone.
 */
#include "unlink.h"
#include "floors.h"
#include "item_access.h"
#include "load_marks.h"
#include "retire_list.h"

void
floor_raise(struct store *st, uint16_t tag, uint64_t cas)
{
	_Atomic uint64_t *floor = store_floor(st, tag);
	uint64_t now = atomic_load_explicit(floor, memory_order_relaxed);

	if (!floor_follows(now, cas))
		return;

	/* Relaxed: the bucket lock orders the floor for this key; for other keys no order is
	 * needed. */
	while (now < cas && !atomic_compare_exchange_weak_explicit(
				    floor, &now, cas, memory_order_relaxed, memory_order_relaxed))
		;
}

/* Does all of an unlinking except for the slot and the memory: raises the floor, counts the item
 * and clears its state. */
static struct item *
unlink_finish(struct store_core *sc, struct spot spot, enum unlink_reason why)
{
	struct store *st = sc->store;
	struct item *it = item_at(st, bucket_ref(spot.bucket, spot.slot));

	floor_raise(st, bucket_tag(spot.bucket, spot.slot), item_cas(it));
	if (unlikely(sc->marks))
		load_mark_item(sc, it);
	account_out(sc, it, why);
	item_clear_live(st, it);
	return it;
}

void
unlink_spot(struct store_core *sc, struct spot spot, enum unlink_reason why)
{
	struct item *it = unlink_finish(sc, spot, why);

	/* An eviction needs no space left: its caller has checked that. */
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

/* True if the item spends its grace period with its page: it has no chunks and cannot be pinned. */
static bool
retires_with_page(const struct item *it)
{
	return (item_form(it) & (ITEM_HAS_LONG | ITEM_IS_CHUNKED)) == 0;
}

/* Gives the tier the item offered to it, unless the item is dead by now. */
static void
offer_take(struct store_core *sc, const struct item *it)
{
	const uint32_t generation = store_generation(sc->store);
	const uint64_t offer = sc->offer;

	if (offer == 0 || item_flushed(it, generation) || item_expired(it, sc->now_s))
		return;
	sc->offer = 0;
	sc->tier->evicted(sc->tier->arg, sc, offer, it, generation);
}

static enum unlinked
unlink_how(struct store_core *sc, struct spot spot, bool with_page)
{
	if (with_page &&
	    retires_with_page(item_at(sc->store, bucket_ref(spot.bucket, spot.slot)))) {
		offer_take(sc, item_at(sc->store, bucket_ref(spot.bucket, spot.slot)));
		unlink_finish(sc, spot, UNLINK_EVICTED);
		bucket_clear(spot.bucket, spot.slot);
		return UNLINKED_WITH_PAGE;
	}
	if (!retire_list_has_space(sc, RETIRE_LIST_LEFT_BY_EVICTION))
		return UNLINKED_NOT;
	offer_take(sc, item_at(sc->store, bucket_ref(spot.bucket, spot.slot)));
	unlink_spot(sc, spot, UNLINK_EVICTED);
	return UNLINKED_RETIRED;
}

static void
look_for_place(const struct store *st, uint32_t ref, struct victim *v)
{
	const uint32_t head = item_of_object(st, ref);
	const struct item *it = item_at(st, head);
	const struct view key = {item_key_bytes(it), item_key_len(it)};
	const uint64_t hash = index_hash(&st->ix, key);
	const struct place p = index_place(&st->ix, hash);

	*v = (struct victim){.hash = hash,
			     .ref = head,
			     .bucket = p.primary,
			     .tag = p.tag,
			     .ghosts = item_ghosts(st, it, hash)};
	prefetch_to_write(v->ghosts);
	prefetch_to_write(index_bucket(&st->ix, p.primary));
}

/* Notes the victim's bucket: the primary one, which holds most items, or the alternate one. */
static void
look_for_bucket(const struct store *st, struct victim *v)
{
	const uint32_t slot = bucket_slot_of(index_bucket(&st->ix, v->bucket), v->tag, v->ref);

	if (likely(slot < BUCKET_SLOTS)) {
		v->slot = (uint16_t)slot;
		return;
	}

	const struct place p = index_place(&st->ix, v->hash);

	v->bucket = p.alternate;
	v->tag |= TAG_DISPLACED;
	prefetch(index_bucket(&st->ix, p.alternate));
}

void
unlink_look(const struct store *st, const uint32_t *refs, uint32_t n, struct victim *victims)
{
	for (uint32_t i = 0; i < n; i++)
		prefetch(item_at(st, refs[i]));
	for (uint32_t i = 0; i < n; i++)
		look_for_place(st, refs[i], &victims[i]);
	for (uint32_t i = 0; i < n; i++)
		look_for_bucket(st, &victims[i]);
}

static bool
is_in_bucket(const struct store *st, const struct victim *v)
{
	return bucket_slot_of(index_bucket(&st->ix, v->bucket), v->tag, v->ref) < BUCKET_SLOTS;
}

/* True if the victim is in the index. Takes the locks, since a resize may be moving its bucket. */
static __attribute__((noinline)) bool
is_in_index(const struct store *st, const struct victim *v)
{
	const struct place p = index_lock(&st->ix, v->hash);
	const bool there = index_spot_of_ref(&st->ix, &p, v->ref).bucket != NULL;

	index_unlock(&st->ix, &p);
	return there;
}

/* The key is read only after the index was seen to hold the reference; from then until this core's
 * turn ends, the reference is an item's. */
bool
unlink_look_again(const struct store *st, uint32_t ref, uint64_t hash, struct victim *v)
{
	const struct place p = index_place(&st->ix, hash);

	*v = (struct victim){.hash = hash, .ref = ref, .bucket = p.primary, .tag = p.tag};
	look_for_bucket(st, v);
	if (!is_in_bucket(st, v) && !is_in_index(st, v))
		return false;

	const struct item *it = item_at(st, ref);

	if (index_hash(&st->ix, item_key(it)) != hash)
		return false;
	v->ghosts = item_ghosts(st, it, hash);
	return true;
}

/* Counts the batch, whose generation may be over, and calls unlink_how. */
static __attribute__((noinline)) enum unlinked
unlink_counted(struct store_core *sc, struct spot spot, bool with_page, struct departures *d)
{
	account_departures(sc, d);
	return unlink_how(sc, spot, with_page);
}

/* Unlinks an item that is no longer in its noted slot, if it was moved rather than removed. */
static __attribute__((noinline)) enum unlinked
unlink_elsewhere(struct store_core *sc, const struct victim *v, bool with_page,
		 struct departures *d)
{
	struct store *st = sc->store;
	const struct place p = index_lock(&st->ix, v->hash);
	const struct spot spot = index_spot_of_ref(&st->ix, &p, v->ref);
	const enum unlinked how =
		spot.bucket != NULL ? unlink_counted(sc, spot, with_page, d) : UNLINKED_NOT;

	index_unlock(&st->ix, &p);
	return how;
}

/* Unlinks simple, living items, which are most, as unlink_how does. False: the item is not one, and
 * nothing was done. */
static inline bool
unlink_simple(struct store_core *sc, struct spot spot, uint32_t ref, bool with_page,
	      struct departures *d)
{
	struct store *st = sc->store;
	const struct item *it = item_at(st, ref);
	const uint32_t generation = store_generation(st), head = item_head(it);

	if ((it->cas_form & 0xff) != (generation << ITEM_FLUSH_SHIFT & 0xff) || sc->evicts_slowly ||
	    (!with_page && !retire_list_has_space(sc, RETIRE_LIST_LEFT_BY_EVICTION)))
		return false;
	account_departures_of(sc, d, generation);
	floor_raise(st, spot.tag, it->cas_form >> 8);
	d->items++;
	d->bytes += item_simple_bytes(it);
	d->unfetched += (head & ITEM_FETCHED) == 0;
	d->active += slab_is_referenced(&st->slab, ref);
	slab_clear_live(&st->slab, ref);
	bucket_clear(spot.bucket, spot.slot);
	if (!with_page)
		retire_list_add_plain(sc, ref, d->class);
	return true;
}

/* Returns the victim's slot, mostly the noted one; BUCKET_SLOTS if it is not in this bucket. Called
 * under the lock. */
static inline uint32_t
victim_slot(const struct bucket *b, const struct victim *v)
{
	return likely(bucket_ref(b, v->slot) == v->ref && bucket_tag(b, v->slot) == v->tag)
		       ? v->slot
		       : bucket_slot_of(b, v->tag, v->ref);
}

/* The lock of the item's bucket is enough, since a core that moves the item, or writes its key,
 * needs that lock, too. */
enum unlinked
unlink_victim(struct store_core *sc, const struct victim *v, bool with_page, enum ghost ghost,
	      struct departures *d)
{
	struct store *st = sc->store;
	struct spot spot = {.bucket = index_bucket(&st->ix, v->bucket), .tag = v->tag};
	enum unlinked how = UNLINKED_NOT;
	bool simple;

	bucket_lock(spot.bucket);
	spot.slot = victim_slot(spot.bucket, v);
	simple = spot.slot < BUCKET_SLOTS && unlink_simple(sc, spot, v->ref, with_page, d);
	if (unlikely(!simple) && !with_page && store_is_extended(st, v->hash)) {
		bucket_unlock(spot.bucket);
		return UNLINKED_NOT;
	}
	if (likely(simple))
		how = with_page ? UNLINKED_WITH_PAGE : UNLINKED_RETIRED;
	else if (spot.slot < BUCKET_SLOTS)
		how = unlink_counted(sc, spot, with_page, d);
	bucket_unlock(spot.bucket);
	if (unlikely(spot.slot == BUCKET_SLOTS))
		how = unlink_elsewhere(sc, v, with_page, d);
	/* A dead item leaves no ghost: the return of its key would not show that it was evicted too
	 * early. */
	if (how != UNLINKED_NOT && (simple || !item_dead(sc, item_at(st, v->ref))))
		ghost_add(v->ghosts, v->hash, ghost);
	return how;
}

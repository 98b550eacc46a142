/*
 * evacuate.c - empties a page that is being evacuated, object by object.
 *
 * - An item whose reference bit is set moves. Any other item moves only while its class has more
 *   free objects than it needs (slab_class_ahead). A copy on another page of the class, with the
 *   same key, cas, flags, expiry and flush generation, takes the item's slot under the lock of its
 *   bucket. A lookup finds the item or its copy, and both are the same to a client.
 * - The other items are evicted, as the CLOCK hand would have, to the tier if there is one. Chunked
 *   items never move, since their chunks refer to them; they are evicted, too.
 * - Objects on a retire list, in a magazine or in a fill are freed by their cores.
 *
 * An unchunked item that leaves takes no space on a retire list. The page is freed after the grace
 * period of all its items.
 *
 * In a store that never evicts, every living unchunked item moves, into new pages if necessary. A
 * page is not freed while an item is left on it.
 */
#include "evacuate.h"
#include "account.h"
#include "evict.h"
#include "item_access.h"
#include "retire_list.h"
#include "unlink.h"

#define NOWHERE UINT32_MAX

enum evacuation {
	EVACUATE_SKIPPED,   /* no longer in the index, or cannot leave it now */
	EVACUATE_WITH_PAGE, /* out of the index; waits for its grace period with the page */
	EVACUATE_RETIRED,   /* out of the index; waits for its grace period on the retire list */
	EVACUATE_STUCK,     /* there is no free object for it elsewhere now */
	EVACUATE_LATER,     /* the tier postpones it */
};

struct batch {
	uint32_t with_page[EVACUATE_BATCH];
	uint32_t with_page_count;
	uint32_t stuck, stuck_class; /* items that lack a free object of that class */
	uint32_t later;              /* items that the tier postponed */
	struct departures departures;
	uint32_t evicted; /* items that do not move */
	uint32_t cost;    /* store_limits.h */
};

/* Returns the class to which items of a class move: the same one, or the one it is merged with.
 * Items of a class that gives up its last page go to the next larger class with pages, if its
 * objects are at most twice as large. */
static uint32_t
class_for_rescue(const struct slab *sl, uint32_t class)
{
	const uint32_t first = slab_class_taken(sl, class);

	for (uint32_t c = first; c < sl->class_count; c++) {
		if (sl->classes[c].size > 2 * sl->classes[first].size)
			break;
		if (slab_class_pages(&sl->classes[c]) != 0)
			return c;
	}
	return NOWHERE;
}

/* Allocates an object on a page that is not being evacuated; 0: none. Magazines may hold objects of
 * evacuated pages until their core answers the recall (store.c). */
static uint32_t
alloc_elsewhere(struct store_core *sc, uint32_t class)
{
	struct slab *sl = &sc->store->slab;
	const uint32_t leave = sc->store->never_evict ? sl->reserve : SLAB_NO_PAGE;

	for (uint32_t i = 0; i <= MAGAZINE_MAX; i++) {
		const uint32_t ref = slab_alloc(sl, sc->magazines, class, leave);

		if (ref == 0 || !slab_evacuating(sl, ref))
			return ref;
		slab_free(sl, sc->magazines, ref);
	}
	return 0;
}

/* Copies an item, except for its expiry, which is copied under the locks, and its pins, which stay
 * with the old item. */
static void
copy_item(const struct item *from, struct item *to)
{
	const uint32_t form = item_form(from);

	item_set_head(to, 0, item_head(from) >> 8, item_key_len(from));
	to->cas_form = from->cas_form;
	if (form & ITEM_HAS_FLAGS)
		memcpy(to->body, from->body, sizeof(uint32_t));
	if (form & ITEM_HAS_LONG) {
		memcpy(item_long_at(to), item_long_at(from), offsetof(struct item_long, pins));
		atomic_store_explicit(item_pins_at(to), 0, memory_order_relaxed);
	}
	memcpy((uint8_t *)item_key_bytes(to), item_key_bytes(from),
	       item_key_len(from) + item_value_len(from));
}

/* Returns KEPT for a copy, as if the hand had passed it; but a copy of an item on probation stays
 * on probation. */
static enum object_state
state_of_copy(const struct store *st, const struct item *from)
{
	return slab_state(&st->slab, item_ref(st, from)) == OBJECT_NEW ? OBJECT_NEW : OBJECT_KEPT;
}

/* Puts the copy in the item's slot. Called under the lock. */
static enum evacuation
replace_with_copy(struct store_core *sc, struct spot spot, struct item *it, struct item *copy)
{
	struct store *st = sc->store;
	const bool pinned = (item_form(it) & ITEM_HAS_LONG) != 0;

	if (spot.bucket == NULL || item_dead(sc, it) ||
	    (pinned && !retire_list_has_space(sc, RETIRE_LIST_LEFT_BY_EVICTION)))
		return EVACUATE_SKIPPED;
	/* The expiry is copied here, since a touch changes it under these locks. */
	item_set_expiry(copy, item_expiry_s(it));
	atomic_fetch_or_explicit(&copy->head, item_hand_over(it, ITEM_STATUS_MASK),
				 memory_order_relaxed);
	account_moved(sc, it, copy);
	item_set_live(st, copy, state_of_copy(st, it));
	protocol_gap();
	bucket_put(spot.bucket, spot.slot, item_ref(st, copy), bucket_tag(spot.bucket, spot.slot));
	item_clear_live(st, it);
	if (!pinned)
		return EVACUATE_WITH_PAGE;
	retire_list_add(sc, it);
	return EVACUATE_RETIRED;
}

/* Replaces an item that is not in its noted slot: it was moved, or left the index. */
static __attribute__((noinline)) enum evacuation
replace_elsewhere(struct store_core *sc, const struct victim *v, struct item *it, struct item *copy)
{
	struct store *st = sc->store;
	const struct place p = index_lock(&st->ix, v->hash);
	const enum evacuation how =
		replace_with_copy(sc, index_spot_of_ref(&st->ix, &p, v->ref), it, copy);

	index_unlock(&st->ix, &p);
	return how;
}

/* Replaces the item by its copy, under the lock of the bucket that holds it, as unlink_victim
 * does. */
static enum evacuation
replace_victim(struct store_core *sc, const struct victim *v, struct item *it, struct item *copy)
{
	struct spot spot = {.bucket = index_bucket(&sc->store->ix, v->bucket), .tag = v->tag};
	enum evacuation how = EVACUATE_SKIPPED;

	bucket_lock(spot.bucket);
	spot.slot = bucket_slot_of(spot.bucket, v->tag, v->ref);
	if (likely(spot.slot < BUCKET_SLOTS))
		how = replace_with_copy(sc, spot, it, copy);
	bucket_unlock(spot.bucket);
	return likely(spot.slot < BUCKET_SLOTS) ? how : replace_elsewhere(sc, v, it, copy);
}

static enum evacuation
rescue(struct store_core *sc, const struct victim *v, uint32_t class)
{
	struct store *st = sc->store;
	const uint32_t ref = alloc_elsewhere(sc, class);
	struct item *it = item_at(st, v->ref), *copy = item_at(st, ref);
	enum evacuation how;

	if (ref == 0)
		return EVACUATE_STUCK;
	copy_item(it, copy);
	protocol_gap();
	how = replace_victim(sc, v, it, copy);
	if (how == EVACUATE_SKIPPED)
		slab_free(&st->slab, sc->magazines, ref);
	else
		count(sc, STORE_RESCUED, 1);
	return how;
}

/* Returns the class that an object's item moves to; NOWHERE: it cannot move, and is evicted. */
static uint32_t
class_for(const struct store *st, uint32_t ref)
{
	const struct slab *sl = &st->slab;
	const uint32_t class = class_for_rescue(sl, slab_class_of_ref(sl, ref));

	if (class == NOWHERE || st->never_evict || slab_is_referenced(sl, ref))
		return class;

	const struct slab_class *c = &sl->classes[class];

	return atomic_load_explicit(&c->free_count, memory_order_relaxed) > slab_class_ahead(c)
		       ? class
		       : NOWHERE;
}

static uint32_t
class_to_keep(const struct store *st, uint32_t ref)
{
	const struct item *it = item_at(st, ref);

	if (item_key_len(it) == 0 || (item_form(it) & ITEM_IS_CHUNKED) != 0)
		return NOWHERE;
	return class_for(st, ref);
}

static uint32_t
cost_of_copy(const struct slab *sl, uint32_t ref)
{
	return EVACUATE_RESCUE + slab_size_of_ref(sl, ref) / EVACUATE_COPY_BYTES;
}

static enum evacuation
evict_object(struct store_core *sc, struct batch *b, const struct victim *v)
{
	const bool tiered = sc->tier != NULL;

	b->cost += tiered ? cost_of_copy(&sc->store->slab, v->ref) : 0;
	switch (tiered ? evict_to_tier(sc, v, true, GHOST_NONE, &b->departures)
		       : unlink_victim(sc, v, true, GHOST_NONE, &b->departures)) {
	case UNLINKED_WITH_PAGE:
		b->evicted++;
		return EVACUATE_WITH_PAGE;
	case UNLINKED_RETIRED:
		b->evicted++;
		return EVACUATE_RETIRED;
	case UNLINKED_LATER:
		return EVACUATE_LATER;
	case UNLINKED_NOT:
		break;
	}
	return EVACUATE_SKIPPED;
}

/* True if a stuck item is not evicted even in a hurry: it is referenced, and within a grace period
 * its class gets more free objects than it has stuck items. Items of large classes do not wait,
 * since a value of several pages waits for their memory. */
static bool
waits_in_hurry(const struct store *st, const struct batch *b, uint32_t ref, uint32_t class)
{
	const struct slab_class *c = &st->slab.classes[class];

	return slab_is_referenced(&st->slab, ref) && c->batch != 0 &&
	       slab_class_coming(c) > b->stuck;
}

/* Returns the most work that evacuating an object can take. */
static uint32_t
cost_at_most(const struct slab *sl, uint32_t ref)
{
	const struct store *st = container_of(sl, struct store, slab);

	/* With a tier, an evicted item is copied, too. */
	return class_for(st, ref) == NOWHERE && st->cores[0].tier == NULL
		       ? 1
		       : 1 + cost_of_copy(sl, ref);
}

static void
evacuate_object(struct store_core *sc, struct batch *b, uint32_t ref, const struct victim *v,
		bool hurry)
{
	const uint32_t class = class_to_keep(sc->store, ref);
	enum evacuation how = EVACUATE_SKIPPED;

	b->cost++;
	if (class != NOWHERE) {
		how = rescue(sc, v, class);
		if (how != EVACUATE_STUCK)
			b->cost += cost_of_copy(&sc->store->slab, ref);
	}
	if (how == EVACUATE_SKIPPED ||
	    (how == EVACUATE_STUCK && hurry && !waits_in_hurry(sc->store, b, ref, class)))
		how = sc->store->never_evict ? EVACUATE_STUCK : evict_object(sc, b, v);
	if (how == EVACUATE_WITH_PAGE)
		b->with_page[b->with_page_count++] = ref;
	b->later += how == EVACUATE_LATER;
	if (how == EVACUATE_STUCK) {
		b->stuck++;
		b->stuck_class = class;
	}
}

/* Frees objects for stuck items by evicting others of their class; the memory is free after a grace
 * period. A set may take it first, and then need not evict, so the class's hand would seem slow. So
 * these evictions count as time (slab_age); otherwise no class would be found to give a page. */
static uint32_t
make_places(struct store_core *sc, uint32_t class, uint32_t stuck)
{
	struct slab *sl = &sc->store->slab;
	uint32_t waiting, done;

	/* Otherwise a second call in the turn would evict for the same items again. */
	retire_list_publish(sc);
	waiting = slab_class_coming(&sl->classes[class]);
	if (waiting >= stuck)
		return 0;
	done = evict_chosen(sc, class, stuck - waiting);
	atomic_fetch_add_explicit(&sl->evicted_bytes, (uint64_t)done * sl->classes[class].size,
				  memory_order_relaxed);
	return done;
}

bool
evacuate_batch(struct store_core *sc, uint32_t *work, uint32_t until, bool hurry)
{
	struct slab *sl = &sc->store->slab;
	uint32_t refs[EVACUATE_BATCH + OBJECTS_PER_LOOK];
	struct victim victims[VICTIMS_MAX];

	*work += EVACUATE_LOOK;
	item_apply_referenced(sc);

	const struct evacuation_slice slice = {.objects = EVACUATE_BATCH,
					       .work = until > *work ? until - *work : 0,
					       .cost = cost_at_most};
	const uint32_t n =
		slab_evacuate_live(sl, refs, &slice, (uint32_t)epoch_now(&sc->store->epoch));
	struct batch b = {.with_page_count = 0};

	if (n == 0)
		return false;
	b.departures.class = slab_class_of_ref(sl, refs[0]); /* all objects are on one page */
	for (uint32_t i = 0; i < n; i++) {
		if (i % VICTIMS_MAX == 0)
			unlink_look(sc->store, refs + i, n - i < VICTIMS_MAX ? n - i : VICTIMS_MAX,
				    victims);
		evacuate_object(sc, &b, refs[i], &victims[i % VICTIMS_MAX], hurry);
	}
	account_departures(sc, &b.departures);
	if (b.evicted != 0)
		atomic_fetch_add_explicit(&sl->evicted_bytes,
					  (uint64_t)b.evicted * slab_size_of_ref(sl, refs[0]),
					  memory_order_relaxed);
	/* The epoch is read after the last item left the index (epoch.h). */
	if (b.with_page_count != 0)
		slab_evacuate_retired(sl, b.with_page, b.with_page_count,
				      (uint32_t)epoch_now(&sc->store->epoch));
	slab_evacuate_done(sl, refs[0]);
	if (b.stuck != 0 && !sc->store->never_evict)
		b.cost += make_places(sc, b.stuck_class, b.stuck);
	*work += b.cost;
	return b.stuck + b.later != n;
}

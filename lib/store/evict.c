/*
 * evict.c - evicts the items of the objects that the policy chooses, and notes a ghost for each.
 */
#include "evict.h"
#include "expire.h"
#include "item_access.h"
#include "leaving.h"
#include "unlink.h"
#include "slab/eviction.h"

/* Counts of evicted items, by the ghosts that they leave. */
struct evicted {
	uint32_t of_new, of_kept;
};

static uint32_t
evicted_all(struct evicted e)
{
	return e.of_new + e.of_kept;
}

/* Offers the item to the tier. False: the tier postpones it (no offer), or copies it in later turns
 * (*offer is open). */
static bool
offer_made(struct store_core *sc, const struct victim *v, uint64_t *offer)
{
	const struct store_tier *tier = sc->tier;
	const struct item *it = item_at(sc->store, v->ref);
	/* The hand reaches a chunked value once for each of its objects. The first time it left the
	 * index. */
	const bool is_out = slab_state(&sc->store->slab, v->ref) == OBJECT_OUT;

	if (!is_out && !item_dead(sc, it))
		*offer = tier->evicting(tier->arg, sc, it, v->hash);
	if (*offer == STORE_OFFER_LATER) {
		*offer = 0;
		return false;
	}
	if (*offer == 0 || tier->copying(tier->arg, sc, *offer, it))
		return true;
	store_pin(it);
	return false;
}

enum unlinked
evict_offered(struct store_core *sc, const struct victim *v, bool with_page, enum ghost ghost,
	      struct departures *d, uint64_t *offer)
{
	const bool was_open = *offer != 0;
	enum unlinked how;

	if (unlikely(v->hash == sc->spared))
		return UNLINKED_NOT;
	if (!was_open && !offer_made(sc, v, offer))
		return UNLINKED_LATER;
	sc->offer = *offer;
	how = unlink_victim(sc, v, with_page, ghost, d);
	if (sc->offer != 0)
		sc->tier->evicted(sc->tier->arg, sc, sc->offer, NULL, 0);
	sc->offer = *offer = 0;
	if (was_open)
		store_unpin(item_at(sc->store, v->ref));
	return how;
}

void
evict_offer_end(struct store_core *sc, uint32_t ref, uint64_t *offer)
{
	if (likely(*offer == 0))
		return;
	sc->tier->evicted(sc->tier->arg, sc, *offer, NULL, 0);
	*offer = 0;
	store_unpin(item_at(sc->store, ref));
}

/* Offers the item if no others wait; otherwise adds it to the ring, behind them. */
enum unlinked
evict_to_tier(struct store_core *sc, const struct victim *v, bool with_page, enum ghost ghost,
	      struct departures *d)
{
	uint64_t offer = 0;
	const enum unlinked how = sc->leaving.count == 0
					  ? evict_offered(sc, v, with_page, ghost, d, &offer)
					  : UNLINKED_LATER;

	if (how == UNLINKED_LATER)
		leaving_add(sc, v, ghost, offer);
	return how;
}

static void
count_evicted(struct store_core *sc, uint32_t class, struct evicted e)
{
	struct slab *sl = &sc->store->slab;
	struct evictions *counts = &sl->classes[class].evictions;

	asked_add(&sl->asked->class[class].out, evicted_all(e));
	evictions_add(&counts->of_new, e.of_new);
	evictions_add(&counts->of_kept, e.of_kept);
	count(sc, STORE_EVICTED_NEW, e.of_new);
}

static void
count_for_memory(struct slab *sl, uint32_t class, struct evicted e)
{
	struct slab_class *c = &sl->classes[class];
	const uint32_t done = evicted_all(e);

	if (done != 0)
		atomic_store_explicit(&c->evicted_at, slab_age(sl), memory_order_relaxed);
	atomic_fetch_add_explicit(&c->passed, e.of_new + PASSED_KEPT * e.of_kept,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&sl->evicted_bytes, (uint64_t)done * c->size,
				  memory_order_relaxed);
}

/* No ghost: an evacuation chose the item, which was not evicted to free memory for its class. */
void
evict_count_left(struct store_core *sc, uint32_t class, enum ghost ghost)
{
	struct slab *sl = &sc->store->slab;
	const struct evicted e = {ghost == GHOST_OF_NEW, ghost == GHOST_OF_KEPT};

	if (ghost == GHOST_NONE) {
		atomic_fetch_add_explicit(&sl->evicted_bytes, sl->classes[class].size,
					  memory_order_relaxed);
		return;
	}
	count_evicted(sc, class, e);
	count_for_memory(sl, class, e);
}

/* Evicts the items of n objects, of which the first of_new are in state NEW. Returns how many of
 * each were still in the index. */
static struct evicted
evict_objects(struct store_core *sc, uint32_t class, const uint32_t *refs, uint32_t n,
	      uint32_t of_new)
{
	struct evicted e = {0, 0};
	struct victim victims[VICTIMS_MAX];
	struct departures d = {.class = class};
	const bool tiered = sc->tier != NULL;
	enum unlinked how;

	for (uint32_t i = 0; i < n; i++) {
		const enum ghost ghost = i < of_new ? GHOST_OF_NEW : GHOST_OF_KEPT;
		const uint32_t left = n - i < VICTIMS_MAX ? n - i : VICTIMS_MAX;

		if (i % VICTIMS_MAX == 0)
			unlink_look(sc->store, refs + i, left, victims);
		if (unlikely(tiered))
			how = evict_to_tier(sc, &victims[i % VICTIMS_MAX], false, ghost, &d);
		else
			how = unlink_victim(sc, &victims[i % VICTIMS_MAX], false, ghost, &d);
		if (how == UNLINKED_NOT || how == UNLINKED_LATER)
			continue;
		e.of_new += ghost == GHOST_OF_NEW;
		e.of_kept += ghost == GHOST_OF_KEPT;
		/* With a tier this is no miss yet: a read may still find the item there. */
		if (likely(!tiered))
			eviction_evicted(&sc->store->slab, class, victims[i % VICTIMS_MAX].hash,
					 ghost);
	}
	account_departures(sc, &d);
	count_evicted(sc, class, e);
	return e;
}

static struct evicted
evict_by_policy(struct store_core *sc, uint32_t class, uint32_t want)
{
	struct slab *sl = &sc->store->slab;
	const uint32_t most = leaving_space(sc) < EVICT_SLICE ? leaving_space(sc) : EVICT_SLICE;
	const uint32_t max = want < most ? want : most;
	uint32_t refs[EVICT_SLICE + OBJECTS_PER_LOOK], n, of_new;

	item_apply_referenced(sc);
	n = sl->policy->choose(sl, sc->magazines, class, refs, max, &of_new);
	return evict_objects(sc, class, refs, n, of_new);
}

uint32_t
evict_chosen(struct store_core *sc, uint32_t class, uint32_t want)
{
	return evicted_all(evict_by_policy(sc, class, want));
}

uint32_t
evict_for_memory(struct store_core *sc, uint32_t class, uint32_t max)
{
	const uint32_t dead = expire_for_memory(sc, class, max);
	struct evicted e = {0, 0};

	if (dead < max)
		e = evict_by_policy(sc, class, max - dead);
	count_for_memory(&sc->store->slab, class, e);
	return dead + evicted_all(e);
}

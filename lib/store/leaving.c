/*
 * leaving.c - each core's ring of items that wait for the tier.
 */
#include "leaving.h"
#include "evict.h"
#include "item_access.h"

/* The most items that a turn offers. The tier postpones one before that, unless items are small. */
#define LEAVING_TURN EVICT_TURN_MOST

static struct leaving_item *
item_number(struct leaving *l, uint32_t n)
{
	return &l->ring[(l->first + n) % STORE_LEAVING_MAX];
}

static void
count_leaving(struct store_core *sc, const struct leaving_item *w, bool more)
{
	struct slab_class *c = &sc->store->slab.classes[w->class];

	/* Relaxed: these are sums, through which nothing is read. */
	atomic_fetch_add_explicit(&c->leaving, more ? w->objects : -(uint32_t)w->objects,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&sc->store->leaving, more ? 1 : -1u, memory_order_relaxed);
}

static bool
waits(struct leaving *l, uint32_t ref)
{
	for (uint32_t n = 0; n < l->count; n++)
		if (item_number(l, n)->ref == ref && !item_number(l, n)->left)
			return true;
	return false;
}

/* Adds an item once only: the hand comes to a chunked item once for each chunk, and an evacuation
 * to an item in each turn. */
void
leaving_add(struct store_core *sc, const struct victim *v, enum ghost ghost, uint64_t offer)
{
	struct leaving *l = &sc->leaving;
	const struct item *it = item_at(sc->store, v->ref);
	const uint32_t chunks = item_chunks(it);
	const bool named_again = chunks != 0 || ghost == GHOST_NONE;
	struct leaving_item *w = item_number(l, l->count);

	if (l->count == STORE_LEAVING_MAX || (named_again && waits(l, v->ref)))
		return;
	*w = (struct leaving_item){.hash = v->hash,
				   .offer = offer,
				   .ref = v->ref,
				   .class = (uint16_t)item_class(sc->store, it),
				   .objects = (uint16_t)(chunks != 0 ? chunks : 1),
				   .ghost = (uint8_t)ghost};
	l->count++;
	count_leaving(sc, w, true);
}

/* Removes the items at the front of the ring that no longer wait. */
static void
leave_ring(struct store_core *sc)
{
	struct leaving *l = &sc->leaving;

	while (l->count != 0 && item_number(l, 0)->left) {
		count_leaving(sc, item_number(l, 0), false);
		l->first = (l->first + 1) % STORE_LEAVING_MAX;
		l->count--;
	}
}

void
leaving_pause(struct store_core *sc)
{
	struct leaving *l = &sc->leaving;

	for (uint32_t n = 0; n < l->count; n++)
		evict_offer_end(sc, item_number(l, n)->ref, &item_number(l, n)->offer);
}

/* Evicts the item, by its open offer if it has one. False: the tier postpones it. */
static bool
item_leaves(struct store_core *sc, struct leaving_item *w)
{
	struct departures d = {.class = w->class};
	enum unlinked how = UNLINKED_NOT;
	struct victim v;

	if (unlink_look_again(sc->store, w->ref, w->hash, &v))
		how = evict_offered(sc, &v, false, w->ghost, &d, &w->offer);
	if (how == UNLINKED_LATER)
		return false;
	evict_offer_end(sc, w->ref, &w->offer);
	w->left = true;
	account_departures(sc, &d);
	if (how != UNLINKED_NOT)
		evict_count_left(sc, w->class, w->ghost);
	return true;
}

/* True if no open offer's copy is incomplete. The item may have left the index by now. */
static bool
is_whole(struct store_core *sc, const struct leaving_item *w)
{
	return w->offer == 0 ||
	       sc->tier->copying(sc->tier->arg, sc, w->offer, item_at(sc->store, w->ref));
}

/* Offers the items in order. Those behind an item that is being copied are offered, too, until the
 * tier postpones one. */
void
store_evict_waiting(struct store_core *sc)
{
	struct leaving *l = &sc->leaving;

	for (uint32_t n = 0; n < LEAVING_TURN && n < l->count; n++) {
		struct leaving_item *w = item_number(l, n);

		if (!w->left && is_whole(sc, w) && !item_leaves(sc, w) && w->offer == 0)
			break;
	}
	leave_ring(sc);
}

bool
store_evictions_needed(const struct store_core *sc)
{
	const struct store *st = sc->store;
	const uint64_t noted = atomic_load_explicit(&st->leaving_needed, memory_order_relaxed);

	return noted != 0 && epoch_now(&st->epoch) - noted <= LEAVING_NEEDED_EPOCHS;
}

uint32_t
store_evictions_wait(const struct store_core *sc)
{
	return sc->leaving.count;
}

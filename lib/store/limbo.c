#include "inside.h"

static uint32_t
limbo_used(const struct limbo *lb)
{
	return lb->tail - lb->head;
}

bool
limbo_has_room(struct store_core *sc, uint32_t items)
{
	if (limbo_used(&sc->limbo) + items <= LIMBO_MAX)
		return true;
	limbo_reclaim(sc);
	return limbo_used(&sc->limbo) + items <= LIMBO_MAX;
}

/* Count the item's objects into, or out of, what their classes wait for. */
static void
count_limbo(struct store *st, const struct item *it, uint32_t step)
{
	struct slab *sl = &st->slab;
	const bool chunked = (item_form(it) & ITEM_IS_CHUNKED) != 0;
	const uint32_t chunks = chunked ? item_chunk_count(item_value_len(it)) : 0;
	const uint32_t class = slab_class_of_ref(sl, item_ref(st, it));

	atomic_fetch_add_explicit(&sl->classes[class].limbo_count, step, memory_order_relaxed);
	for (uint32_t i = 0; i < chunks; i++) {
		const uint32_t c = slab_class_of_ref(sl, item_chunk_ref(it, i));

		atomic_fetch_add_explicit(&sl->classes[c].limbo_count, step, memory_order_relaxed);
	}
}

void
limbo_put(struct store_core *sc, struct item *it)
{
	struct limbo *lb = &sc->limbo;

	if (mutant_no_quiescence()) {
		item_free(sc, it);
		return;
	}
	ensure(limbo_used(lb) < LIMBO_MAX);
	lb->ring[lb->tail++ % LIMBO_MAX] = (struct retired){
		.ref = item_ref(sc->store, it),
		.epoch = (uint32_t)epoch_now(&sc->store->epoch),
	};
	count_limbo(sc->store, it, 1);
}

static bool
item_pinned(const struct item *it)
{
	/* Acquire: pairs with the release in store_unpin. A pin is taken while the item can
	 * still be found, so after the grace period the count can only fall. */
	return (item_form(it) & ITEM_HAS_LONG) != 0 &&
	       atomic_load_explicit(item_pins_at(it), memory_order_acquire) != 0;
}

/* What is pinned goes round: once all that was there when the round began has come by, it is known
 * how many of them were. */
static void
round_look(struct limbo *lb)
{
	if ((int32_t)(lb->head - lb->round_end) < 0)
		return;
	lb->pinned = lb->pinned_now;
	lb->pinned_now = 0;
	lb->round_end = lb->tail;
}

bool
store_pins_press(const struct store_core *sc)
{
	const struct limbo *lb = &sc->limbo;

	return limbo_used(lb) > LIMBO_PRESSED &&
	       (lb->pinned > LIMBO_PRESSED || lb->pinned_now > LIMBO_PRESSED);
}

void
limbo_reclaim(struct store_core *sc)
{
	struct store *st = sc->store;
	struct limbo *lb = &sc->limbo;

	if (limbo_used(lb) == 0)
		return;

	const uint64_t oldest = epoch_advance(&st->epoch);

	for (uint32_t n = 0; n < LIMBO_SLICE && limbo_used(lb) != 0; n++) {
		const struct retired r = lb->ring[lb->head % LIMBO_MAX];

		if (!epoch_passed(r.epoch, oldest))
			break;

		struct item *it = item_at(st, r.ref);

		round_look(lb);
		lb->head++;
		if (item_pinned(it)) { /* go round once more */
			lb->pinned_now++;
			lb->ring[lb->tail++ % LIMBO_MAX] = (struct retired){
				.ref = r.ref, .epoch = (uint32_t)epoch_now(&st->epoch)};
			continue;
		}
		count_limbo(st, it, UINT32_MAX); /* minus one */
		item_free(sc, it);
	}
}

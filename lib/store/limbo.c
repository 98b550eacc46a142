#include "pinned.h"

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

void
limbo_tell(struct store_core *sc)
{
	if (sc->untold != 0)
		atomic_fetch_add_explicit(&sc->store->slab.classes[sc->untold_class].limbo_count,
					  sc->untold, memory_order_relaxed);
	sc->untold = 0;
}

/* So many objects more, or less, of a class wait. The class's line is all cores': it is told once a
 * turn, or when it is another class's turn. */
static inline void
count_class(struct store_core *sc, uint32_t class, uint32_t step)
{
	if (unlikely(sc->untold_class != class)) {
		limbo_tell(sc);
		sc->untold_class = class;
	}
	sc->untold += step;
}

static __attribute__((noinline)) void
count_chunks(struct store_core *sc, const struct item *it, uint32_t step)
{
	const uint32_t chunks = item_chunk_count(item_value_len(it));

	for (uint32_t i = 0; i < chunks; i++)
		count_class(sc, slab_class_of_ref(&sc->store->slab, item_chunk_ref(it, i)), step);
}

void
limbo_put_plain(struct store_core *sc, uint32_t ref)
{
	struct limbo *lb = &sc->limbo;

	ensure(limbo_used(lb) < LIMBO_MAX);
	lb->ring[lb->tail++ % LIMBO_MAX] =
		(struct retired){.ref = ref, .epoch = (uint32_t)epoch_now(&sc->store->epoch)};
	count_class(sc, slab_class_of_ref(&sc->store->slab, ref), 1);
}

void
limbo_put(struct store_core *sc, struct item *it)
{
	if (mutant_no_quiescence()) {
		item_free(sc, it);
		return;
	}
	limbo_put_plain(sc, item_ref(sc->store, it));
	if (unlikely((item_form(it) & ITEM_IS_CHUNKED) != 0))
		count_chunks(sc, it, 1);
}

/* Its readers are gone, but for those who pinned it. */
static inline void
come_home(struct store_core *sc, struct item *it, uint32_t ref)
{
	struct slab *sl = &sc->store->slab;
	const struct page *p = &sl->pages[slab_page_of(sl, ref)];
	const bool pinned = item_pinned(it);

	count_class(sc, p->class, UINT32_MAX); /* minus one */
	if (likely((item_form(it) & ITEM_IS_CHUNKED) == 0) && likely(!pinned) &&
	    likely(slab_give_here(sl, sc->magazines, p, ref)))
		return;
	if ((item_form(it) & ITEM_IS_CHUNKED) != 0)
		count_chunks(sc, it, UINT32_MAX);
	if (pinned)
		pinned_put(sc, it, ref);
	else
		item_free(sc, it);
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

		lb->head++;
		come_home(sc, it, r.ref);
	}
}

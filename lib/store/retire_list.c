/*
 * retire_list.c - a core's retired items, oldest first, until every core has reported two newer
 * epochs (epoch.h). An item that is still pinned then moves to the list in pinned.c.
 */
#include "retire_list.h"
#include "item_access.h"
#include "pinned.h"

static uint32_t
retire_list_used(const struct retire_list *list)
{
	return list->tail - list->head;
}

bool
retire_list_has_space(struct store_core *sc, uint32_t items)
{
	if (retire_list_used(&sc->retire_list) + items <= RETIRE_LIST_MAX)
		return true;
	retire_list_reclaim(sc);
	return retire_list_used(&sc->retire_list) + items <= RETIRE_LIST_MAX;
}

void
retire_list_publish(struct store_core *sc)
{
	if (sc->unpublished != 0)
		atomic_fetch_add_explicit(
			&sc->store->slab.classes[sc->unpublished_class].retired_count,
			sc->unpublished, memory_order_relaxed);
	sc->unpublished = 0;
}

/* Add step to the class's count of retired objects. That count is shared, so it is written once a
 * turn, or when another class follows. */
static inline void
count_class(struct store_core *sc, uint32_t class, uint32_t step)
{
	if (unlikely(sc->unpublished_class != class)) {
		retire_list_publish(sc);
		sc->unpublished_class = class;
	}
	sc->unpublished += step;
}

static __attribute__((noinline)) void
count_chunks(struct store_core *sc, const struct item *it, uint32_t step)
{
	const uint32_t chunks = item_chunk_count(item_value_len(it));

	for (uint32_t i = 0; i < chunks; i++)
		count_class(sc, slab_class_of_ref(&sc->store->slab, item_chunk_ref(it, i)), step);
}

void
retire_list_add_unchunked(struct store_core *sc, uint32_t ref)
{
	struct retire_list *list = &sc->retire_list;

	ensure(retire_list_used(list) < RETIRE_LIST_MAX);
	list->ring[list->tail++ % RETIRE_LIST_MAX] =
		(struct retired_item){.ref = ref, .epoch = (uint32_t)epoch_now(&sc->store->epoch)};
	count_class(sc, slab_class_of_ref(&sc->store->slab, ref), 1);
}

void
retire_list_add(struct store_core *sc, struct item *it)
{
	retire_list_add_unchunked(sc, item_ref(sc->store, it));
	if (unlikely((item_form(it) & ITEM_IS_CHUNKED) != 0))
		count_chunks(sc, it, 1);
}

/* The item's grace period is over: free it, unless it is pinned. */
static inline void
reclaim_item(struct store_core *sc, struct item *it, uint32_t ref)
{
	struct slab *sl = &sc->store->slab;
	const struct page *p = &sl->pages[slab_page_of(sl, ref)];
	const bool pinned = item_pinned(it);

	count_class(sc, p->class, UINT32_MAX); /* minus one */
	if (likely((item_form(it) & ITEM_IS_CHUNKED) == 0) && likely(!pinned) &&
	    likely(slab_free_fast(sl, sc->magazines, p, ref)))
		return;
	if ((item_form(it) & ITEM_IS_CHUNKED) != 0)
		count_chunks(sc, it, UINT32_MAX);
	if (pinned)
		pinned_put(sc, it, ref);
	else
		item_free(sc, it);
}

void
retire_list_reclaim(struct store_core *sc)
{
	struct store *st = sc->store;
	struct retire_list *list = &sc->retire_list;

	if (retire_list_used(list) == 0)
		return;

	const uint64_t oldest = epoch_advance(&st->epoch);

	for (uint32_t n = 0; n < RETIRE_LIST_SLICE && retire_list_used(list) != 0; n++) {
		const struct retired_item r = list->ring[list->head % RETIRE_LIST_MAX];

		if (!epoch_passed(r.epoch, oldest))
			break;

		struct item *it = item_at(st, r.ref);

		list->head++;
		reclaim_item(sc, it, r.ref);
	}
}

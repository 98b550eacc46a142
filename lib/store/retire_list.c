/*
 * retire_list.c - keeps a core's retired items, oldest first, until every core has reported two
 * newer epochs (epoch.h). An item that is still pinned then moves to the list in pinned.c.
 */
#include "retire_list.h"
#include "item_access.h"
#include "pinned.h"

bool
retire_list_make_space(struct store_core *sc, uint32_t items)
{
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

/* Adds step to the class's count of retired objects. The shared count is written once a turn, or
 * when an object of another class follows. */
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
	const uint32_t chunks = item_chunks(it);

	for (uint32_t i = 0; i < chunks; i++)
		count_class(sc, slab_class_of_ref(&sc->store->slab, item_chunk_ref(it, i)), step);
}

static inline void
add(struct store_core *sc, uint32_t ref, uint32_t class, bool plain)
{
	struct retire_list *list = &sc->retire_list;

	ensure(retire_list_used(list) < RETIRE_LIST_MAX);
	list->ring[list->tail++ % RETIRE_LIST_MAX] =
		(struct retired_item){.ref = ref,
				      .epoch = (uint32_t)epoch_now(&sc->store->epoch) & INT32_MAX,
				      .plain = plain};
	count_class(sc, class, 1);
}

void
retire_list_add_plain(struct store_core *sc, uint32_t ref, uint32_t class)
{
	add(sc, ref, class, true);
}

void
retire_list_add(struct store_core *sc, struct item *it)
{
	const uint32_t ref = item_ref(sc->store, it);

	add(sc, ref, slab_class_of_ref(&sc->store->slab, ref),
	    (item_form(it) & (ITEM_IS_CHUNKED | ITEM_HAS_LONG)) == 0);
	if (unlikely((item_form(it) & ITEM_IS_CHUNKED) != 0))
		count_chunks(sc, it, 1);
}

/* Frees an item that may be chunked or pinned. False: the next call frees the rest of its
 * chunks. */
static __attribute__((noinline)) bool
reclaim_item(struct store_core *sc, uint32_t ref, uint32_t *work)
{
	struct slab *sl = &sc->store->slab;
	struct item *it = item_at(sc->store, ref);
	uint32_t *freed = &sc->retire_list.chunks_freed;
	const uint32_t chunks = item_chunks(it);

	if (item_pinned(it)) {
		count_chunks(sc, it, UINT32_MAX);
		count_class(sc, slab_class_of_ref(sl, ref), UINT32_MAX);
		pinned_put(sc, it, ref);
		return true;
	}
	/* An item without a pin here gets none later (item_pinned). */
	for (; *freed < chunks; ++*freed) {
		const uint32_t chunk = item_chunk_ref(it, *freed);

		if (*work >= RETIRE_LIST_SLICE)
			return false;
		*work += RETIRE_LIST_CHUNK;
		count_class(sc, slab_class_of_ref(sl, chunk), UINT32_MAX);
		slab_free(sl, sc->magazines, chunk);
	}
	*freed = 0;
	count_class(sc, slab_class_of_ref(sl, ref), UINT32_MAX);
	slab_free(sl, sc->magazines, ref);
	return true;
}

/* Frees an item whose grace period is over, unless it is pinned. False: the next call frees the
 * rest of it. */
static inline bool
reclaim(struct store_core *sc, const struct retired_item *r, uint32_t *work)
{
	struct slab *sl = &sc->store->slab;
	const uint32_t ref = r->ref;
	const struct page *p = &sl->pages[slab_page_of(sl, ref)];

	++*work;
	if (unlikely(!r->plain))
		return reclaim_item(sc, ref, work);
	count_class(sc, p->class, UINT32_MAX); /* minus one */
	if (unlikely(!slab_free_fast(sl, sc->magazines, p, ref)))
		slab_free(sl, sc->magazines, ref);
	return true;
}

void
retire_list_reclaim(struct store_core *sc)
{
	struct store *st = sc->store;
	struct retire_list *list = &sc->retire_list;

	if (retire_list_used(list) == 0)
		return;

	const uint64_t oldest = epoch_advance(&st->epoch);
	uint32_t work = 0;

	while (work < RETIRE_LIST_SLICE && retire_list_used(list) != 0) {
		const struct retired_item *r = &list->ring[list->head % RETIRE_LIST_MAX];

		if (!epoch_passed_31(r->epoch, oldest) || !reclaim(sc, r, &work))
			break;
		list->head++;
	}
}

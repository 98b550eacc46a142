/*
 * evict.c - the CLOCK hand of a class names objects; their items leave the index.
 */
#include "evict.h"
#include "item_access.h"
#include "unlink.h"

uint32_t
evict_by_hand(struct store_core *sc, uint32_t class, uint32_t max)
{
	uint32_t refs[EVICT_SLICE + OBJECTS_PER_WORD], done = 0;

	item_apply_clock_bits(sc);

	const uint32_t n = slab_clock_hand(&sc->store->slab, class, refs,
					   max < EVICT_SLICE ? max : EVICT_SLICE);

	for (uint32_t i = 0; i < n; i++) {
		unlink_prefetch(sc->store, refs, n, i);
		done += unlink_object(sc, refs[i], false) != UNLINKED_NOT;
	}
	return done;
}

uint32_t
evict_for_memory(struct store_core *sc, uint32_t class, uint32_t max)
{
	struct slab *sl = &sc->store->slab;
	struct slab_class *c = &sl->classes[class];
	const uint32_t done = evict_by_hand(sc, class, max);

	atomic_fetch_add_explicit(&c->passed, done, memory_order_relaxed);
	atomic_fetch_add_explicit(&sl->evicted_bytes, (uint64_t)done * c->size,
				  memory_order_relaxed);
	return done;
}

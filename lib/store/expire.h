/*
 * expire.h - what has expired is evicted before what is alive.
 *
 * Thread: the core named.
 */
#ifndef CLOCKOO_EXPIRE_H
#define CLOCKOO_EXPIRE_H

#include "store_state.h"

/* Evict up to so many expired items of a class, or a look's more. Returns how many left. */
uint32_t expire_for_memory(struct store_core *sc, uint32_t class, uint32_t want);
/* This turn's share of sc->idle_expiry. */
void expire_idle(struct store_core *sc);
/* Has a class of items that expire all it needs from them? Its hands have evicted nothing, and it
 * got no page, for some time. */
bool expiry_is_enough(const struct slab *sl, const struct slab_class *c);

#endif

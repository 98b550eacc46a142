/*
 * expire.h - what has expired is evicted before what is alive.
 *
 * Thread: the core named.
 */
#ifndef CLOCKOO_EXPIRE_H
#define CLOCKOO_EXPIRE_H

#include "store_state.h"

/* Evicts up to want expired items of a class, or one look more. Returns how many left. */
uint32_t expire_for_memory(struct store_core *sc, uint32_t class, uint32_t want);
/* This turn's share of sc->idle_expiry. */
void expire_idle(struct store_core *sc);

#endif

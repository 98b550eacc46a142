/*
 * expire.h - evicts expired items before living ones.
 *
 * Thread: the core named.
 */
#ifndef CLOCKOO_EXPIRE_H
#define CLOCKOO_EXPIRE_H

#include "store_state.h"

/* Evicts expired items of a class until `want` objects are free, and then the others found by the
 * same look. Returns how many objects are freed. */
uint32_t expire_for_memory(struct store_core *sc, uint32_t class, uint32_t want);
/* Evicts this turn's share of sc->idle_expiry. */
void expire_idle(struct store_core *sc);

#endif

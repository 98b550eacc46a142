/*
 * core_empty.h - is everything the store ever gave out its own again?
 *
 * Thread: one; the store's only core, which does not turn meanwhile.
 */
#ifndef CLOCKOO_CORE_EMPTY_H
#define CLOCKOO_CORE_EMPTY_H

#include <stdbool.h>

struct store_core;

/* Forget all items, wait for their grace period: true if every page is the pool's again, so that
 * nothing is pinned, being filled, or lost. The core is offline afterwards. */
bool core_store_empties(struct store_core *sc);

#endif

/*
 * core_empty.h - checks that the store owns everything again that it ever gave out.
 *
 * Thread: one; the store's only core, which does not turn meanwhile.
 */
#ifndef CLOCKOO_CORE_EMPTY_H
#define CLOCKOO_CORE_EMPTY_H

#include <stdbool.h>

struct store_core;

/* Flushes all items and waits for their grace period. True if every page is back in the pool, so
 * that nothing is pinned, being filled, or lost. The core is offline afterwards. */
bool core_store_empties(struct store_core *sc);

#endif

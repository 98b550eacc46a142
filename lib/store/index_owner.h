/*
 * index_owner.h - the functions by which the index calls the store, which owns its items
 * (index/index_core.h).
 *
 * Thread: at start.
 */
#ifndef CLOCKOO_INDEX_OWNER_H
#define CLOCKOO_INDEX_OWNER_H

#include "store_state.h"

/* Sets up a core's part of the index, once the store's options are set. */
void index_owner_bind(struct store_core *sc);

#endif

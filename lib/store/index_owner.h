/*
 * index_owner.h - the store as the owner of what the index moves (index/index_core.h).
 *
 * Thread: at start.
 */
#ifndef CLOCKOO_INDEX_OWNER_H
#define CLOCKOO_INDEX_OWNER_H

#include "store_state.h"

/* Makes a core's part of the index; the store's options are set. */
void index_owner_bind(struct store_core *sc);

#endif

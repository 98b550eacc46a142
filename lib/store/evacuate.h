/*
 * evacuate.h - a page is emptied, object by object.
 *
 * Thread: the core named.
 */
#ifndef CLOCKOO_EVACUATE_H
#define CLOCKOO_EVACUATE_H

#include "store_state.h"

/* Move or evict some of what lies on one page. Returns the cost: 1 an object, and 1 for every
 * EVACUATE_COPY_BYTES copied; 0: nothing could be done. */
uint32_t evacuate_batch(struct store_core *sc, bool hurry);

#endif

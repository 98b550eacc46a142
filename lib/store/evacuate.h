/*
 * evacuate.h - empties a page, object by object.
 *
 * Thread: the core named.
 */
#ifndef CLOCKOO_EVACUATE_H
#define CLOCKOO_EVACUATE_H

#include "store_state.h"

/* Moves or evicts objects of one page, at least one, and adds the work to *work, up to until
 * (store_limits.h). False: no object of the page can leave now. */
bool evacuate_batch(struct store_core *sc, uint32_t *work, uint32_t until, bool hurry);

#endif

/*
 * evacuate.h - empties a page, object by object.
 *
 * Thread: the core named.
 */
#ifndef CLOCKOO_EVACUATE_H
#define CLOCKOO_EVACUATE_H

#include "store_state.h"

/* Moves or evicts at least one object of the page being evacuated. Adds the work to *work, and
 * stops at `until` (store_limits.h). False: no object of the page can leave now. */
bool evacuate_batch(struct store_core *sc, uint32_t *work, uint32_t until, bool hurry);

#endif

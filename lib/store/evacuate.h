/*
 * evacuate.h - a page is emptied, object by object.
 *
 * Thread: the core named.
 */
#ifndef CLOCKOO_EVACUATE_H
#define CLOCKOO_EVACUATE_H

#include "store_state.h"

/* Move or evict some of what lies on one page, until *work, which it adds to, is until
 * (store_limits.h), one object at least. False: nothing on it can leave now. */
bool evacuate_batch(struct store_core *sc, uint32_t *work, uint32_t until, bool hurry);

#endif

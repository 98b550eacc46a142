/*
 * asking.h - sends a call to a store.
 *
 * Thread: as store.h.
 */
#ifndef CLOCKOO_ASKING_H
#define CLOCKOO_ASKING_H

#include "history.h"

/* Makes the call and records its answer, except for the fields of *it: the item that the answer
 * is about, or NULL. A write yields now and then between its beginning and its end. Returns the
 * store's result. */
enum store_result call_ask(struct store_core *sc, struct call *c, struct view key,
			   const struct item **it);

#endif

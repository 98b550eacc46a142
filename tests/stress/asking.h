/*
 * asking.h - a call, as it is put to a store.
 *
 * Thread: as store.h.
 */
#ifndef CLOCKOO_ASKING_H
#define CLOCKOO_ASKING_H

#include "history.h"

/* Do what the call says and note what it is told, but for what *it looks like: the item that the
 * answer is about, if any. A write yields now and then between its beginning and its end. */
enum store_result call_ask(struct store_core *sc, struct call *c, struct view key,
			   const struct item **it);

#endif

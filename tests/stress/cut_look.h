/*
 * cut_look.h - rules that hold for a store's memory at every instant, at any step of its threads.
 *
 * Thread: any; nothing is written, so a signal handler may call it.
 *
 * Errors: the words of the broken rule, or NULL. RESTART.md 4 numbers the rules.
 */
#ifndef CLOCKOO_CUT_LOOK_H
#define CLOCKOO_CUT_LOOK_H

#include "cut_model.h"
#include "store/store_state.h"

/* Checks three rules and returns the words of a broken one, or NULL. Rule 3: a bucket without
 * lock bit holds each item once, in its place, with its overflow bit. Rule 4: no key has two
 * different visible references. Rule 5: a key's next version, or the next one with its tag, gets
 * a higher cas than any before. The items of a bucket without lock bit are live. *moving: some
 * item is in two slots, of locked buckets. */
const char *look_at_index(const struct store *st, const struct model *m, bool *moving);
/* Checks that every lookup finds what the model allows. Returns NULL, or words. */
const char *look_up_all(const struct store_core *sc, const struct model *m);

#endif

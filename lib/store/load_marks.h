/*
 * load_marks.h - marks of keys that clients removed, or tried to remove, while a file is loaded.
 *
 * Thread: the core named, under the lock of a bucket that the key is in; for an absent key, under
 *         that of its primary bucket.
 *
 * Bounds: store_saved.h.
 */
#ifndef CLOCKOO_LOAD_MARKS_H
#define CLOCKOO_LOAD_MARKS_H

#include "store_state.h"

/* Returns the bytes of marks, which lie beside the image; 0 without config.loads. */
size_t load_marks_bytes(const struct store_config *cfg);
void load_marks_bind(struct store *st, struct region *region, const struct store_config *cfg);

/* Marks a key. Called before its slot is cleared. Marks nothing, now and later, once the load has
 * ended. */
void load_mark(struct store_core *sc, uint64_t hash);
void load_mark_item(struct store_core *sc, const struct item *it);
/* True if a key is marked. Called under the same lock, after the key's slots were read. */
bool load_is_marked(const struct store *st, uint64_t hash);
void load_mark_prefetch(const struct store *st, uint64_t hash);

/* Sets whether this core marks keys, and with that whether its evictions go one by one: they do if
 * they are marked, watched or offered to a tier. */
static inline void
store_core_marks(struct store_core *sc, bool marks)
{
	sc->marks = marks;
	sc->evicts_slowly = marks || sc->evicted != NULL || sc->tier != NULL;
}

#endif

/*
 * resize.h - resizes the index.
 *
 * Thread: the core named; one core at a time works on a resize.
 *
 * Bounds: resize_limits.h.
 */
#ifndef CLOCKOO_RESIZE_H
#define CLOCKOO_RESIZE_H

#include "store_state.h"

/* Claims pages for this many buckets. Resizes change that number by multiples of step; 0: there are
 * none. */
void resize_init(struct store *st, uint32_t bucket_count, uint32_t step);
/* Begins a resize. False: the index has that size already, a resize is under way, or there is no
 * memory. */
bool resize_begin(struct store_core *sc, uint32_t bucket_count);
/* Begins a resize for this many expected items, or for fewer if not enough pages can be spared.
 * False: none was begun. */
bool resize_for(struct store_core *sc, uint64_t items);
/* Does slices of a resize under way. Called every turn. */
void resize_turn(struct store_core *sc);
/* Does more of a resize for a set that finds no slot. False: none is under way, or another core
 * works on it. */
bool resize_more(struct store_core *sc);
/* Begins a resize if the index is too small or too large for its items. Called in some turns. */
void resize_consider(struct store_core *sc);

#endif

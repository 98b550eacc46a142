/*
 * resize.h - the index changes its size.
 *
 * Thread: the core named; one core at a time works on a resize.
 *
 * Bounds: resize_limits.h.
 */
#ifndef CLOCKOO_RESIZE_H
#define CLOCKOO_RESIZE_H

#include "store_state.h"

/* Claims pages for this many buckets; the number of buckets then changes by multiples of step; 0:
 * never. */
void resize_init(struct store *st, uint32_t bucket_count, uint32_t step);
/* Begin a resize. False: it has that size, is being resized, or there is no memory for it. */
bool resize_begin(struct store_core *sc, uint32_t bucket_count);
/* Begins a resize for this many items to come, as far as pages can be spared. False: none was
 * begun. */
bool resize_for(struct store_core *sc, uint64_t items);
/* Every turn: slices of a resize under way. */
void resize_turn(struct store_core *sc);
/* Works on a resize for a set that finds no slot. False: none is under way, or another core has
 * it. */
bool resize_more(struct store_core *sc);
/* Some turns: begin a resize if the index is too small or too large for its items. */
void resize_consider(struct store_core *sc);

#endif

/*
 * hand_speed.h - how fast the hands of classes are.
 *
 * Units:  parts: a fraction of all memory, in evicted bytes (slab_age). Speeds: fixed point.
 * Thread: the core that has the rebalancer's lock.
 */
#ifndef CLOCKOO_HAND_SPEED_H
#define CLOCKOO_HAND_SPEED_H

#include "slab_pages.h"

/* Returns the speed of a class's hand, with the assumed passes of hand_speed.c (GUESS); 0: the
 * class has no page. */
uint64_t hand_speed(const struct slab *sl, const struct slab_class *c);
/* Returns the speed by counted passes alone. */
uint64_t hand_speed_counted(const struct slab *sl, const struct slab_class *c);
/* True if the class neither allocated nor had a page spared while a parts-th of memory was
 * evicted. */
bool hand_class_is_idle(const struct slab *sl, const struct slab_class *c, uint32_t parts);
/* Halves counts and times that are long enough: passes of long ago count less. */
void hand_speeds_forget_half(struct slab *sl);

#endif

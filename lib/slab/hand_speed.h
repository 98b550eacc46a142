/*
 * hand_speed.h - how fast the hands of classes are.
 *
 * Units:  parts: while 1/parts of all memory was evicted (slab_age). Speeds: fixed point.
 * Thread: the core that has the rebalancer's lock.
 */
#ifndef CLOCKOO_HAND_SPEED_H
#define CLOCKOO_HAND_SPEED_H

#include "slab_pages.h"

/* Returns the speed of a class's hand from the passes counted and those assumed (GUESS in
 * hand_speed.c). 0: the class has no page. */
uint64_t hand_speed(const struct slab *sl, const struct slab_class *c);
/* Returns the speed from the passes counted alone. */
uint64_t hand_speed_counted(const struct slab *sl, const struct slab_class *c);
/* True if, while 1/parts of all memory was evicted, the class allocated nothing and no page of it
 * was spared. */
bool hand_class_is_idle(const struct slab *sl, const struct slab_class *c, uint32_t parts);
/* Halves counts and times once they are large, so that passes of long ago count less. */
void hand_speeds_forget_half(struct slab *sl);

#endif

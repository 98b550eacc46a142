/*
 * class_merge.h - classes that hardly fill their only page share one.
 *
 * Thread: the core that has the rebalancer's lock.
 */
#ifndef CLOCKOO_CLASS_MERGE_H
#define CLOCKOO_CLASS_MERGE_H

#include "store_state.h"

/* Merge a class into a larger one with free objects for all of its items: its page is evacuated.
 * False: there is none. */
bool class_merge(struct slab *sl);
/* A class is to get a page: the class that the page is for. It is the same, or one that was merged
 * into it and takes objects of its own again. */
uint32_t class_split(struct store *st, uint32_t class);
/* There are free pages: each class takes objects of its own again. */
void class_unmerge(struct slab *sl);

#endif

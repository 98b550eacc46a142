/*
 * balance.h - which class gives a page, which one gets it, and when.
 *
 * Units:  ages: slab_age.
 *
 * Thread: balance_evacuate: any core. The rest: the core that has the balance lock.
 *
 * Bounds: balance_evacuate: DONORS_TRIED donors (balance.c).
 */
#ifndef CLOCKOO_BALANCE_H
#define CLOCKOO_BALANCE_H

#include "slab_pages.h"

/* Work of trying a donor that has no page to give, in items evicted. */
#define EVACUATE_NONE 6u

/* Starts to evacuate a page: of the best donor or, if no donor gives one, of the class with the
 * fastest hand. Adds to *work. False: no class gives one. */
bool balance_evacuate(struct slab *sl, uint32_t *work);
/* Returns the class with the fastest hand; UINT32_MAX: none evicts. */
uint32_t balance_recipient(const struct slab *sl);
/* Starts to evacuate a page for the class with the fastest hand, if that is due at this age. */
void balance_move_page(struct slab *sl, uint32_t age);
/* Halves the counts of what hands have passed, if enough was evicted since they were last
 * halved. */
void balance_forget(struct slab *sl, uint32_t age);

#endif

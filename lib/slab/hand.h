/*
 * hand.h - the hands by which a policy goes over the states of a class's objects.
 *
 * A class has two hands, each with its own order of the class's pages: CLOCK's hand, whose passes
 * measure the age of what is evicted (slab_page_hand_passed), and the hand of new objects. Each
 * core works on its own stretch of a hand's way, a cache line of states, and takes the next stretch
 * when that is done. So no two cores change the same line of states as they evict and store into
 * what they evicted. A hand only lists candidates. Each was live in this core's turn, so it is
 * readable until the turn ends.
 *
 * Shape:  a look is at WORDS_PER_LOOK words of states, 64 objects.
 * Thread: hand_clock takes the class's lock; all others are called under it.
 * Bounds: HAND_LOOKS_MAX looks while a call has the lock.
 */
#ifndef CLOCKOO_HAND_H
#define CLOCKOO_HAND_H

#include "slab_pages.h"

#define HAND_LOOKS_MAX 512u

/* Return the page of this core's stretch; if the stretch is done, take a new one from the hand.
 * NULL: the class has no page. */
struct page *hand_clock_page(struct slab *sl, struct slab_class *c, struct stretch *s);
struct page *hand_new_page(const struct slab *sl, struct slab_class *c, struct stretch *s);

/* Returns the states of a word. */
uint64_t hand_states(const struct slab *sl, const struct page *p, uint32_t word);
/* Makes the USED objects of a word KEPT. Returns their states before. */
uint64_t hand_clear_used(struct slab *sl, const struct page *p, uint32_t word);
/* Lists the objects of a word whose lower state bit is set in `bits`. */
uint32_t hand_list(const struct slab *sl, const struct page *p, uint32_t word, uint64_t bits,
		   uint32_t *refs);

/* Return the looks of a round of the hand, and those of one call. A call makes at most a round, so
 * that an object whose bit it clears gets a second chance. */
uint64_t hand_round(const struct slab_class *c);
uint32_t hand_looks_max(const struct slab_class *c);
/* Counts looks of CLOCK's hand, and objects that it found USED. */
void hand_passed(struct slab *sl, struct slab_class *c, uint32_t looks, uint32_t used);

/* Moves CLOCK's hand: makes USED objects KEPT, and lists up to max KEPT objects, and NEW ones if
 * takes_new is true. refs has room for OBJECTS_PER_LOOK more. */
uint32_t hand_clock(struct slab *sl, struct magazine *mags, uint32_t class, bool takes_new,
		    uint32_t *refs, uint32_t max);

#endif

/*
 * hand.h - the hands by which a policy goes over the states of a class's objects.
 *
 * A class has two hands, each with an order of the class's pages: CLOCK's, whose passes are the age
 * of what is evicted (slab_page_hand_passed), and the hand of new objects. A core takes a stretch
 * from a hand, a cache line of states, before it takes the next one: the states that it changes, as
 * it evicts and as it stores into what it evicted, are in no other core's stretch. A hand only
 * names candidates. One was live in this core's turn, so it is readable until the turn ends.
 *
 * Shape:  a look is at WORDS_PER_LOOK words of states, 64 objects.
 * Thread: hand_clock takes the class's lock; all else is under it.
 * Bounds: HAND_LOOKS_MAX looks while a call has the lock.
 */
#ifndef CLOCKOO_HAND_H
#define CLOCKOO_HAND_H

#include "slab_pages.h"

#define HAND_LOOKS_MAX 512u

/* Return the page that a core's stretch is on, a new stretch of this hand if the last one has
 * ended; NULL: the class has no page. */
struct page *hand_clock_page(struct slab *sl, struct slab_class *c, struct stretch *s);
struct page *hand_new_page(const struct slab *sl, struct slab_class *c, struct stretch *s);

/* Returns the states of a word. */
uint64_t hand_states(const struct slab *sl, const struct page *p, uint32_t word);
/* Makes the USED objects of a word KEPT. Returns the states as they were. */
uint64_t hand_clear_used(struct slab *sl, const struct page *p, uint32_t word);
/* Lists the objects of a word whose lower state bits are set in bits. */
uint32_t hand_list(const struct slab *sl, const struct page *p, uint32_t word, uint64_t bits,
		   uint32_t *refs);

/* Returns the looks of a round; and of one call: a round at most, or objects whose bit was set
 * would have no second chance. */
uint64_t hand_round(const struct slab_class *c);
uint32_t hand_looks_max(const struct slab_class *c);
/* Counts looks of CLOCK's hand, and objects that it found USED. */
void hand_passed(struct slab *sl, struct slab_class *c, uint32_t looks, uint32_t used);

/* Moves CLOCK's hand: makes USED objects KEPT, and lists up to max KEPT ones, and NEW ones if
 * takes_new. refs has room for OBJECTS_PER_LOOK more. */
uint32_t hand_clock(struct slab *sl, struct magazine *mags, uint32_t class, bool takes_new,
		    uint32_t *refs, uint32_t max);

#endif

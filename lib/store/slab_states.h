/*
 * slab_states.h - what becomes of an object, in two bits: in use by the index or not, and how
 * lately.
 *
 * Shape:  bits 2i and 2i + 1 of a word stand for object i of 32. All changes are atomic operations
 *         on the whole word, since its objects belong to many.
 *
 * Thread: any core. An object's own core sets its state when it goes into the index, and clears it
 *         when it leaves, under the bucket's lock; a use and the hands change it in between.
 */
#ifndef CLOCKOO_SLAB_STATES_H
#define CLOCKOO_SLAB_STATES_H

#include "slab.h"

/* Both bits of every other state are subsets of OBJECT_USED, so a use is the same for all. */
enum object_state {
	OBJECT_OUT = 0,  /* not in the index */
	OBJECT_NEW = 1,  /* on probation: not used since it came */
	OBJECT_KEPT = 2, /* not used since the CLOCK hand passed */
	OBJECT_USED = 3, /* its reference bit is set */
};

#define STATE_BITS 2u
#define STATES_LOW 0x5555555555555555ull /* the lower bit of each state in a word */

/* In each of these, the lower bits of the objects that are so. */
static inline uint64_t
states_in(uint64_t word)
{
	return (word | word >> 1) & STATES_LOW;
}

static inline uint64_t
states_used(uint64_t word)
{
	return word & word >> 1 & STATES_LOW;
}

static inline uint64_t
states_kept(uint64_t word)
{
	return word >> 1 & ~word & STATES_LOW;
}

static inline uint64_t
states_new(uint64_t word)
{
	return word & ~(word >> 1) & STATES_LOW;
}

/* The word with an object's state, and how far up that is. */
static inline _Atomic uint64_t *
slab_state_word(const struct slab *sl, uint32_t ref, uint32_t *shift)
{
	const uint32_t granule = ref - sl->lead;
	const size_t page = granule >> sl->page_shift;
	const uint64_t n = (granule & sl->page_mask) * sl->reciprocal[page] >> RECIPROCAL_SHIFT;

	*shift = n % OBJECTS_PER_WORD * STATE_BITS;
	return &sl->states[(page << sl->stride_shift) + n / OBJECTS_PER_WORD];
}

static inline enum object_state
slab_state(const struct slab *sl, uint32_t ref)
{
	uint32_t shift;
	_Atomic uint64_t *word = slab_state_word(sl, ref, &shift);

	return (enum object_state)(atomic_load_explicit(word, memory_order_relaxed) >> shift &
				   OBJECT_USED);
}

/* The object is in the index, in this state; */
void slab_set_live(struct slab *sl, uint32_t ref, enum object_state state);
/* or it is out of it. */
void slab_clear_live(struct slab *sl, uint32_t ref);

/* Set the reference bit of what is in the index. False: it was set, and nothing is written: a hot
 * word stays shared. */
bool slab_set_clock_bit(const struct slab *sl, uint32_t ref);

static inline bool
slab_clock_bit_is_set(const struct slab *sl, uint32_t ref)
{
	return slab_state(sl, ref) == OBJECT_USED;
}

static inline void
slab_prefetch_clock_bit(const struct slab *sl, uint32_t ref)
{
	uint32_t shift;

	prefetch((const void *)slab_state_word(sl, ref, &shift));
}

/*
 * The reference stamp saves a hit the look at the reference bit. An item whose stamp is the store's
 * was marked since the store's stamp was stepped last. Hands step it CLOCK_STAMPS_PER_LAP times a
 * round. Two errors are accepted:
 * - a use is lost if it follows another one in the same part of a round, the hand passes in
 * between, and no other use follows before the hand is back;
 * - an item that was not used through a multiple of all 1023 stamps looks marked.
 */
#define CLOCK_STAMPS_PER_LAP 16u

static inline uint32_t
slab_clock_stamp(const struct slab *sl)
{
	/* Relaxed: as the reference bits. */
	return atomic_load_explicit(&sl->clock_stamp, memory_order_relaxed);
}

#endif
